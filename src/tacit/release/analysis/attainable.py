"""The worst that one user can really do: which keys nobody else has can appear together.

Bounds on each table by itself say how many records a user has there. They do not say that one user can go to
all of these bounds at once, nor that any spread of records over keys is possible. What is computed here looks
at what is counted:

- **Sequences of sessions.** Every ordered subsequence of a session counts, and no query of a session follows
  itself. So counts do not fall on keys as one likes: there are few kinds of sessions, and each is tried.
- **Keys within others.** A click is shown with its query, a step with both of its queries. A click on a query
  that nobody else has can appear only where that query does. So a search is either of a query that nobody
  else has, or of one under which clicks and steps that nobody else has can appear: never both.

All of it bounds -ln(1 - s) for the chance s that something of one user alone appears. Each φ is rounded
outward by a part of 2^-42, some thousand times what the few sums and products here can lose.
Derivations: docs/guarantees/session.md and docs/guarantees/click.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tacit.release.analysis.threshold import miss_loss
from tacit.release.occurrences import occurrences

__all__ = ["Spread", "capped_loss", "searches_loss", "sequences_loss"]

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
