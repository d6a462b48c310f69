"""What a schedule costs: each part, the whole, and as an event that composes tightly.

**Each part.** Noise of scale b on counts that a user moves by d in all costs ε = d/b. Choosing keys that
occur by a threshold costs δ, the chance that a key of one user alone appears
(:mod:`tacit.release.thresholds`). Over public keys a threshold is post-processing and costs
nothing. A fresh count costs its own ε; the number that was compared costs nothing more.

**The whole.** The ε of the parts add. δ is the chance that any key of one user alone appears anywhere: with
-ln(1 - s) for the chance s of each part, 1 - exp(-Σ), which is less than the sum of the δ. Where keys are
shown only with keys of an earlier part, one user cannot attain all of these, and the worst that can be is
charged (:mod:`tacit.release.thresholds`).

**As an event.** Known as noisy counts and a rare disclosure, many releases together cost far less than by
their (ε,δ), with privacy loss distributions (docs/guarantees/click.md, "Many releases"). Replacing a user
takes one history away and puts another in: twice as many counts.

**Other statements.** A schedule that is stated at an ε of its own has the exact δ of all its noise there
(``ThresholdedCounts``; rounds and single counts: :mod:`tacit.release.rounds_analysis`). One with a public
bound on the number of users is stated as probabilistic differential privacy. Exact counts have no ε.

A release publishes several things about the same users, each with noise of its own. Each is a
:class:`Charge`; the noises are independent, and every part may be chosen after seeing the ones before. Sums
are of exact rational numbers and are rounded up once: a stated ε or δ is never below the proven one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from tacit.errors import ParameterError
from tacit.privacy.accounting.events import (
    ApproximateDp,
    Composed,
    Event,
    GaussianRounds,
    KQueryRelease,
    LaplaceCounts,
    RareDisclosure,
    ThresholdedCounts,
)
from tacit.privacy.accounting.loss import lattice_delta
from tacit.privacy.arithmetic import per_scale, sum_up
from tacit.privacy.guarantee import Guarantee, GuaranteeKind, Neighbours
from tacit.release import rounds_analysis, thresholds
from tacit.release.schedule import (
    AdaptiveRounds,
    Contribution,
    Keys,
    Part,
    Schedule,
    SeriesRounds,
    SingleCount,
)
from tacit.release.series_analysis import series_cost

_LAST_BITS = 1 + 1e-12
"""Logarithms are off by their last bits; a part of 10⁻¹² more is far beyond that."""


@dataclass(frozen=True)
class Charge:
    """What publishing one thing costs, for neighbours by adding or removing a user.

    ``loss`` is ε before it was rounded up, where that is known exactly.
    """

    what: str
    epsilon: float
    delta: float = 0.0
    loss: Fraction | float | None = None

    @classmethod
    def of_counts(cls, what: str, moved: int, noise: float, delta: float = 0.0) -> Charge:
        """Noise on counts that a user moves by ``moved`` in all: ε = moved/noise."""
        loss = per_scale(moved, noise)
        return cls(what, sum_up([loss]), delta, loss)


def total_epsilon(charges: Iterable[Charge], neighbours: Neighbours) -> float:
    losses = [charge.epsilon if charge.loss is None else charge.loss for charge in charges]
    return sum_up(losses) * neighbours.users_changed  # doubling a float is exact


def guarantee_of(schedule: Schedule) -> Guarantee:
    """Compute what carrying out the schedule provably promises."""
    relation = schedule.neighbours
    if schedule.exact:
        return Guarantee(GuaranteeKind.K_QUERY, relation, k=min(part.minimum for part in schedule))
    if schedule.users is not None:
        return _probabilistic(schedule, schedule.users)
    if schedule.together is not None or schedule.at_epsilon is not None:
        return event_of(schedule).guarantee
    epsilon = total_epsilon(charges_of(schedule), relation)
    if all(part.keys is Keys.PUBLIC for part in schedule):
        return Guarantee(GuaranteeKind.PURE, relation, epsilon=epsilon)
    delta = thresholds.appearance(whole_loss(schedule))
    return Guarantee(GuaranteeKind.APPROXIMATE, relation, epsilon=epsilon, delta=delta)


def charges_of(schedule: Schedule) -> tuple[Charge, ...]:
    """Compute what each part costs: the choice of keys, and their counts where these get fresh noise."""
    if schedule.exact:
        return ()  # no ε describes true counts
    if schedule.together is not None:
        return _selection_charges(schedule)
    if schedule.users is not None:
        return tuple(_probabilistic_charge(schedule, part, schedule.users) for part in schedule)
    if schedule.at_epsilon is not None:
        one_way = schedule.at_epsilon / schedule.neighbours.users_changed
        return (Charge("all histograms by exact loss", one_way, guarantee_of(schedule).delta),)
    listed = []
    for part in schedule:
        listed.append(_selected(part))
        if part.fresh is not None:
            moved = part.contribution.total
            listed.append(Charge.of_counts(f"counts of {part.table}", moved, part.fresh.scale))
    return tuple(listed)


def event_of(schedule: Schedule) -> Event:
    """Compute the event to charge, as tightly as known, so that many releases compose well."""
    if schedule.exact:
        return KQueryRelease(min(part.minimum for part in schedule))
    if schedule.together is not None:
        return _selection_event(schedule)
    if schedule.users is not None:  # by its guarantee: what it is made of is another kind of promise
        return ApproximateDp(guarantee_of(schedule))
    if schedule.at_epsilon is not None:
        part = _alike(schedule)  # all histograms as keys that are moved or shown
        counts = part.contribution.total * len(schedule.parts)
        chance = thresholds.appearance(_first_loss(part))
        return ThresholdedCounts(part.scale, counts, chance, schedule.at_epsilon, schedule.neighbours)
    return _counts_and_disclosure(schedule)


def _counts_and_disclosure(schedule: Schedule) -> Event:
    """Noisy counts and, where keys that occur are chosen, a rare disclosure."""
    parts: list[Event] = []
    relation = schedule.neighbours
    for part in schedule:
        if part.chance == 1:
            parts += _moved(part, part.scale, _step(part), relation)
        else:  # a sampled set is more than noise on counts: known by its ε
            cost = _selected(part).epsilon * relation.users_changed
            parts.append(ApproximateDp(Guarantee(GuaranteeKind.PURE, relation, epsilon=cost)))
        if part.fresh is not None:
            parts += _moved(part, part.fresh.scale, 1, relation)
    whole = guarantee_of(schedule)
    if whole.kind is not GuaranteeKind.PURE:
        parts.append(RareDisclosure(whole.delta, relation))
    return Composed(tuple(_gathered(parts)))


def _alike(schedule: Schedule) -> Part:
    """The first part, where all parts have the same noise, thresholds and bounds; others are refused."""
    first = schedule.parts[0]
    rules = {(part.noise, part.fresh, part.least, part.minimum, part.contribution) for part in schedule}
    if len(rules) > 1 or first.least is None or first.fresh is not None or not first.contribution.once:
        raise ParameterError("a guarantee of this kind is for histograms of one noise and one threshold.")
    return first


def _first_loss(part: Part) -> float:
    """-ln(1 - p), p the chance that a key at its least true count is published."""
    return thresholds.miss_loss(part.scale, (part.least or 0) - part.minimum)


def _keys_at_minimum(part: Part, users: int) -> int:
    """floor(U m/τ), the most keys with count exactly τ: each needs τ of the U users, who give m at most.

    As τ <= U, these are at least the m keys that one user can bring, so the probabilistic δ is never below
    that of (ε, δ)-differential privacy.
    """
    if part.minimum > users:
        raise ParameterError(
            f"the first threshold is {part.minimum} with a public bound of {users} users; it must be at most "
            "the number of users.",
            "Give a lower `threshold_1`, or in `users` a bound that no log can exceed.",
        )
    return users * part.contribution.total // part.minimum


def _probabilistic_charge(schedule: Schedule, part: Part, users: int) -> Charge:
    """Compute what a histogram costs as probabilistic differential privacy."""
    m, noise = part.contribution.total, part.scale
    delta = thresholds.appearance(_keys_at_minimum(part, users) * _first_loss(part))
    charge = Charge.of_counts(part.table, m, noise, delta)
    # Output by output, an item at τ that fails to appear tells -ln(1-p), where that is more than 1/λ. Of a
    # replaced user one history does so at a time: half of it here, since both are charged.
    excess = m * max(0.0, _first_loss(part) - 1 / noise) if noise else 0.0
    if not excess:
        return charge
    share = excess / schedule.neighbours.users_changed
    return Charge(charge.what, sum_up([charge.epsilon, share]), delta)


def _probabilistic(schedule: Schedule, users: int) -> Guarantee:
    """(ε,δ)-probabilistic differential privacy: δ = 1 - (1-p)^floor(U m/τ) for each histogram; tight."""
    part = _alike(schedule)
    epsilon = total_epsilon(charges_of(schedule), schedule.neighbours)
    keys = _keys_at_minimum(part, users) * len(schedule.parts)
    delta = thresholds.appearance(keys * _first_loss(part))
    return Guarantee(GuaranteeKind.PROBABILISTIC, schedule.neighbours, epsilon=epsilon, delta=delta)


def _selection_event(schedule: Schedule) -> Event:
    """Rounds as Gaussian noise and a disclosure; a single count by its guarantee."""
    selection, epsilon = schedule.together, schedule.at_epsilon or 0.0
    if isinstance(selection, SingleCount):
        delta = rounds_analysis.single_delta(selection, epsilon, schedule.neighbours)
        kind = GuaranteeKind.APPROXIMATE
        return ApproximateDp(Guarantee(kind, schedule.neighbours, epsilon=epsilon, delta=delta))
    if selection is None:
        raise ParameterError("this schedule has no selection.")
    cost = _cost(selection, schedule.neighbours)
    return GaussianRounds(cost.mu, cost.disclosure, epsilon, schedule.neighbours)


def _cost(rounds: AdaptiveRounds | SeriesRounds, neighbours: Neighbours) -> rounds_analysis.Cost:
    """Compute the cost of the rounds of a release, or of all weeks of a series."""
    if isinstance(rounds, SeriesRounds):
        return series_cost(rounds, neighbours)
    return rounds_analysis.cost_of(rounds, neighbours)


def _selection_charges(schedule: Schedule) -> tuple[Charge, ...]:
    """The noise of all rounds and what may be found by chance; of a single count the two are one."""
    selection, epsilon = schedule.together, schedule.at_epsilon or 0.0
    one_way = epsilon / schedule.neighbours.users_changed
    if selection is None or isinstance(selection, SingleCount):
        return (Charge("one noisy count of each item", one_way, guarantee_of(schedule).delta),)
    cost = _cost(selection, schedule.neighbours)
    noise = lattice_delta(epsilon, cost.mu) if math.isfinite(cost.mu) else 1.0
    return (
        Charge("the noise of all rounds and counts", one_way, noise),
        Charge("items of one user alone, found by chance", 0.0, cost.disclosure),
    )


def whole_loss(schedule: Schedule) -> float:
    """-ln(1 - s), s the largest chance with which keys of one user alone appear in any table."""
    together = _searches_with_what_lies_within(schedule)
    if together is not None:
        return together
    return sum_up(fresh_loss(part) for part in schedule)


def _searches_with_what_lies_within(schedule: Schedule) -> float | None:
    """The same where the first part counts searches, and the others what is shown with one or two of them.

    None where the schedule is not of this form, and the parts are added.
    """
    first, *others = schedule
    if not others or first.contribution.sessions or len(first.columns) > 1:
        return None
    sorts: dict[int, Part] = {len(part.within): part for part in others}
    each_alike = all(
        part.keys is Keys.OCCURRING
        and part.contribution.once == first.contribution.once
        and part.within
        and all(table == first.table for _, table in part.within)
        for part in others
    )
    if len(sorts) < len(others) or not set(sorts) <= {1, 2} or not each_alike:
        return None
    if 2 in sorts and sorts[2].contribution.total >= first.contribution.total:
        return None  # more than the steps between so many searches
    if first.keys is Keys.PUBLIC or any(part.least is None for part in schedule):
        return None
    searches, clicks, steps = (_spread(part) for part in (first, sorts.get(1), sorts.get(2)))
    return thresholds.searches_loss(searches, clicks, steps, first.contribution.once)


def _spread(part: Part | None) -> thresholds.Spread:
    """Compute how a user's records fall on the keys of a part; nothing where there is no such part."""
    if part is None or part.least is None:
        return thresholds.NOTHING
    return thresholds.Spread(part.contribution.total, part.scale, part.least - part.minimum)


