"""What a schedule provably costs: guarantee, charges and the ledger's event.

Derivations: docs/guarantees/.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.errors import ParameterError
from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
from tacit.privacy.accounting.events import ApproximateDp, Composed, Event, LaplaceCounts, RareDisclosure
from tacit.privacy.arithmetic import per_scale, sum_up
from tacit.release.schedule import Contribution, Keys, Part, Schedule, occurrences

_OUTWARD = 2.0**-42
"""More than floating point loses: e^-x is off by a part x·2^-53 at most, and x < 709 where it is normal."""


def survival(noise: float, t: int) -> float:
    """P(X >= t) for discrete Laplace noise of scale ``noise`` (0: no noise)."""
    if noise == 0:
        return 1.0 if t <= 0 else 0.0
    a = math.exp(-1 / noise)
    if t >= 0:
        return math.exp(-t / noise) / (1 + a)
    return 1 - math.exp(-(1 - t) / noise) / (1 + a)


def lean(noise: float, margin: int) -> float:
    """E[X | X >= -margin]: how far a count that lies ``margin`` above the threshold leans upwards.

    Where the very number that was compared is published, those that the noise pushed below the threshold are
    missing. Far above the threshold nothing is missing, and the lean vanishes.
    """
    if noise == 0:
        return 0.0
    a = math.exp(-1 / noise)
    missing = math.exp(-(margin + 1) / noise) / (1 + a)
    return missing * (margin + 1 + a / (1 - a)) / (1 - missing)


def miss_loss(noise: float, t: int) -> float:
    """φ = -ln(1 - P(X >= t)): what it tells that a key did not appear, though it might have.

    Rounded outward, and with noise never 0: however high the threshold is, the noise may pass it.
    """
    if noise == 0:
        return math.inf if t <= 0 else 0.0
    a = math.exp(-1 / noise)
    loss = -math.log1p(-math.exp(-t / noise) / (1 + a)) if t > 0 else (1 - t) / noise + math.log1p(a)
    return max(sys.float_info.min, loss * (1 + _OUTWARD))


def appearance(loss: float) -> float:
    """1 - e^-φ, the chance that one of the keys of loss φ in all appears; rounded outward."""
    return min(1.0, -math.expm1(-loss) * (1 + _OUTWARD))


def largest_sum(one_key: float, single_record: float, contributions: int) -> float:
    """max(φ(d), d φ(1)): the largest sum of a convex loss over ways to spread d records over keys.

    Args:
        one_key: the loss when all records are of one key, φ(d).
        single_record: the loss of a key with a single record, φ(1).
        contributions: d, the number of records a user may bring.
    """
    return max(one_key, contributions * single_record) if contributions else 0.0


def fresh_key_delta(noise: float, threshold: int, contributions: int, minimum: int = 1) -> float:
    """δ of publishing which keys have c + X >= threshold, for a user with d records; exact.

    Args:
        noise: scale b of the noise.
        threshold: t, the least noisy count that is published.
        contributions: d, the most records a user has.
        minimum: keys with a true count below this are left out before any noise (ZEALOUS's first
            threshold τ). The last record then lifts a key from nothing to a count of τ.
    """
    spread = miss_loss(noise, threshold - minimum)
    together = miss_loss(noise, threshold - minimum - contributions + 1)
    return appearance(largest_sum(together, spread, contributions))


_TRIED = 64
"""Up to so many searches or clicks of a user every way to divide the searches is tried."""

Loss = Callable[[int], float]
"""φ: what a key with so many records of one user alone tells by not appearing."""


def sequences_loss(noise: float, room: int, sessions: int, queries: int) -> float:
    """For all sequences of a user's sessions, where a sequence of one occurrence leaves ``room``.

    With n sessions, a sequence that a session has c times counts for φ(nc) if all sessions are the same, and
    for n φ(c) if they have nothing in common; nothing in between is worse.
    """
    ways = occurrences(queries)
    known = {}
    for times in {times for way in ways for times, _ in way}:
        apart, alike = miss_loss(noise, room + 1 - times), miss_loss(noise, room + 1 - sessions * times)
        known[times] = max(sessions * apart, alike)
    return max(math.fsum(number * known[times] for times, number in way) for way in ways)


def capped_loss(loss: Loss, records: int, cap: int) -> float:
    """The largest Σ φ(k_i) over Σ k_i = ``records`` with 1 <= k_i <= ``cap``; φ is convex from 1 on.

    For a number of keys the worst has as many full keys as can be, at most one between, and single records.
    Moving that one between to either end, and then the number of full ones, which enters linearly, leaves
    these: all single, or as many full as can be and the rest on one key or on single ones.
    """
    if not records:
        return 0.0
    cap = min(cap, records)
    full, rest = divmod(records, cap)
    remaining = max(loss(rest), rest * loss(1)) if rest else 0.0
    return max(records * loss(1), full * loss(cap) + remaining)


class Spread:
    """How the records of one user fall on the keys of a table.

    Args:
        records: the most records of a user.
        noise: the scale of the table's noise.
        room: how far the first record stays below the threshold.
    """

    def __init__(self, records: int, noise: float, room: int) -> None:
        self.records = records
        self._noise = noise
        self._room = room
        self._known: dict[int, float] = {}

    def loss(self, records: int) -> float:
        """φ(k)."""
        if records not in self._known:
            self._known[records] = miss_loss(self._noise, self._room + 1 - records)
        return self._known[records]

    def worst(self, records: int, cap: int | None = None) -> float:
        """The worst spread of so many records, at most ``cap`` on a key."""
        return capped_loss(self.loss, records, records if cap is None else cap)

    def apart(self, records: int) -> float:
        """Each record on a key of its own."""
        return records * self.loss(1) if records else 0.0


_NOTHING = Spread(0, 1.0, 1)


def searches_loss(queries: Spread, clicks: Spread | None, steps: Spread | None, once: bool) -> float:
    """For queries, clicks shown with their queries, and steps shown with both of theirs, together.

    Of q_f searches let p be of queries that appear without this user too. Then q_f - p searches are of own
    queries; own clicks can appear if p > 0, and own steps only between the p.

    Args:
        queries: q_f records of queries.
        clicks: clicks on them, where these are published.
        steps: steps between them, at most q_f - 1.
        once: each record of a user is of another key.
    """
    clicks, steps = clicks or _NOTHING, steps or _NOTHING
    if once:
        worst = _once(queries, clicks, steps)
    elif max(queries.records, clicks.records) <= _TRIED:
        worst = max(_with_common(queries, clicks, steps, p) for p in range(queries.records + 1))
    else:
        # With clicks as bad as they can be for every p > 0, what is left is convex in p: an end is worst.
        most, between = clicks.worst(clicks.records), min(steps.records, queries.records - 1)
        worst = max(
            queries.worst(queries.records),
            queries.worst(queries.records - 1) + most,
            most + steps.worst(between),
        )
    return worst


def _with_common(queries: Spread, clicks: Spread, steps: Spread, p: int) -> float:
    """The worst where p searches are of queries that appear without this user too.

    Let g of the p be of one query. A click on a url counts once a search, so g times at most. Between the
    searches lie p - 1 steps, and no more than 2 (p - g) where one query has more than half of them; each step
    from one query to another takes two searches of its own, so p - g steps at most are of one key. Fewer than
    half of the searches on one query gain nothing.
    """
    own = queries.worst(queries.records - p)
    if not p:
        return own
    return own + max(
        clicks.worst(clicks.records, g) + steps.worst(min(steps.records, p - 1, 2 * (p - g)), max(1, p - g))
        for g in range((p + 1) // 2, p + 1)
    )


def _once(queries: Spread, clicks: Spread, steps: Spread) -> float:
    """Each record on another key; p common queries have p(p-1) different steps between them.

    That is convex in p until there are as many steps as a user may give, and falls from there on.
    """
    enough = next(p for p in range(2, steps.records + 3) if p * (p - 1) >= steps.records)
    found = []
    for p in {0, 1, enough - 1, enough}:
        if p <= queries.records:
            pairs = min(steps.records, p * (p - 1))
            common = clicks.apart(clicks.records) + steps.apart(pairs) if p else 0.0
            found.append(queries.apart(queries.records - p) + common)
    return max(found)


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


@dataclass(frozen=True)
class PaperFigure:
    """What the paper prints for the same parameters, and in one line why the provable figure differs."""

    epsilon: float
    delta: float
    neighbours: Neighbours
    source: str
    why: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours.value,
            "source": self.source,
            "why": self.why,
        }


def total_epsilon(charges: Iterable[Charge], neighbours: Neighbours) -> float:
    """The ε of a release that makes all these charges."""
    losses = [charge.epsilon if charge.loss is None else charge.loss for charge in charges]
    return sum_up(losses) * neighbours.users_changed  # doubling a float is exact


def parts_document(charges: Iterable[Charge], neighbours: Neighbours) -> list[dict[str, Any]]:
    """The charges that make up a guarantee, under its neighbour relation."""
    return [
        {"part": c.what, "epsilon": neighbours.users_changed * c.epsilon, "delta": c.delta} for c in charges
    ]


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
            cost = _selection(part).epsilon * neighbours.users_changed
            parts.append(ApproximateDp(Guarantee(GuaranteeKind.PURE, neighbours, epsilon=cost)))
        if part.fresh is not None:
            parts += _moved(part, part.fresh.scale, 1, neighbours)
    whole = guarantee_of(schedule, neighbours)
    if whole.kind is not GuaranteeKind.PURE:
        parts.append(RareDisclosure(whole.delta, neighbours))
    return Composed(tuple(_gathered(parts)))


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


def log_alpha(noise: float, threshold: float, pool_probability: float = 1.0) -> float:
    """ln α. The second term is -ln(1 - e^(-(K-1)/b)/2), and means nothing where that is no logarithm."""
    if noise <= 0:
        raise ParameterError.outside("noise", noise, "above 0 for the paper's figure")
    first = 1 / noise - math.log(pool_probability)
    exponent = (1 - threshold) / noise
    if exponent >= math.log(2):
        return first
    return max(first, -math.log1p(-math.exp(exponent) / 2))


def turning_point(noise: float, pool_probability: float = 1.0) -> float:
    """The thesis's K for a noise scale: where the two terms of α meet (eq. 3.11)."""
    if noise <= 0:
        raise ParameterError.outside("noise", noise, "above 0 for the paper's figure")
    # 2 e^((K-1)/b) - 1 = 1/(e^(1/b)/p_g - 1) = p_g/(e^(1/b) - p_g)
    rest = 0.0 if 1 / noise > 700 else pool_probability / (math.expm1(1 / noise) + 1 - pool_probability)
    return 1 + noise * math.log((1 + rest) / 2)
