"""What is drawn is what is analysed: the checks of every published table of every mechanism."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.schedule_cases import CASES, Case
from tests.schedule_checks import (
    Count,
    bounds_as_analysed,
    compares_as_analysed,
    diverges_as_claimed,
    draws_as_analysed,
    hides_rare_queries,
    remembering,
    shows_as_analysed,
)

from tacit.engines import Engine, open_engine
from tacit.release.registry import MECHANISMS

NOISY = [case for case in CASES if case.name != "k-query"]


@pytest.fixture(scope="module")
def count(engine: Engine) -> Count:
    return remembering(engine)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with open_engine(threads=1) as opened:
        yield opened


def test_every_mechanism_has_a_case() -> None:
    named = {case.make().name for case in CASES}
    assert named >= {"zealous", "click", "session", "topics", "k-query"}  # adaptive: test_adaptive_mutants
    assert named <= set(MECHANISMS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_exact_with_noise_off(case: Case) -> None:
    compares_as_analysed(case.make())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_clicks_and_steps_with_their_queries_alone(case: Case) -> None:
    shows_as_analysed(case.make())


@pytest.mark.parametrize("case", NOISY, ids=lambda case: case.name)
def test_the_right_distribution(case: Case) -> None:
    """At 5.5 standard errors; fails for 30% more or less noise, which the mutants show."""
    draws_as_analysed(case.make())


@pytest.mark.parametrize("case", NOISY, ids=lambda case: case.name)
def test_the_bounds(case: Case, count: Count) -> None:
    bounds_as_analysed(case, count)


@pytest.mark.parametrize("case", NOISY, ids=lambda case: case.name)
def test_the_divergence(case: Case, count: Count) -> None:
    diverges_as_claimed(case, count)


def test_rare_queries_stay_hidden(engine: Engine) -> None:
    hides_rare_queries(next(case for case in CASES if case.name == "k-query"), engine)