def fresh_loss(part: Part) -> float:
    """-ln(1 - s), s the largest chance with which keys of one user alone appear; 0 for public keys.

    A key needs ``minimum`` records, of which the user brings the last. Counted once per user, each of n
    keys gets one; else the n records of a group lie on one key or each on a key of its own, whichever tells
    more; or, for sequences of sessions, as the worst session has them.
    """
    if part.keys is Keys.PUBLIC:
        return 0.0
    if part.least is None:
        return math.inf
    return fresh_keys_loss(part.contribution, part.scale, part.least - part.minimum)


def fresh_keys_loss(contribution: Contribution, noise: float, room: int) -> float:
    """The same for a noise scale, where the first record leaves ``room`` to the threshold."""
    if contribution.sessions is not None and not contribution.once:
        return thresholds.sequences_loss(noise, room, *contribution.sessions)
    return _spread_loss(contribution, lambda records: thresholds.miss_loss(noise, room - records + 1))


def _spread_loss(contribution: Contribution, loss: thresholds.Loss) -> float:
    """The largest sum of a convex loss over the keys of one user's records, group by group.

    All n records of a group are of one key, or each is of a key of its own: max(φ(n), n φ(1)).
    """
    if contribution.once:
        return contribution.total * loss(1)
    return sum_up(max(loss(n), n * loss(1)) for n in contribution.groups if n)


