"""What is stated and charged equals what an enumeration of the schedule gives, written without the analysis.

ε: the worst ratio is e^(moved/scale), summed over all noise. δ: every way in which one user's records can
fall on keys of their own is tried, and the largest chance that any of them appears is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.privacy import GuaranteeKind, Neighbours
from tacit.privacy.accounting.composition import loss_of, parts_of_events
from tacit.privacy.accounting.events import GaussianRounds, LaplaceCounts, ThresholdedCounts
from tacit.privacy.arithmetic import ROUNDING
from tacit.release.analysis import event_of, guarantee_of
from tacit.release.mechanisms.adaptive_planner import plan_rounds
from tacit.release.schedule import ONE, Contribution, Keys, Noise, Part, Schedule, text_columns


def partitions(records: int, most: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as a sum, largest first, none above ``most``."""
    if not records:
        yield ()
        return
    for first in range(min(records, most), 0, -1):
        for rest in partitions(records - first, first):
            yield (first, *rest)


def missing(part: Part, records: int) -> float:
    """-ln of the chance that a key is absent of which one user has so many records, and needs all of them."""
    count, a = part.minimum - 1 + records, math.exp(-1 / part.scale)
    above = (part.least or 0) - count
    appears = a**above / (1 + a) if above > 0 else 1 - a ** (1 - above) / (1 + a)
    return -math.log1p(-appears)


def worst(part: Part, records: int, most: int | None = None) -> float:
    """Over all spreads of the records on own keys."""
    most = 1 if part.contribution.once else (most if most is not None else records)
    ways = partitions(records, max(1, most))
    return max((sum(missing(part, each) for each in way) for way in ways), default=0.0)


