"""Simulate users: sessions of queries that follow from one another, the pauses between them, and clicks.

**Sessions.** A session begins with a need: one of everybody's errands, a query that the user asks again, a
meaning within one of the user's interests, or a passing curiosity. Each step either ends the session or goes
on: to the next page of results, to a narrower, wider or neighbouring query, to a corrected spelling, back to
an earlier query, or to another need. AOL's own account of its log splits its 28,898,362 submissions into
21,011,340 new queries and 7,887,022 requests for the next page; the steps below keep that proportion.

**Times.** Inside a session queries follow within minutes. Two sessions of a user always lie more than the
session gap (30 minutes) apart, so that cutting the log by that gap gives back the sessions that were meant.

**Clicks.** The results are those of the embedded engine for the query's noun; the rank is the real rank in
that list. A user who sees what was meant clicks more often. A result is examined with a probability that
falls with its rank, and clicked the more likely the better it fits: best when it is the meaning that the user
had in mind, next when it lies within the interest behind the query. So users with different interests click
different results of the same ambiguous word.
"""

import numpy as np
import numpy.typing as npt

from tacit.compiled import compiled
from tacit.world.loops import queries as q
from tacit.world.loops.randomness import State, below, normal, uniform

# numba reads plain integers, no enumerations.
_NEED, _ERRAND, _AGAIN, _NEXT, _SPECIALISE, _GENERALISE, _DRIFT, _CORRECT = (int(k) for k in q.RecordKind)
# Then two steps that are no kind of record: to an earlier query of the session, and to another need.
_RETURN, _NEW_NEED = len(q.RecordKind), len(q.RecordKind) + 1
_ASKED_AGAIN, _ERRANDS, _CURIOSITY = 0.31, 0.17, 0.23
_FURTHER_INTEREST = 0.45
_GOES_ON = 0.66
_NEXT_PAGE = 0.435
_CORRECTS = 0.6

# What else a user does next, cumulative; the rest is a new need within the same session.
_NARROWS, _WIDENS, _DRIFTS, _RETURNS = 0.26, 0.38, 0.70, 0.80
_READING, _BROWSING = 60.0, 25.0
PAGE_SIZE = 10
DEPTH = 2 * PAGE_SIZE
"""Results kept for a noun: two pages."""
_ATTENTION = np.array([42.0, 12.0, 8.5, 6.0, 4.9, 4.0, 3.4, 3.0, 2.8, 3.0])
"""How often each place of a page is clicked, per cent: steep, flat below, with a small rise at the end."""
_MEANT, _OF_INTEREST = 12.0, 4.0
_CLICKS_ERRAND, _CLICKS_SLIP, _CLICKS_FOUND, _CLICKS_BESIDE = 0.56, 0.20, 0.435, 0.325
_CLICKS_ON = 0.43
SESSION_BREAK = 1801
"""Sessions of a user lie at least this many seconds apart: more than the 30-minute gap."""
LONGEST_PAUSE = 1700
"""The longest pause inside a session, in seconds."""
MOST_SESSIONS_SHARE = 0.7
"""Breaks between sessions may fill this much of the time at most; further sessions run together."""


# Each of the functions below is called from one place only: compiled code is copied into its caller, and
# every further copy adds seconds to the first run.


@compiled
def _first_step(state: State, has_past: bool) -> int:
    """Draw how a need begins."""
    choice = uniform(state)
    if choice < _ASKED_AGAIN and has_past:
        return _AGAIN
    if _ASKED_AGAIN <= choice < _ASKED_AGAIN + _ERRANDS:
        return _ERRAND
    return _NEED


@compiled
def _next_step(state: State, mistyped: bool) -> int:
    """Draw how a session goes on; _NEW_NEED when with something else."""
    if mistyped and uniform(state) < _CORRECTS:
        return _CORRECT
    if uniform(state) < _NEXT_PAGE:
        return _NEXT
    step = uniform(state)
    if step < _NARROWS:
        return _SPECIALISE
    if step < _WIDENS:
        return _GENERALISE
    if step < _DRIFTS:
        return _DRIFT
    return _RETURN if step < _RETURNS else _NEW_NEED


