"""Sessions dealt out to users, and when they take place.

How active users are, and at what time of day they search, no release tells: both follow public constants (a
lognormal spread of activity and a day with a quiet night, as large web logs have them).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.release.resampling.sessions import Sessions

__all__ = ["deal_out", "when"]

Whole = NDArray[np.int64]
_SPREAD = 1.1
_ROUNDS = 30
_HOURS = np.array([2, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7, 8, 8, 7, 5, 3], np.float64)
_APART = 2 * 3600
_PAUSE = 60.0
_LONGEST_PAUSE = 600.0


def deal_out(sessions: Sessions, users: int, *, once: bool, draw: np.random.Generator) -> Whole:
    """The user of each session.

    Args:
        once: no user gets a query twice, as far as that can be had.
    """
    activity = np.exp(draw.normal(0, _SPREAD, users))
    edges = np.cumsum(activity)
    dealt: Whole = np.searchsorted(edges, draw.random(len(sessions)) * edges[-1]).astype(np.int64)
    for _ in range(_ROUNDS if once else 0):
        again = _sessions_with_a_repeated_query(sessions, dealt)
        if not again.size:
            break
        dealt[again] = draw.integers(0, users, again.size)
    return dealt


def _sessions_with_a_repeated_query(sessions: Sessions, dealt: Whole) -> Whole:
    user = dealt[sessions.session]
    order = np.lexsort((sessions.session, sessions.query, user))
    same = (np.diff(user[order]) == 0) & (np.diff(sessions.query[order]) == 0)
    same &= np.diff(sessions.session[order]) != 0
    return np.unique(sessions.session[order[1:][same]])


def when(sessions: Sessions, dealt: Whole, days: int, draw: np.random.Generator) -> Whole:
    """The time of each search, in seconds from the first midnight.

    Sessions of one user lie at least two hours apart, so that a pause tells where one ends.
    """
    hours = draw.choice(24, len(sessions), p=_HOURS / _HOURS.sum())
    begins = (
        draw.integers(0, days, len(sessions)) * 86_400 + hours * 3600 + draw.integers(0, 3600, hours.size)
    )
    order = np.lexsort((begins, dealt))
    first = np.flatnonzero(np.diff(dealt[order], prepend=-1))
    rank = np.arange(order.size) - np.repeat(first, np.diff(np.append(first, order.size)))
    begins[order] += rank * _APART  # in order of time, each pushes the later ones on
    pauses = np.minimum(draw.exponential(_PAUSE, sessions.query.size) + 5, _LONGEST_PAUSE).astype(np.int64)
    pauses[sessions.place == 0] = 0
    total = np.cumsum(pauses)
    starts = np.flatnonzero(sessions.place == 0)
    before = np.repeat(total[starts], np.diff(np.append(starts, total.size)))
    return begins[sessions.session] + total - before
