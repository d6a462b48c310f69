"""Users' histories: sessions of queries that follow from one another.

A session begins with a need: one of everybody's errands, a query that the user asks again, a meaning
within one of the user's interests, or a passing curiosity. Each step either ends the session or goes
on: to the next page of results, to a narrower, wider or neighbouring query, to a corrected spelling,
back to an earlier query, or to another need.

AOL's own account of its log splits its 28,898,362 submissions into 21,011,340 new queries and 7,887,022
requests for the next page; the steps below keep that proportion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.compiled import compiled
from tacit.world.loops.randomness import State, below, stream, uniform
from tacit.world.synth.clicks import clicks_of, page_length
from tacit.world.synth.lexicon import NO_SLIP, PLACE, Lexicon
from tacit.world.synth.queries import (
    BASE,
    CLICKS,
    INTEREST,
    KIND,
    MEANING,
    PAGE,
    PAUSE,
    ROW,
    SLIP,
    RecordKind,
    Row,
    Rows,
    compose,
    errand,
    generalise,
    specialise,
)
from tacit.world.synth.timing import MOST_SESSIONS_SHARE, SESSION_BREAK, pause

_NEED, _ERRAND, _AGAIN, _NEXT = (
    int(RecordKind.NEED),
    int(RecordKind.ERRAND),
    int(RecordKind.AGAIN),
    int(RecordKind.NEXT_PAGE),
)
_SPECIALISE, _GENERALISE, _DRIFT = (
    int(RecordKind.SPECIALISE),
    int(RecordKind.GENERALISE),
    int(RecordKind.DRIFT),
)
_CORRECT = int(RecordKind.CORRECT)
_RETURN, _NEW_NEED = (
    len(RecordKind),
    len(RecordKind) + 1,
)  # to an earlier query of the session; to something else

_ASKED_AGAIN, _ERRANDS, _CURIOSITY = 0.31, 0.17, 0.23
_FURTHER_INTEREST = 0.45
_GOES_ON = 0.66
_NEXT_PAGE = 0.435
_CORRECTS = 0.6
# What else a user does next, cumulative; the rest is a new need within the same session.
_NARROWS, _WIDENS, _DRIFTS, _RETURNS = 0.26, 0.38, 0.70, 0.80
_READING, _BROWSING = 60.0, 25.0
_WHAT = 2


class Person(NamedTuple):
    """Whose history is being written."""

    interests: Row
    home: int
    """The place the user names in local queries."""
    first: int
    """The user's first row."""


# Each of the functions below is called from one place only: compiled code is copied into its caller, and
# every further copy adds seconds to the first run.


@compiled
def _first_step(state: State, has_past: bool) -> int:
    """How a need begins."""
    choice = uniform(state)
    if choice < _ASKED_AGAIN and has_past:
        return _AGAIN
    if _ASKED_AGAIN <= choice < _ASKED_AGAIN + _ERRANDS:
        return _ERRAND
    return _NEED


@compiled
def _next_step(state: State, mistyped: bool) -> int:
    """How a session goes on; _NEW_NEED when with something else."""
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
def _choose_topic(state: State, interests: Row) -> int:
    """One of the user's interests, each about twice as likely as the next, or -1: mere curiosity."""
    if uniform(state) < _CURIOSITY:
        return -1
    chosen = 0
    while chosen + 1 < len(interests) and interests[chosen + 1] >= 0 and uniform(state) < _FURTHER_INTEREST:
        chosen += 1
    return int(interests[chosen])


@compiled
def _write_query(
    state: State, lexicon: Lexicon, rows: Rows, begun: int, at: int, step: int, person: Person
) -> None:
    """Write the query of one step into row ``at`` of a session that began at row ``begun``."""
    row = rows[at]
    source = at - 1
    if step == _AGAIN:
        # Mostly what was asked lately, now and then from long ago.
        source -= int(uniform(state) ** 2 * (at - person.first))
    elif step == _RETURN:
        source = begun + below(state, at - begun)
    if step not in (_NEED, _ERRAND):
        for column in range(ROW):  # compiles far faster than a copy of slices
            row[column] = rows[source, column]
    if step in (_NEED, _DRIFT):
        if step == _NEED:
            row[INTEREST] = _choose_topic(state, person.interests)
            row[MEANING] = -1
        compose(state, lexicon, row, person.home)
    elif step == _ERRAND:
        errand(state, lexicon, row)
    elif step == _SPECIALISE:
        specialise(state, lexicon, row, person.home)
    elif step == _GENERALISE:
        generalise(state, lexicon, row)
    elif step == _CORRECT:
        row[SLIP] = NO_SLIP
    row[PAGE] = row[PAGE] + 1 if step == _NEXT else 0
    row[KIND] = _AGAIN if step == _RETURN else step


@compiled
def histories(
    seed: int,
    first_user: int,
    quotas: npt.NDArray[np.int64],
    interests: npt.NDArray[np.int32],
    lexicon: Lexicon,
    results: npt.NDArray[np.int32],
    weeks: int,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """The submissions of some users, and where each user's begin (and the last end).

    Args:
        first_user: the number of the first of these users in the whole log.
        quotas: how many records each user makes; a submission makes one, or one per click.
    """
    rows = np.empty((quotas.sum(), ROW), np.int32)
    bounds = np.zeros(len(quotas) + 1, np.int64)
    most_sessions = int(weeks * 604_800 * MOST_SESSIONS_SHARE / (SESSION_BREAK + 60))
    state = np.empty(1, np.uint64)
    at = int(bounds[0])
    for user in range(len(quotas)):
        stream(state, seed, first_user + user, _WHAT)
        places = lexicon.usual[lexicon.usual_bounds[PLACE] : lexicon.usual_bounds[PLACE + 1]]
        home = int(places[int(len(places) * uniform(state) ** 2)])
        person = Person(interests[user], home, at)
        begun, records, sessions = at, 0, 0
        while records < quotas[user]:
            begins = records == 0 or (sessions < most_sessions and uniform(state) >= _GOES_ON)
            step = _NEW_NEED if begins else _next_step(state, rows[at - 1, SLIP] != NO_SLIP)
            if step == _NEW_NEED:
                step = _first_step(state, records > 0)
            if begins:
                begun = at
                sessions += 1
            _write_query(state, lexicon, rows, begun, at, step, person)
            rows[at, PAUSE] = 0 if begins else pause(state, _BROWSING if step == _NEXT else _READING)
            left = quotas[user] - records
            noun = int(lexicon.base[rows[at, BASE]])
            if page_length(results, noun, int(rows[at, PAGE])) == 0:
                rows[at, PAGE] = 0  # there is no further page: the first is looked at again
            rows[at, CLICKS] = min(left, clicks_of(state, rows[at], noun, results))
            records += max(1, rows[at, CLICKS])
            at += 1
        bounds[user + 1] = at
    return rows[:at], bounds