@compiled
def _choose_topic(state: State, interests: q.Row) -> int:
    """Draw one of the user's interests, each about twice as likely as the next, or -1: mere curiosity."""
    if uniform(state) < _CURIOSITY:
        return -1
    chosen = 0
    while chosen + 1 < len(interests) and interests[chosen + 1] >= 0 and uniform(state) < _FURTHER_INTEREST:
        chosen += 1
    return int(interests[chosen])


@compiled
def _write_query(
    state: State, lexicon: q.Lexicon, rows: q.Row, begun: int, at: int, step: int, interests: q.Row, home: int
) -> None:
    """Write the query of one step into row ``at`` of one user's, in a session that began at row ``begun``."""
    row = rows[at]
    source = at - 1
    if step == _AGAIN:
        # Mostly what was asked lately, now and then from long ago.
        source -= int(uniform(state) ** 2 * at)
    elif step == _RETURN:
        source = begun + below(state, at - begun)
    if step not in (_NEED, _ERRAND):
        for column in range(q.ROW):  # compiles far faster than a copy of slices
            row[column] = rows[source, column]
    if step in (_NEED, _DRIFT):
        if step == _NEED:
            row[q.INTEREST] = _choose_topic(state, interests)
            row[q.MEANING] = -1
        q.compose(state, lexicon, row, home)
    elif step == _ERRAND:
        q.errand(state, lexicon, row)
    elif step == _SPECIALISE:
        q.specialise(state, lexicon, row, home)
    elif step == _GENERALISE:
        q.generalise(state, lexicon, row)
    elif step == _CORRECT:
        row[q.SLIP] = q.NO_SLIP
    row[q.PAGE] = row[q.PAGE] + 1 if step == _NEXT else 0
    row[q.KIND] = _AGAIN if step == _RETURN else step


