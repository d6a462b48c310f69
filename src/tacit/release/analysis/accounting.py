"""What a schedule costs: each part, the whole, and as an event that composes tightly.

**Each part.** Noise of scale b on counts that a user moves by d in all costs ε = d/b. Choosing keys that
occur by a threshold costs δ, the chance that a key of one user alone appears
(:mod:`tacit.release.analysis.threshold`). Over public keys a threshold is post-processing and costs
nothing. A fresh count costs its own ε; the number that was compared costs nothing more.

**The whole.** The ε of the parts add. δ is the chance that any key of one user alone appears anywhere: with
-ln(1 - s) for the chance s of each part, 1 - exp(-Σ), which is less than the sum of the δ. Where keys are
shown only with keys of an earlier part, one user cannot attain all of these, and the worst that can be is
charged (:mod:`tacit.release.analysis.attainable`).

**As an event.** A ledger that knows a release by its (ε,δ) alone must assume the worst that (ε,δ) admits.
Known as noisy counts and a rare disclosure, many releases together cost far less by privacy loss
distributions. What makes that right:

- **Counts.** If a user's records move counts by d in all (L1), the worst is that they all move *one* count:
  noise of scale b on a count moved by d dominates independent noises on counts moved by k_1 + … + k_r = d.

  Proof, for two counts; the rest by induction. The likelihood ratio takes the values a^(d-2s), s = 0 … d, in
  both cases. Let w = (1, 1-a, …, 1-a, 1). One count moved by d has s with chance a^s w_s/(1+a), two have it
  with chance a^s Σ_t w_t w'_(s-t)/(1+a)². At s = 0 and s = d the former is larger (1 against 1/(1+a)). In
  between the sum has two terms of at least 1-a at its ends, so the latter is larger: 2(1-a) >= (1-a²). Two
  distributions of equal mean (1) whose difference has the signs +, -, + are in convex order, and that is
  domination.

- **Fresh keys.** By the lemma in :mod:`tacit.release.analysis.threshold`, extended to e^ε below 1 in the same
  way, keys that only one of the logs can show are dominated by a disclosure of probability δ.

A user who adds at most 1 to a key moves d counts by 1 each, which is less than one count by d. Replacing a
user takes one history away and puts another in: twice as many counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
from tacit.privacy.events import Event, GuaranteedRelease, LaplaceCounts, RareDisclosure, Together
from tacit.privacy.rounding import sum_up
from tacit.release.analysis.attainable import Spread, searches_loss, sequences_loss
from tacit.release.analysis.charge import Charge, total_epsilon
from tacit.release.analysis.threshold import appearance, largest_sum, miss_loss, survival
from tacit.release.schedule import Contribution, Keys, Part, Schedule

__all__ = ["charges_of", "event_of", "fresh_keys_loss", "fresh_loss", "guarantee_of", "whole_loss"]

_LAST_BITS = 1 + 1e-12
"""Logarithms are off by their last bits; a part of 10⁻¹² more is far beyond that."""


def charges_of(schedule: Schedule) -> tuple[Charge, ...]:
    """What each part costs: which keys, and their counts where these get fresh noise."""
    listed = []
    for part in schedule:
        listed.append(_selection(part))
        if part.fresh is not None:
            moved = part.contribution.total
            listed.append(Charge.of_counts(f"counts of {part.table}", moved, part.fresh.scale))
    return tuple(listed)


def guarantee_of(schedule: Schedule, neighbours: Neighbours) -> Guarantee:
    """What carrying out the schedule provably promises: pure, or (ε,δ)-indistinguishability."""
    epsilon = total_epsilon(charges_of(schedule), neighbours)
    if all(part.keys is Keys.PUBLIC for part in schedule):
        return Guarantee(GuaranteeKind.PURE, neighbours, epsilon=epsilon)
    delta = appearance(whole_loss(schedule))
    return Guarantee(GuaranteeKind.INDISTINGUISHABILITY, neighbours, epsilon=epsilon, delta=delta)


def event_of(schedule: Schedule, neighbours: Neighbours) -> Event:
    """Noisy counts and, where keys that occur are chosen, a rare disclosure."""
    parts: list[Event] = []
    for part in schedule:
        if part.chance == 1:
            parts += _moved(part, _scale(part), _step(part), neighbours)
        else:  # a sampled set is more than noise on counts: known by its ε
            cost = _selection(part).epsilon * neighbours.histories
            parts.append(GuaranteedRelease(Guarantee(GuaranteeKind.PURE, neighbours, epsilon=cost)))
        if part.fresh is not None:
            parts += _moved(part, part.fresh.scale, 1, neighbours)
    whole = guarantee_of(schedule, neighbours)
    if whole.kind is not GuaranteeKind.PURE:
        parts.append(RareDisclosure(whole.delta, neighbours))
    return Together(tuple(_gathered(parts)))


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
    searches, clicks, steps = (
        _spread(part) if part else None for part in (first, sorts.get(1), sorts.get(2))
    )
    assert searches is not None
    return searches_loss(searches, clicks, steps, first.contribution.once)


def _spread(part: Part) -> Spread:
    assert part.least is not None
    return Spread(part.contribution.total, _scale(part), part.least - part.minimum)


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
    return fresh_keys_loss(part.contribution, _scale(part), part.least - part.minimum)


def fresh_keys_loss(contribution: Contribution, noise: float, room: int) -> float:
    """The same for a noise scale, where the first record leaves ``room`` to the threshold."""
    single = miss_loss(noise, room)
    if contribution.once:
        return contribution.total * single
    if contribution.sessions is not None:
        return sequences_loss(noise, room, *contribution.sessions)
    return sum_up(
        largest_sum(miss_loss(noise, room - records + 1), single, records) for records in contribution.groups
    )


def _scale(part: Part) -> float:
    return 0.0 if part.noise is None else part.noise.scale


def _step(part: Part) -> int:
    """A public key below the minimum takes part with 0, so its last record moves it by the minimum."""
    return 1 if part.keys is Keys.OCCURRING else part.minimum


def _selection(part: Part) -> Charge:
    """Which keys are published, with the number that was compared if no fresh one is drawn."""
    what = part.table if part.fresh is None else f"which {part.table}"
    delta = appearance(fresh_loss(part))
    if part.chance == 1:
        return Charge.of_counts(what, part.contribution.total * _step(part), _scale(part), delta)
    if not _scale(part):
        return Charge(what, math.inf, delta)
    single = _sampled_loss(part, 1)
    if part.contribution.once:
        worst = part.contribution.total * single
    else:
        worst = sum_up(
            largest_sum(_sampled_loss(part, records), single, records) for records in part.contribution.groups
        )
    return Charge(what, worst * _LAST_BITS, delta)


def _sampled_loss(part: Part, records: int) -> float:
    """What a public key tells that takes part by chance p_g at count 0 and surely above.

    Appearing tells ln(1/p_g) more, and not appearing tells φ + ln(1 - p_g s(0)). All of these are convex in
    the records, so the worst users are the two extremes.
    """
    assert part.least is not None
    noise, moved = _scale(part), part.minimum - 1 + records
    appearing = moved / noise - math.log(part.chance)
    idle = math.log1p(-part.chance * survival(noise, part.least))
    return max(appearing, miss_loss(noise, part.least - moved) + idle)


def _moved(part: Part, scale: float, step: int, neighbours: Neighbours) -> list[Event]:
    """Counts under noise that a user moves: each key by one step, or one key by all records of a group."""
    if part.contribution.largest == 1:
        return [LaplaceCounts(scale, part.contribution.total * neighbours.histories, step, neighbours)]
    return [
        LaplaceCounts(scale, neighbours.histories, records * step, neighbours)
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
