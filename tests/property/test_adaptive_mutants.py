"""Mutants of adaptive releases: every width, threshold, bound and comparison of the rounds weakened, one at a
time, and the check that notices it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from tests import rounds_checks
from tests.rounds_checks import bounds_as_stated, charges_as_stated, compares_as_stated, draws_as_stated

from tacit import Adaptive, Plan
from tacit.privacy import Neighbours
from tacit.release import execution
from tacit.release import rounds_analysis as analysis
from tacit.release.schedule import ONE, AdaptiveRounds, SingleCount

COUNTED = Adaptive(epsilon=1.0, delta=1e-3, per_user=6).plan()
"""Seven rounds and counts."""
SINGLE = Adaptive(at_epsilon=1.0, at_delta=1e-3, per_user=1, keys_only=True).plan()
"""One round, keys alone: of earlier releases."""
CASES = {"counted": COUNTED, "single round": SINGLE}
ONCE = Adaptive(epsilon=1.0, delta=1e-3, per_user=1).plan()
TWICE = Adaptive(epsilon=4.0, delta=1e-6, per_user=2, single=True).plan()
COUNTED_ONCE = {"one item a user": ONCE, "two items a user": TWICE}
"""A single noisy count of each item."""
NOISES = {"users_sigma": "users", "sigma": "counts", "squares_sigma": "squares"}
NOISY_WEIGHTS = execution.noisy_weights
Alter = Callable[[AdaptiveRounds], AdaptiveRounds]


@dataclass(frozen=True)
class Mutant:
    """Something weakened, and what must notice it."""

    case: str
    what: str
    caught_by: str
    apply: Callable[[], AbstractContextManager[Any]]

    def __str__(self) -> str:
        return f"adaptive, {self.case}: {self.what}"


def step_with(schedule: AdaptiveRounds, number: int, **fields: Any) -> AdaptiveRounds:
    """The schedule with one round altered."""
    listed = list(schedule.rounds)
    listed[number] = replace(listed[number], **fields)
    return replace(schedule, rounds=tuple(listed))


def tally_with(schedule: AdaptiveRounds, **fields: Any) -> AdaptiveRounds:
    assert schedule.tally is not None
    return replace(schedule, tally=replace(schedule.tally, **fields))


def executing(alter: Alter) -> Callable[[], AbstractContextManager[Any]]:
    """Rounds and counts are carried out by another schedule than the one that is analysed."""

    @contextmanager
    def apply() -> Iterator[None]:
        real = {"find": execution.find, "take_tally": execution.take_tally}
        whole: list[AdaptiveRounds] = []

        def find(schedule: AdaptiveRounds, *rest: Any) -> Any:
            whole[:] = [alter(schedule)]
            return real["find"](whole[0], *rest)

        def take_tally(schedule: Any, *rest: Any) -> Any:
            del schedule
            return real["take_tally"](whole[0].tally, *rest)

        with mock.patch.multiple(execution, find=find, take_tally=take_tally):
            yield

    return apply


def claiming(alter: Alter) -> Callable[[], AbstractContextManager[Any]]:
    """The cost is computed from another schedule than the one that is executed."""

    real = analysis.cost_of

    def cheaper(schedule: AdaptiveRounds, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Any:
        return real(alter(schedule), neighbours)

    return lambda: mock.patch.object(analysis, "cost_of", cheaper)


def sparing_noise(alter: Alter) -> Callable[[], AbstractContextManager[Any]]:
    """The noise is charged as if some of it were not drawn."""
    real = analysis.noise_mu
    return lambda: mock.patch.object(analysis, "noise_mu", lambda schedule: real(alter(schedule)))


def patched(where: Any, name: str, value: Any) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: mock.patch.object(where, name, value)


def round_mutants(case: str, schedule: AdaptiveRounds) -> Iterator[Mutant]:
    """Each round: its noise, coefficient, threshold, first cut, and whether it is charged."""
    for number, step in enumerate(schedule.rounds):
        named = f"round {number + 1}"
        for said, factor in (("half", 0.5), ("30% less", 0.7), ("30% more", 1.3)):
            width = round(step.sigma * factor)
            yield Mutant(
                case,
                f"{said} of the noise of {named}",
                "draws_as_stated",
                executing(lambda s, n=number, w=width: step_with(s, n, sigma=w)),
            )
        line = step.threshold - step.coefficient
        yield Mutant(
            case,
            f"the threshold of {named} minus one",
            "compares_as_stated",
            executing(lambda s, n=number, t=line: step_with(s, n, threshold=t)),
        )
        more = step.coefficient + 1
        yield Mutant(
            case,
            f"the coefficient of {named} plus one",
            "compares_as_stated",
            executing(lambda s, n=number, c=more: step_with(s, n, coefficient=c)),
        )
        if step.steering is not None:
            first, *others = step.steering.cuts
            lower = replace(step.steering, cuts=(first - step.coefficient, *others))
            yield Mutant(
                case,
                f"the first cut of {named} minus one",
                "compares_as_stated",
                executing(lambda s, n=number, c=lower: step_with(s, n, steering=c)),
            )
        yield Mutant(
            case,
            f"noise of {named} not charged",
            "charges_as_stated",
            sparing_noise(lambda s, n=number: step_with(s, n, sigma=1 << 60)),
        )
        yield Mutant(
            case,
            f"items found by chance in {named} not charged",
            "charges_as_stated",
            claiming(lambda s, n=number: step_with(s, n, threshold=1 << 90)),
        )


def tally_mutants(case: str, schedule: AdaptiveRounds) -> Iterator[Mutant]:
    """The noise of users, counts and squares."""
    if schedule.tally is None:
        return
    for field, named in NOISES.items():
        stated = getattr(schedule.tally, field)
        for said, factor in (("half", 0.5), ("30% less", 0.7), ("30% more", 1.3)):
            yield Mutant(
                case,
                f"{said} of the noise of {named}",
                "draws_as_stated",
                executing(lambda s, f=field, w=round(stated * factor): tally_with(s, **{f: w})),
            )
        yield Mutant(
            case,
            f"noise of {named} not charged",
            "charges_as_stated",
            sparing_noise(lambda s, f=field: tally_with(s, **{f: 1 << 60})),
        )


def _unnormalised(starts: Any, items: Any, values: Any, least: int, totals: np.ndarray) -> None:
    del starts, least
    np.add.at(totals, items, ONE * (values[items] > 0))


def _not_clipped(holdings: Any, values: Any, present: Any, sigma: int, source: Any, least: int = 0) -> Any:
    if not least:  # a round
        return NOISY_WEIGHTS(holdings, values, present, sigma, source)
    totals = np.zeros(holdings.kinds, dtype=np.int64)
    np.add.at(totals, holdings.items, ONE * values[holdings.items].astype(np.int64) // math.isqrt(least))
    return execution.with_noise(totals[present], execution.discrete_gaussian(sigma, present.size, source))


def _unbounded(squares: np.ndarray, bound: int) -> np.ndarray:
    """Squared norms as they are, in parts of the bound."""
    return squares * ONE // bound


@contextmanager
def noise_used_again() -> Iterator[None]:
    """Each round takes the noise of the one before, as far as it goes."""
    real, kept = execution.discrete_gaussian, []

    def sampler(sigma: int, size: int, source: Any) -> np.ndarray:
        if not kept or kept[-1].size < size:
            kept.append(real(sigma, size, source))
        return kept[-1][:size]

    with mock.patch.object(execution, "discrete_gaussian", sampler):
        yield


@contextmanager
def one_noise_for_all() -> Iterator[None]:
    real = execution.discrete_gaussian

    def sampler(sigma: int, size: int, source: Any) -> np.ndarray:
        return np.repeat(real(sigma, 1, source), size)

    with mock.patch.object(execution, "discrete_gaussian", sampler):
        yield


@contextmanager
def noise_where_several_hold() -> Iterator[None]:
    """Items of a single user get no noise in the first round."""
    real = execution.noisy_weights

    def noisy(holdings: Any, values: Any, present: Any, sigma: int, source: Any, least: int = 0) -> Any:
        held = np.bincount(holdings.items, minlength=holdings.kinds)[present] > 1
        found = np.zeros(present.size, np.int64)
        found[held] = real(holdings, values, present[held], sigma, source, least)
        return found

    with mock.patch.object(execution, "noisy_weights", noisy):
        yield


def other_mutants(case: str, schedule: AdaptiveRounds) -> Iterator[Mutant]:
    """Bounds, weights, clipping, cells, reuse, and the neighbour relation."""
    draws, bounds, charges = "draws_as_stated", "bounds_as_stated", "charges_as_stated"
    more = executing(lambda s: replace(s, held=s.held + 1))
    yield Mutant(case, "items of a user plus one", bounds, more)
    fewer = claiming(lambda s: replace(s, held=max(1, s.held // 2)))
    if schedule.held > 1:
        yield Mutant(case, "fewer items of a user charged than take part", charges, fewer)
        long = patched(execution, "add_weights", _unnormalised)
        yield Mutant(case, "weights that are not divided by their norm", bounds, long)
        yield Mutant(case, "noise used again", draws, noise_used_again)
    yield Mutant(case, "one noise for all items", draws, one_noise_for_all)
    yield Mutant(case, "no noise for what one user alone has", draws, noise_where_several_hold)
    relation = patched(analysis.Cost, "under", lambda self, neighbours: self)
    yield Mutant(case, "replacing charged as adding", charges, relation)
    if schedule.tally is not None:
        unclipped = patched(execution, "noisy_weights", _not_clipped)
        yield Mutant(case, "vectors that are not clipped", bounds, unclipped)
        whole = patched(execution, "bounded_parts", _unbounded)
        yield Mutant(case, "squared norms that are not bounded", bounds, whole)


def counting_by(alter: Callable[[SingleCount], SingleCount]) -> Callable[[], AbstractContextManager[Any]]:
    """A single count is carried out by another schedule than the one that is analysed."""
    real = execution.count_once
    return lambda: mock.patch.object(
        execution, "count_once", lambda schedule, *rest, **more: real(alter(schedule), *rest, **more)
    )


def charging_by(name: str, alter: Callable[[SingleCount], SingleCount]) -> Any:
    """ε (``single_loss``) or δ (``single_disclosure``) is computed from another single count."""
    real = getattr(analysis, name)
    return lambda: mock.patch.object(analysis, name, lambda schedule: real(alter(schedule)))


def capping(made: Callable[[np.ndarray], np.ndarray]) -> Callable[[], AbstractContextManager[Any]]:
    """Something done to all noise of a single count."""
    real = execution.capped_laplace
    return lambda: mock.patch.object(execution, "capped_laplace", lambda *asked: made(real(*asked)))


def single_mutants(case: str, stated: SingleCount) -> Iterator[Mutant]:
    """A single count: noise, cap, threshold, bound, reuse, and what is charged."""
    draws, compares = "draws_once_as_stated", "compares_once_as_stated"
    bounds, charges = "bounds_once_as_stated", "charges_once_as_stated"
    for said, factor in (("half", 0.5), ("30% less", 0.7), ("30% more", 1.3)):
        scaled = counting_by(lambda s, f=factor: replace(s, scale=s.scale * f))
        yield Mutant(case, f"{said} of the noise", draws, scaled)
    up = counting_by(lambda s: replace(s, upward=s.upward + 0.1))
    yield Mutant(case, "more noise above 0", draws, up)
    lower = counting_by(lambda s: replace(s, most=1))
    yield Mutant(case, "a lower bound of the noise", draws, lower)
    higher = counting_by(lambda s: replace(s, most=s.most + 1))
    yield Mutant(case, "a higher bound of the noise", draws, higher)
    less = counting_by(lambda s: replace(s, least=s.least - 1))
    yield Mutant(case, "the threshold minus one", compares, less)
    more = counting_by(lambda s: replace(s, least=s.least + 1))
    yield Mutant(case, "the threshold plus one", compares, more)
    held = counting_by(lambda s: replace(s, held=s.held + 1))
    yield Mutant(case, "items of a user plus one", bounds, held)
    yield Mutant(case, "one noise for all items", draws, capping(lambda x: np.repeat(x[:1], x.size)))
    again = capping(lambda x: np.resize(x[: x.size // 2], x.size))
    yield Mutant(case, "noise used again for other items", draws, again)
    twice = capping(lambda x: np.repeat(x, 2)[: x.size])
    yield Mutant(case, "noise used again for the next item", draws, twice)
    cheap = charging_by("single_disclosure", lambda s: replace(s, least=s.least + 1, most=s.most + 1))
    yield Mutant(case, "items shown by chance charged for a higher threshold", charges, cheap)
    free = patched(analysis, "single_disclosure", lambda schedule: 0.0)
    yield Mutant(case, "items shown by chance not charged", charges, free)
    if stated.held > 1:
        single = charging_by("single_disclosure", lambda s: replace(s, held=1))
        yield Mutant(case, "fewer items of a user charged than are counted", charges, single)
    relation = patched(Neighbours, "users_changed", property(lambda self: 1))
    yield Mutant(case, "replacing charged as adding", charges, relation)
    if stated.held == 1:
        yield Mutant(case, "replacing planned as adding", "diverges_when_replaced", relation)


def listed() -> list[Mutant]:
    found: list[Mutant] = []
    for case, made in CASES.items():
        schedule = made.schedule.selection
        for mutants in (round_mutants, tally_mutants, other_mutants):
            found += mutants(case, schedule)
    for case, made in COUNTED_ONCE.items():
        found += single_mutants(case, made.schedule.selection)
    return found


MUTANTS = listed()
CHECKS = (compares_as_stated, draws_as_stated, bounds_as_stated, charges_as_stated)
CHECKS_ONCE = (
    rounds_checks.compares_once_as_stated,
    rounds_checks.draws_once_as_stated,
    rounds_checks.bounds_once_as_stated,
    rounds_checks.diverges_once_as_stated,
    rounds_checks.charges_once_as_stated,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES)
def test_the_check_holds(case: str, check: Callable[[Plan[Any]], None]) -> None:
    check(CASES[case])


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_the_mutant_is_caught(mutant: Mutant) -> None:
    asked = {**CASES, **COUNTED_ONCE}[mutant.case].mechanism
    checks = rounds_checks
    with mutant.apply(), pytest.raises(AssertionError):
        getattr(checks, mutant.caught_by)(asked.plan())


@pytest.mark.parametrize("check", CHECKS_ONCE, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", COUNTED_ONCE)
def test_the_check_of_a_single_count_holds(case: str, check: Callable[[Plan[Any]], None]) -> None:
    check(COUNTED_ONCE[case])


@pytest.mark.parametrize("what", ["least", "most", "scale", "upward"])
def test_a_cheaper_single_count_diverges_more(what: str) -> None:
    """What is executed differs from what is promised by one number: the exact divergence shows it."""
    cheaper = {
        "least": lambda s: replace(s, least=s.least - 1),
        "most": lambda s: replace(s, most=s.most - 1),
        "scale": lambda s: replace(s, scale=0.7 * s.scale),
        "upward": lambda s: replace(s, upward=s.upward + 0.02),
    }[what]
    real = rounds_checks.chances_of
    drawn = mock.patch.object(rounds_checks, "chances_of", lambda stated: real(cheaper(stated)))
    with counting_by(cheaper)(), drawn, pytest.raises(AssertionError):
        rounds_checks.diverges_once_as_stated(ONCE.mechanism.plan())


def test_every_number_of_the_rounds_has_its_mutant() -> None:
    """No width, coefficient, threshold, cut or bound without one."""
    said = {str(mutant) for mutant in MUTANTS}
    assert len(said) == len(MUTANTS)
    for case, made in CASES.items():
        schedule = made.schedule.selection
        needed = ["items of a user plus one", "replacing charged as adding"]
        for number, step in enumerate(schedule.rounds, start=1):
            needed += [f"half of the noise of round {number}", f"the threshold of round {number} minus one"]
            needed += [f"the coefficient of round {number} plus one", f"noise of round {number} not charged"]
            needed += [f"the first cut of round {number} minus one"] * (step.steering is not None)
        if schedule.tally is not None:
            needed += [f"half of the noise of {name}" for name in NOISES.values()]
            needed += [f"noise of {name} not charged" for name in NOISES.values()]
        for what in needed:
            assert f"adaptive, {case}: {what}" in said
    for case in COUNTED_ONCE:
        for what in (
            "half of the noise",
            "more noise above 0",
            "a higher bound of the noise",
            "the threshold minus one",
            "items of a user plus one",
            "items shown by chance not charged",
            "replacing charged as adding",
        ):
            assert f"adaptive, {case}: {what}" in said