@compiled
def histories(
    starts: npt.NDArray[np.uint64],
    quotas: npt.NDArray[np.int64],
    interests: npt.NDArray[np.int32],
    lexicon: q.Lexicon,
    results: npt.NDArray[np.int32],
    weeks: int,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """The submissions of some users, and where each user's begin (and the last end).

    Args:
        starts: of the users' streams, as for :func:`choose_clicks`.
        quotas: how many records each user makes; a submission makes one, or one per click.
    """
    rows = np.empty((quotas.sum(), q.ROW), np.int32)
    bounds = np.zeros(len(quotas) + 1, np.int64)
    most_sessions = int(weeks * 604_800 * MOST_SESSIONS_SHARE / (SESSION_BREAK + 60))
    state = np.empty(1, np.uint64)
    at = int(bounds[0])
    for user in range(len(quotas)):
        state[0] = starts[user]
        places = lexicon.usual[lexicon.usual_bounds[q.PLACE] : lexicon.usual_bounds[q.PLACE + 1]]
        home = int(places[int(len(places) * uniform(state) ** 2)])
        first, begun, records, sessions = at, at, 0, 0
        while records < quotas[user]:
            begins = records == 0 or (sessions < most_sessions and uniform(state) >= _GOES_ON)
            step = _NEW_NEED if begins else _next_step(state, rows[at - 1, q.SLIP] != q.NO_SLIP)
            if step == _NEW_NEED:
                step = _first_step(state, records > 0)
            if begins:
                begun = at
                sessions += 1
            own = rows[first:]
            _write_query(state, lexicon, own, begun - first, at - first, step, interests[user], home)
            rows[at, q.PAUSE] = 0 if begins else pause(state, _BROWSING if step == _NEXT else _READING)
            left = quotas[user] - records
            noun = int(lexicon.base[rows[at, q.BASE]])
            if page_length(results, noun, int(rows[at, q.PAGE])) == 0:
                rows[at, q.PAGE] = 0  # there is no further page: the first is looked at again
            rows[at, q.CLICKS] = min(left, clicks_of(state, rows[at], noun, results))
            records += max(1, rows[at, q.CLICKS])
            at += 1
        bounds[user + 1] = at
    return rows[:at], bounds


@compiled
def page_length(results: npt.NDArray[np.int32], noun: int, page: int) -> int:
    """Return how many results a page (from 0) of a noun's results has."""
    start = page * PAGE_SIZE
    length = 0
    while length < PAGE_SIZE and start + length < DEPTH and results[noun, start + length] >= 0:
        length += 1
    return length


@compiled
def clicks_of(state: State, row: q.Row, noun: int, results: npt.NDArray[np.int32]) -> int:
    """Return how many results of a submission are clicked: no more than its page shows."""
    shown = page_length(results, noun, int(row[q.PAGE]))
    if row[q.KIND] == _ERRAND:
        chance = _CLICKS_ERRAND
    elif row[q.SLIP]:
        chance = _CLICKS_SLIP
    else:
        chance = _CLICKS_BESIDE
        for place in range(row[q.PAGE] * PAGE_SIZE, row[q.PAGE] * PAGE_SIZE + shown):
            if results[noun, place] == row[q.MEANING]:
                chance = _CLICKS_FOUND
    if not shown or uniform(state) >= chance:
        return 0
    clicks = 1
    while clicks < shown and uniform(state) < _CLICKS_ON:
        clicks += 1
    return clicks


@compiled
def _draw(state: State, weight: npt.NDArray[np.float64], shown: int) -> int:
    """A place by weight, which is then used up."""
    target = uniform(state) * weight[:shown].sum()
    last = -1
    for place in range(shown):
        if weight[place] > 0.0:
            last = place
            target -= weight[place]
            if target < 0.0:
                break
    weight[last] = 0.0
    return last


@compiled
def choose_clicks(
    starts: npt.NDArray[np.uint64],
    rows: npt.NDArray[np.int32],
    bounds: npt.NDArray[np.int64],
    base: npt.NDArray[np.int64],
    results: npt.NDArray[np.int32],
    end: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The records of some users: which submission each belongs to, the clicked rank (0: none), the document.

    Args:
        base: the noun that each phrase is searched as.
        results: the results of each noun.
        end: one past the last topic of each topic's subtree.
    """
    records = np.maximum(rows[:, q.CLICKS], 1).sum()
    of_row = np.empty(records, np.int64)
    rank = np.zeros(records, np.int32)
    document = np.full(records, -1, np.int32)
    state = np.empty(1, np.uint64)
    weight = np.empty(PAGE_SIZE, np.float64)
    at = 0
    for user in range(len(bounds) - 1):
        state[0] = starts[user]
        for row in range(bounds[user], bounds[user + 1]):
            noun, topic = int(base[rows[row, q.BASE]]), int(rows[row, q.INTEREST])
            start = int(rows[row, q.PAGE]) * PAGE_SIZE
            found = results[noun, start : start + page_length(results, noun, int(rows[row, q.PAGE]))]
            last = end[topic] if topic >= 0 else 0
            for place in range(len(found)):  # attention times fit
                fit = _MEANT if found[place] == rows[row, q.MEANING] else 1.0
                if fit == 1.0 and topic <= found[place] < last:
                    fit = _OF_INTEREST
                weight[place] = _ATTENTION[place] * fit
            for _ in range(max(1, rows[row, q.CLICKS])):
                of_row[at] = row
                if rows[row, q.CLICKS]:
                    place = _draw(state, weight, len(found))
                    rank[at] = start + place + 1
                    document[at] = found[place]
                at += 1
    return of_row, rank, document


@compiled
def pause(state: State, typical: float) -> int:
    """Seconds between two queries of one session: log-normal about ``typical``, never a session's end."""
    seconds = int(np.exp(np.log(typical) + normal(state)))
    return min(max(seconds, 2), LONGEST_PAUSE)
