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

from tacit.world.synth.clicks import clicks_of
from tacit.world.synth.compiled import compiled
from tacit.world.synth.kinds import Kind
from tacit.world.synth.lexicon import Lexicon
from tacit.world.synth.queries import (
    BASE,
    CLICKS,
    INTEREST,
    KIND,
    PAGE,
    PAUSE,
    ROW,
    SLIP,
    Row,
    Rows,
    compose,
    drift,
    errand,
    generalise,
    meaning_within,
    specialise,
)
from tacit.world.synth.randomness import State, below, stream, uniform
from tacit.world.synth.results import page_length
from tacit.world.synth.timing import MOST_SESSIONS_SHARE, SESSION_BREAK, pause
from tacit.world.synth.typos import NO_SLIP

__all__ = ["Person", "histories"]


_NEED, _ERRAND, _AGAIN, _NEXT = int(Kind.NEED), int(Kind.ERRAND), int(Kind.AGAIN), int(Kind.NEXT_PAGE)
_SPECIALISE, _GENERALISE, _DRIFT = int(Kind.SPECIALISE), int(Kind.GENERALISE), int(Kind.DRIFT)
_CORRECT = int(Kind.CORRECT)

_ASKED_AGAIN, _ERRANDS, _CURIOSITY = 0.31, 0.17, 0.12
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


@compiled
def _begin_need(state: State, lexicon: Lexicon, rows: Rows, at: int, person: Person) -> None:
    """Write the first query of a need into row ``at``."""
    first, interests, home = person.first, person.interests, person.home
    row = rows[at]
    choice = uniform(state)
    if choice < _ASKED_AGAIN and at > first:
        # Mostly what was asked lately, now and then from long ago.
        place = uniform(state)
        back = 1 + int(place * place * (at - first))
        row[:] = rows[max(first, at - back)]
        row[KIND] = _AGAIN
    elif choice < _ASKED_AGAIN + _ERRANDS:
        errand(state, lexicon, row)
        row[INTEREST], row[KIND] = -1, _ERRAND
    elif choice < _ASKED_AGAIN + _ERRANDS + _CURIOSITY:
        compose(state, lexicon, row, meaning_within(state, lexicon, 0), home)
        row[INTEREST], row[KIND] = -1, _NEED
    else:
        # The k-th interest is twice as likely as the next.
        chosen = 0
        while chosen + 1 < len(interests) and interests[chosen + 1] >= 0 and uniform(state) < 0.45:
            chosen += 1
        topic = int(interests[chosen])
        compose(state, lexicon, row, meaning_within(state, lexicon, topic), home)
        row[INTEREST], row[KIND] = topic, _NEED
    row[PAGE] = 0


@compiled
def _reformulate(state: State, lexicon: Lexicon, rows: Rows, begun: int, at: int, person: Person) -> None:
    """Write the query that follows row ``at - 1`` in its session, which began at row ``begun``."""
    row, before = rows[at], rows[at - 1]
    row[:] = before
    row[PAGE] = 0
    if before[SLIP] != NO_SLIP and uniform(state) < _CORRECTS:
        row[SLIP], row[KIND] = NO_SLIP, _CORRECT
    elif uniform(state) < _NEXT_PAGE:
        row[KIND], row[PAGE] = _NEXT, before[PAGE] + 1
    else:
        step = uniform(state)
        if step < _NARROWS:
            specialise(state, lexicon, row, person.home)
            row[KIND] = _SPECIALISE
        elif step < _WIDENS:
            generalise(state, lexicon, row)
            row[KIND] = _GENERALISE
        elif step < _DRIFTS:
            drift(state, lexicon, row, int(row[INTEREST]), person.home)
            row[KIND] = _DRIFT
        elif step < _RETURNS:
            row[:] = rows[begun + below(state, at - begun)]
            row[KIND], row[PAGE] = _AGAIN, 0
        else:
            _begin_need(state, lexicon, rows, at, person)


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
        quotas: how many records each user makes; a submission makes one, or one a click.
    """
    rows = np.empty((quotas.sum(), ROW), np.int32)
    bounds = np.zeros(len(quotas) + 1, np.int64)
    most_sessions = int(weeks * 604_800 * MOST_SESSIONS_SHARE / (SESSION_BREAK + 60))
    state = np.empty(1, np.uint64)
    at = 0
    for user in range(len(quotas)):
        stream(state, seed, first_user + user, _WHAT)
        home = int(lexicon.places[int(len(lexicon.places) * uniform(state) ** 2)])
        person = Person(interests[user], home, at)
        begun, records, sessions = at, 0, 0
        while records < quotas[user]:
            if records == 0 or (sessions < most_sessions and uniform(state) >= _GOES_ON):
                begun = at
                sessions += 1
                _begin_need(state, lexicon, rows, at, person)
                rows[at, PAUSE] = 0
            else:
                _reformulate(state, lexicon, rows, begun, at, person)
                rows[at, PAUSE] = pause(state, _BROWSING if rows[at, KIND] == _NEXT else _READING)
            left = quotas[user] - records
            noun = int(lexicon.base[rows[at, BASE]])
            if page_length(results, noun, int(rows[at, PAGE])) == 0:
                rows[at, PAGE] = 0  # there is no further page: the first is looked at again
            rows[at, CLICKS] = min(left, clicks_of(state, rows[at], noun, results))
            records += max(1, rows[at, CLICKS])
            at += 1
        bounds[user + 1] = at
    return rows[:at], bounds
