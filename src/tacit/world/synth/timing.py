"""When people search: by day more than by night, on weekdays more than at weekends.

Sessions of a user begin at random times that follow the week's rhythm, shifted by the user's own
habit; inside a session queries follow within minutes. Two sessions of a user always lie more than the
session gap (30 minutes) apart, so that cutting the log by that gap gives back the sessions that were
meant.
"""

from __future__ import annotations

from datetime import datetime

import numpy as np
import numpy.typing as npt

from tacit.compiled import compiled
from tacit.world.loops.randomness import State, below, normal, pick, stream, uniform

BEGINNING = datetime(2006, 3, 1)
"""The first moment of the log, as in AOL's (March to May 2006): a Wednesday."""
SESSION_BREAK = 1801
"""Sessions of a user lie at least this many seconds apart: more than the 30-minute gap."""
LONGEST_PAUSE = 1700
"""The longest pause inside a session, in seconds."""
MOST_SESSIONS_SHARE = 0.7
"""Breaks between sessions may fill this much of the time at most; further sessions run together."""
_WEEK_HOURS = 168
_CLOCK = 3


def week_rhythm() -> npt.NDArray[np.float64]:
    """Cumulative share of sessions that begin before each hour of the week (from Wednesday 0:00)."""
    hours = np.arange(_WEEK_HOURS)
    hour, day = hours % 24, (hours // 24 + BEGINNING.weekday()) % 7
    # Lowest about 5 in the morning, a broad afternoon, a peak about 9 in the evening.
    daily = 0.12 + np.exp(-(((hour - 14) / 5.0) ** 2)) + 0.75 * np.exp(-(((hour - 21) / 2.2) ** 2))
    weekly = np.where(day >= 5, 0.86, 1.0)
    weight = daily * weekly
    return np.concatenate(([0.0], np.cumsum(weight) / weight.sum()))


@compiled
def pause(state: State, typical: float) -> int:
    """Seconds between two queries of one session: log-normal about ``typical``, never a session's end."""
    seconds = int(np.exp(np.log(typical) + normal(state)))
    return min(max(seconds, 2), LONGEST_PAUSE)


@compiled
def _begin(state: State, rhythm: npt.NDArray[np.float64], weeks: int, shift: float) -> int:
    place = uniform(state)
    hour = pick(rhythm, 0, _WEEK_HOURS, place)
    seconds = below(state, weeks) * 604_800 + hour * 3600 + below(state, 3600) + int(shift)
    return int(seconds % (weeks * 604_800))


@compiled
def _place_sessions(begins: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], span: int) -> None:
    """Move sorted sessions apart until they keep their breaks, first later, then back inside ``span``."""
    for session in range(1, len(begins)):
        earliest = begins[session - 1] + lengths[session - 1] + SESSION_BREAK
        begins[session] = max(begins[session], earliest)
    latest = span - 1
    for session in range(len(begins) - 1, -1, -1):
        begins[session] = min(begins[session], latest - lengths[session])
        latest = begins[session] - SESSION_BREAK


@compiled
def _draw_begins(
    seed: int, first_user: int, counts: npt.NDArray[np.int64], rhythm: npt.NDArray[np.float64], weeks: int
) -> npt.NDArray[np.int64]:
    """When sessions begin, user after user, each user in a span of its own."""
    begins = np.empty(counts.sum(), np.int64)
    state = np.empty(1, np.uint64)
    at = 0
    for user in range(len(counts)):
        stream(state, seed, first_user + user, _CLOCK)
        shift = 5400.0 * normal(state)
        for _ in range(counts[user]):
            begins[at] = user * weeks * 604_800 + _begin(state, rhythm, weeks, shift)
            at += 1
    return begins


@compiled
def _place_submissions(
    bounds: npt.NDArray[np.int64],
    pauses: npt.NDArray[np.int32],
    begins: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    span: int,
) -> npt.NDArray[np.int64]:
    times = np.empty(len(pauses), np.int64)
    first = 0
    for user in range(len(counts)):
        start, stop, sessions = bounds[user], bounds[user + 1], counts[user]
        total = 0
        for row in range(start, stop):
            total += pauses[row]
        # A person this busy hurries: pauses shrink until everything fits, which no ordinary user needs.
        room = span - sessions * (SESSION_BREAK + 1) - (stop - start)
        hurry = min(1.0, room / total) if total else 1.0
        lengths = np.zeros(sessions, np.int64)
        session = -1
        for row in range(start, stop):
            if pauses[row] == 0:
                session += 1
            else:
                lengths[session] += max(1, int(pauses[row] * hurry))
        own = begins[first : first + sessions]
        _place_sessions(own, lengths, span)
        session = -1
        now = 0
        for row in range(start, stop):
            if pauses[row] == 0:
                session += 1
                now = own[session]
            else:
                now += max(1, int(pauses[row] * hurry))
            times[row] = now
        first += sessions
    return times


def schedule(
    seed: int,
    first_user: int,
    bounds: npt.NDArray[np.int64],
    pauses: npt.NDArray[np.int32],
    rhythm: npt.NDArray[np.float64],
    weeks: int,
) -> npt.NDArray[np.int64]:
    """Seconds after the beginning at which each submission is made.

    Args:
        bounds: where each user's submissions begin among all, and the end.
        pauses: seconds since the submission before; 0 begins a session.
    """
    span = weeks * 604_800
    counts = np.add.reduceat(pauses == 0, bounds[:-1], dtype=np.int64)
    begins = _draw_begins(seed, first_user, counts, rhythm, weeks)
    begins.sort()  # users lie in spans of their own, so this sorts each user's sessions
    begins -= np.repeat(np.arange(len(counts)), counts) * span
    return _place_submissions(bounds, pauses, begins, counts, span)