def _step(part: Part) -> int:
    """A public key below the minimum takes part with 0, so its last record moves it by the minimum."""
    return 1 if part.keys is Keys.OCCURRING else part.minimum


def _selected(part: Part) -> Charge:
    """Find which keys are published, with the number that was compared if no fresh one is drawn."""
    what = part.table if part.fresh is None else f"which {part.table}"
    delta = thresholds.appearance(fresh_loss(part))
    if part.chance == 1:
        return Charge.of_counts(what, part.contribution.total * _step(part), part.scale, delta)
    if not part.scale:
        return Charge(what, math.inf, delta)
    worst = _spread_loss(part.contribution, partial(_sampled_loss, part))
    return Charge(what, worst * _LAST_BITS, delta)


def _sampled_loss(part: Part, records: int) -> float:
    """Bound what a public key reveals that takes part with chance p_g at count 0 and surely above.

    Appearing tells ln(1/p_g) more, and not appearing tells φ + ln(1 - p_g s(0)). All of these are convex in
    the records, so the worst users are the two extremes.
    """
    noise, moved = part.scale, part.minimum - 1 + records
    appearing = moved / noise - math.log(part.chance)
    if part.least is None:  # every key that takes part appears: one that is missing has no record
        return math.inf
    idle = math.log1p(-part.chance * thresholds.survival(noise, part.least))
    return max(appearing, thresholds.miss_loss(noise, part.least - moved) + idle)


def _moved(part: Part, scale: float, step: int, neighbours: Neighbours) -> list[Event]:
    """Counts under noise that a user moves: each key by one step, or one key by all records of a group."""
    if part.contribution.largest == 1:
        return [LaplaceCounts(scale, part.contribution.total * neighbours.users_changed, step, neighbours)]
    return [
        LaplaceCounts(scale, neighbours.users_changed, records * step, neighbours)
        for records in part.contribution.groups
        if records
    ]


def _gathered(events: Iterable[Event]) -> list[Event]:
    """Neighbouring counts of one scale and step as one event."""
    listed: list[Event] = []
    for event in events:
        last = listed[-1] if listed else None
        if (
            isinstance(event, LaplaceCounts)
            and isinstance(last, LaplaceCounts)
            and (event.scale, event.step) == (last.scale, last.step)
        ):
            counts = last.counts + event.counts
            listed[-1] = LaplaceCounts(last.scale, counts, last.step, last.neighbours)
        else:
            listed.append(event)
    return listed
