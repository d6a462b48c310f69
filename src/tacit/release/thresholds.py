"""Thresholds on counts with integer noise: the one argument that all mechanisms share.

The noise is discrete Laplace of scale b: P(X = x) = (1-a)/(1+a) a^|x| with a = exp(-1/b). A key with true
count c is **selected** iff c + X >= t for a whole threshold t (``> K`` is ``>= K + 1``).

A user who brings k records of a key that nobody else has (a **fresh** key) makes it selectable at all. The
chance s(k) = P(k + X >= t) that it then appears is what δ pays for, and ε pays for nothing more:

    Let fresh keys appear with chance σ in all on the one log (and never on the other), with chance σ' on the
    other (and never on the one), and let all else be ε-close. Then P(O) <= e^ε P'(O) + max(σ, σ').

(Proof: docs/guarantees/zealous.md.) This serves both neighbour relations (adding or removing a user has σ = 0
or σ' = 0). With k_1, …, k_r records of fresh keys σ = 1 - exp(-Σ φ(k_i)), where φ(k) = -ln(1 - s(k)).

What one user can do at worst, in one table (docs/guarantees/click.md) and in several of which one shows keys
within another's (:func:`sequences_loss` and :func:`searches_loss`), is computed from what is counted.

All of it bounds -ln(1 - s) for the chance s that something of one user alone appears. Each φ is rounded
outward by a part of 2^-42, some thousand times what the few sums and products here can lose.
Derivations: docs/guarantees/session.md and docs/guarantees/click.md.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from tacit.errors import ParameterError
from tacit.release.schedule import occurrences

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


def mean_size(noise: float) -> float:
    """E|X|: by how much noise of this scale moves a count on average; near the scale where that is large."""
    return 1 / math.sinh(1 / noise) if noise > 1 / 700 else 0.0


def upward_bias(noise: float, margin: int) -> float:
    """E[X | X >= -margin]: the upward bias of a count that lies ``margin`` above the threshold.

    Where the very number that was compared is published, those that the noise pushed below the threshold are
    missing. Far above the threshold nothing is missing, and the bias vanishes.
    """
    if noise == 0:
        return 0.0
    a = math.exp(-1 / noise)
    missing = math.exp(-(margin + 1) / noise) / (1 + a)
    return missing * (margin + 1 + a / (1 - a)) / (1 - missing)


@lru_cache(1 << 14)  # every way to divide a user's searches asks for the same few
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


_TRIED = 64
"""Up to so many searches or clicks of a user every way to divide the searches is tried."""

Loss = Callable[[int], float]
"""φ: what a key with so many records of one user alone tells by not appearing."""


def sequences_loss(noise: float, room: int, sessions: int, queries: int) -> float:
    """Bound the loss of all sequences of a user's sessions, where one occurrence leaves ``room``.

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


@dataclass(frozen=True)
class Spread:
    """How the records of one user fall on the keys of a table."""

    records: int  # the most records of a user
    noise: float  # the scale of the table's noise
    room: int  # how far the first record stays below the threshold

    def loss(self, records: int) -> float:
        return miss_loss(self.noise, self.room + 1 - records)

    def worst(self, records: int, cap: int | None = None) -> float:
        """The worst spread of so many records, at most ``cap`` on a key."""
        return capped_loss(self.loss, records, records if cap is None else cap)

    def apart(self, records: int) -> float:
        """Put each record on a key of its own."""
        return records * self.loss(1) if records else 0.0


NOTHING = Spread(0, 1.0, 1)
"""No record at all."""


def searches_loss(queries: Spread, clicks: Spread, steps: Spread, once: bool) -> float:
    """Bound the loss of queries, their clicks, and steps shown with both their queries, together.

    Of q_f searches let p be of queries that appear without this user too. Then q_f - p searches are of own
    queries; own clicks can appear if p > 0, and own steps only between the p.

    Args:
        queries: q_f records of queries.
        clicks: clicks on them; :data:`NOTHING` where these are not published.
        steps: steps between them, at most q_f - 1; or nothing.
        once: each record of a user is of another key.
    """
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
    """Bound the loss of records each on a key of its own; p common queries have p(p-1) different steps.

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


def smallest(holds: Callable[[int], bool], least: int = 0) -> int:
    """The smallest whole number from ``least`` on at which a monotone condition holds."""
    if holds(least):
        return least
    step = 1
    while not holds(least + step):
        step *= 2
        if step > 1 << 60:
            raise ParameterError("no threshold is high enough for this request.", "Ask for a larger delta.")
    low, high = least + step // 2, least + step
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high
