"""Parameters of the mechanisms: what is refused, what noise off means, and which way things move."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.claims import click, session, zealous
from tests.short_forms import click_parameters, session_parameters, uniform_click, zealous_parameters

from tacit import KQuery, ParameterError
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.release.mechanisms.click import ClickMode
from tacit.release.prose import log_alpha, turning_point
from tacit.release.registry import MECHANISMS, mechanism_class
from tacit.release.thresholds import miss_loss, survival

ZEALOUS = zealous_parameters(5, 10.0, 1, 149)
CLICK = click_parameters(3, 2, 5.0, 40, 6.0, 7.0, 8.0)
SESSION = session_parameters(1, 3, 1.0, 20, 1.0, clicks=(4, 1.0, 20, None))


@pytest.mark.parametrize(
    "make",
    [
        lambda: replace(ZEALOUS, per_user=0),
        lambda: replace(ZEALOUS, per_user=True),
        lambda: replace(ZEALOUS, noise=-1.0),
        lambda: replace(ZEALOUS, noise=math.nan),
        lambda: replace(ZEALOUS, noise=math.inf),
        lambda: replace(ZEALOUS, threshold_1=0),
        lambda: replace(ZEALOUS, threshold_2=0),
        lambda: replace(ZEALOUS, items=()),
        lambda: zealous.probabilistic_guarantee(ZEALOUS, 0),
        lambda: replace(CLICK, queries_per_user=0),
        lambda: replace(CLICK, clicks_per_user=-1),
        lambda: replace(CLICK, threshold=-1),
        lambda: replace(CLICK, threshold_clicks=-1),
        lambda: replace(CLICK, noise_counts=-1.0),
        lambda: replace(CLICK, noise_clicks=math.nan),
        lambda: replace(CLICK, pool_probability=0.0),
        lambda: replace(CLICK, pool_probability=1.1),
        lambda: replace(CLICK, minimum_frequency=0),
        lambda: replace(SESSION, sessions_per_user=0),
        lambda: replace(SESSION, queries_per_session=1),
        lambda: replace(SESSION, queries_per_session=21),
        lambda: replace(SESSION, noise_counts=-0.5),
        lambda: replace(SESSION, clicks_per_user=-1),
        lambda: replace(SESSION, threshold_clicks=-1),
        lambda: KQuery(k=0),
    ],
)
def test_what_is_out_of_range_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(ParameterError, match="must be"):
        make()


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_value_that_cannot_be_is_refused_by_the_name_of_its_parameter(name: str) -> None:
    """Never a mistake of Python's, and never an option: a notebook has none."""
    made = mechanism_class(name)
    for field in fields(made):
        for value in (-7, math.nan, [], {"a": 1}):
            with pytest.raises(ParameterError) as refused:
                made(**{field.name: value})
            assert field.name in str(refused.value) and "--" not in str(refused.value), (field.name, value)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ParameterError, match="mode must be pure or approximate"):
        replace(CLICK, mode="roughly")
    assert replace(CLICK, mode="approximate").mode is ClickMode.APPROXIMATE


def test_noise_off_promises_nothing() -> None:
    """ε = ∞ end to end: pipelines can be tested without noise, and no ledger will pay for it."""
    assert zealous.guarantee(replace(ZEALOUS, noise=0.0)).epsilon == math.inf
    assert zealous.probabilistic_guarantee(replace(ZEALOUS, noise=0.0), 10).epsilon == math.inf
    off = uniform_click(3, 2, 0.0, 4)
    for mode in ClickMode:
        assert click.guarantee(replace(off, mode=mode)).epsilon == math.inf
    assert session.guarantee(replace(SESSION, noise=0.0, noise_counts=0.0)).epsilon == math.inf
    for figure in (
        lambda: zealous.paper_figure(replace(ZEALOUS, noise=0.0)),
        lambda: click.paper_figure(off),
        lambda: session.paper_figure(replace(SESSION, noise=0.0)),
    ):
        with pytest.raises(ParameterError, match="above 0"):
            figure()


def test_thresholds_of_clicks_and_transitions_are_k_unless_given() -> None:
    plan = CLICK.plan()
    assert [part.above for part in plan.besides.values()] == [40, 40]
    assert replace(CLICK, threshold_clicks=7).plan().besides["clicks"].above == 7
    assert CLICK.steps_per_user == 2
    assert replace(CLICK, transitions=False).steps_per_user == 0


def test_kinds() -> None:
    assert click.guarantee(CLICK).kind is GuaranteeKind.PURE
    assert click.guarantee(replace(CLICK, mode=ClickMode.APPROXIMATE)).kind is GuaranteeKind.APPROXIMATE
    assert zealous.guarantee(ZEALOUS).kind is GuaranteeKind.APPROXIMATE
    assert zealous.probabilistic_guarantee(ZEALOUS, 9).kind is GuaranteeKind.PROBABILISTIC
    assert zealous.probabilistic_guarantee(ZEALOUS, 9).delta > zealous.guarantee(ZEALOUS).delta


@pytest.mark.parametrize("noise", [0.2, 1.0, 7.5, 300.0])
def test_tails_against_summing(noise: float) -> None:
    a = math.exp(-1 / noise)
    for t in range(-12, 13):
        tail = math.fsum((1 - a) / (1 + a) * a ** abs(x) for x in range(t, t + int(60 * noise) + 60))
        assert survival(noise, t) == pytest.approx(tail, rel=1e-9)
        below = math.fsum((1 - a) / (1 + a) * a ** abs(x) for x in range(t - int(60 * noise) - 60, t))
        assert math.exp(-miss_loss(noise, t)) == pytest.approx(below, rel=1e-9)


noises = st.floats(0.3, 200)


@given(
    noises, noises, st.integers(0, 300), st.sampled_from(list(Neighbours)), st.sampled_from(list(ClickMode))
)
def test_more_noise_and_higher_thresholds_never_weaken(
    one: float, two: float, threshold: int, relation: Neighbours, mode: ClickMode
) -> None:
    less, more = sorted((one, two))
    weak = replace(CLICK, noise=less, noise_counts=less, threshold=threshold, mode=mode)
    strong = replace(weak, noise=more, noise_counts=more)
    assert click.guarantee(strong, relation).epsilon <= click.guarantee(weak, relation).epsilon
    higher = replace(weak, threshold=threshold + 1)
    assert click.guarantee(higher, relation).delta <= click.guarantee(weak, relation).delta
    assert click.guarantee(higher, relation).epsilon == click.guarantee(weak, relation).epsilon
    sessions = replace(SESSION, noise=less, threshold=threshold)
    assert (
        session.guarantee(replace(sessions, threshold=threshold + 1), relation).delta
        <= session.guarantee(sessions, relation).delta
    )
    added, replaced = (session.guarantee(sessions, other) for other in Neighbours)
    assert replaced.epsilon == 2 * added.epsilon
    assert replaced.delta == added.delta


@given(st.floats(0.01, 1e6), st.floats(0.1, 1.0))
def test_the_turning_point_balances_the_two_terms(noise: float, pool_probability: float) -> None:
    K = turning_point(noise, pool_probability)
    if 1 - noise * math.log(2) * 0.999 < K:  # below, the second term is no logarithm
        first = 1 / noise - math.log(pool_probability)
        assert log_alpha(noise, K, pool_probability) == pytest.approx(first, rel=1e-6)
        assert log_alpha(noise, K - 0.5 * noise, pool_probability) >= first * (1 - 1e-9)