def part_of(draw: st.DrawFn, table: str, keys: Keys, once: bool, within: str = "") -> Part:
    minimum = draw(st.integers(1, 4))
    columns = ("query", "url") if within else ("query",)
    return Part(
        table,
        text_columns(*columns),
        Contribution((draw(st.integers(1, 4)),), once=once),
        Noise(draw(st.sampled_from([0.7, 1.5, 4.0]))),
        least=minimum + draw(st.integers(0, 12)),
        fresh=draw(st.sampled_from([None, Noise(3.0)])),
        keys=keys,
        minimum=minimum,
        within=(("query", within),) if within else (),
    )


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Queries, of which some may be public, and perhaps clicks that are shown with their queries."""
    once, relation = draw(st.booleans()), draw(st.sampled_from(list(Neighbours)))
    keys = draw(st.sampled_from(list(Keys)))
    first = part_of(draw, "queries", keys, once)
    if keys is Keys.OCCURRING and draw(st.booleans()):
        return Schedule((first, part_of(draw, "clicks", Keys.OCCURRING, once, "queries")), relation)
    return Schedule((first,), relation)


def enumerated(schedule: Schedule) -> tuple[float, float]:
    """ε and δ."""
    epsilon = Fraction(0)
    for part in schedule:
        step = 1 if part.keys is Keys.OCCURRING else part.minimum
        epsilon += part.contribution.total * step / Fraction(part.scale)
        if part.fresh is not None:
            epsilon += part.contribution.total / Fraction(part.fresh.scale)
    first, *others = schedule
    if first.keys is Keys.PUBLIC:
        return float(epsilon) * schedule.neighbours.users_changed, 0.0
    searches = first.contribution.total
    loss = worst(first, searches)
    for common in range(1, searches + 1) if others else ():
        # searches of queries that others publish anyway: own clicks on them may appear, once a search
        clicks = worst(others[0], others[0].contribution.total, common)
        loss = max(loss, worst(first, searches - common) + clicks)
    return float(epsilon) * schedule.neighbours.users_changed, -math.expm1(-loss)


@settings(max_examples=300, deadline=None)
@given(schedules())
def test_what_is_stated_and_charged_is_what_an_enumeration_gives(schedule: Schedule) -> None:
    epsilon, delta = enumerated(schedule)
    stated, charged = guarantee_of(schedule), event_of(schedule).guarantee
    for found in (stated, charged):
        assert found.epsilon == pytest.approx(epsilon, rel=1e-9)
        assert found.delta == pytest.approx(delta, rel=1e-6, abs=1e-300)
    assert (stated.kind is GuaranteeKind.PURE) == (delta == 0), "pure is what discloses nothing outright"


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([2.0, 7.5]),
    st.integers(1, 12),
    st.sampled_from([0.0, 1e-6, 1e-3, 0.1]),
    st.sampled_from([0.0, 0.5, 2.0, 20.0]),
)
def test_one_release_composed_costs_no_less_than_it_states(
    scale: float, counts: int, chance: float, epsilon: float
) -> None:
    """Every key of one user alone has its chance: composing one release must not forget all but one."""
    thresholded = ThresholdedCounts(scale, counts, chance, epsilon)
    assert loss_of(thresholded, 1).delta(epsilon) >= thresholded.guarantee.delta * (1 - 1e-6)
    outright = 1 - (1 - chance) ** counts
    assert loss_of(thresholded, 1).delta(counts / scale + 1) >= outright * (1 - 1e-6)
    pure = LaplaceCounts(scale, counts)
    assert loss_of(pure, 1).delta(pure.guarantee.epsilon * (1 + 1e-9)) <= 1e-9


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([0.2, 1.0, 2.5]), st.sampled_from([1e-6, 0.01, 0.2]), st.sampled_from([0.0, 0.3, 2.0]))
def test_rounds_composed_cost_no_less_than_they_state(mu: float, disclosure: float, epsilon: float) -> None:
    """Noise and a disclosure together are a little less than their sum, which is what rounds are."""
    rounds = GaussianRounds(mu, disclosure, epsilon)
    assert loss_of(rounds, 1).delta(epsilon) >= rounds.guarantee.delta * (1 - 1e-6)
    # (1 - δ'')·d + δ'' is no less than d + δ' at every ε, where d is largest at 0
    largest = math.erf(mu / math.sqrt(8))
    beside = parts_of_events([rounds]).disclosure
    assert beside == 1 or (1 - beside) * largest + beside >= (largest + disclosure) * (1 - 1e-9)


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from([0.5, 1.0, 4.0]),
    st.sampled_from([1e-9, 1e-6, 1e-3]),
    st.sampled_from([1, 2, 50, 200]),
    st.booleans(),
    st.sampled_from(list(Neighbours)),
)
def test_rounds_are_charged_for_every_noise_and_every_item(
    epsilon: float, delta: float, held: int, keys_only: bool, relation: Neighbours
) -> None:
    rounds = plan_rounds(epsilon, delta, held, keys_only=keys_only, neighbours=relation)
    part = Part("queries", text_columns("query"), Contribution((held,), once=True), None, None)
    charged = event_of(Schedule((part,), relation, rounds, at_epsilon=epsilon))
    assert isinstance(charged, GaussianRounds)
    scales = [noise.scale for noise in rounds.noises()]
    assert len(scales) == len(rounds.rounds) + (0 if keys_only else 3)
    square = sum(ONE**2 / (scale**2 - ROUNDING**2) for scale in scales)
    chances = 0.0
    for number in range(1, len(rounds.rounds) + 1):
        steps = rounds.rounds[:number]
        weight = sum(step.coefficient for step in steps)
        width = math.sqrt(sum((step.coefficient * step.sigma) ** 2 for step in steps))
        above = (steps[-1].threshold - weight * (ONE + 12 * ROUNDING)) / width
        chances += math.erfc(above / math.sqrt(2)) / 2
    changed = relation.users_changed
    assert charged.mu == pytest.approx(math.sqrt(changed * square), rel=1e-9)
    assert charged.disclosure == pytest.approx(changed * held * chances, rel=1e-6)
    low, high = (epsilon / charged.mu - sign * charged.mu / 2 for sign in (1, -1))
    noise = (math.erfc(low / math.sqrt(2)) - math.exp(epsilon) * math.erfc(high / math.sqrt(2))) / 2
    assert charged.guarantee.delta == pytest.approx(noise + charged.disclosure, rel=1e-5)
