"""Searches linked into sessions, so that sequences and steps come out as often as they were released.

Sequences first, the longest first: a session of five queries also holds every ordered part of it, so what an
emitted session explains is taken off the counts of its parts. Then steps, the most frequent first: each links
searches that have no next one yet to searches that have none before. What is left are sessions of one query.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.release.resampling.tables import ReleasedCounts, ReleasedSteps

__all__ = ["Sessions", "link_sessions"]

Whole = NDArray[np.int64]


class Sessions:
    """Searches in order: ``query`` of each, the ``session`` it belongs to and its ``place`` in it."""

    def __init__(self, query: Whole, session: Whole, place: Whole) -> None:
        order = np.lexsort((place, session))
        self.query, self.session, self.place = query[order], session[order], place[order]

    def __len__(self) -> int:
        return int(self.session[-1]) + 1 if self.session.size else 0


def link_sessions(released: ReleasedCounts) -> Sessions:
    """Every search of the release, in sessions."""
    left = released.searches.copy()
    if not released.known:  # then as many as whole sessions need
        endless = np.full(left.size, np.iinfo(np.int64).max // 2)
        left = np.maximum(left, endless - _after(released, endless.copy()))
    whole = _whole_sessions(released, left)
    steps = _unexplained(released.steps, whole)
    following = _links(steps, left)
    query, session, place = _chains(left, following)
    lists = [(found, count) for found, count in whole if count]
    if lists:
        first = int(session.max(initial=-1)) + 1
        queries, sessions, places = [query], [session], [place]
        for found, count in lists:
            queries.append(np.tile(np.array(found, np.int64), count))
            sessions.append(np.repeat(np.arange(first, first + count), len(found)))
            places.append(np.tile(np.arange(len(found)), count))
            first += count
        query, session, place = (np.concatenate(parts) for parts in (queries, sessions, places))
    if released.once:
        session, place = _without_repetitions(query, session, place)
    return Sessions(query, session, place)


def _without_repetitions(query: Whole, session: Whole, place: Whole) -> tuple[Whole, Whole]:
    """Cut sessions before a query that they have already: where users are counted, one has a query once."""
    session, place = session.copy(), place.copy()
    while True:
        order = np.lexsort((place, query, session))
        again = (np.diff(session[order]) == 0) & (np.diff(query[order]) == 0)
        repeated = order[1:][again]
        if not repeated.size:
            return session, place
        count = int(session.max()) + 1
        cut = np.full(count, np.iinfo(np.int64).max)
        np.minimum.at(cut, session[repeated], place[repeated])
        number = np.full(count, -1)
        split = np.unique(session[repeated])
        number[split] = count + np.arange(split.size)
        moved = np.flatnonzero(place >= cut[session])
        place[moved] -= cut[session[moved]]
        session[moved] = number[session[moved]]


def _after(released: ReleasedCounts, left: Whole) -> Whole:
    """What is left of so many searches when all whole sessions are made."""
    _whole_sessions(released, left)
    return left


def _whole_sessions(released: ReleasedCounts, left: Whole) -> list[tuple[tuple[int, ...], int]]:
    """How many sessions of exactly these queries to make; takes their searches off ``left``."""
    remaining = dict(released.sequences)
    made = []
    for found, _ in released.sequences:
        count = remaining[found]
        uses = Counter(found)
        count = max(0, min([count, *(int(left[query]) // times for query, times in uses.items())]))
        if not count:
            continue
        for part in released.parts(found):
            if part in remaining:
                remaining[part] -= count
        for query, times in uses.items():
            left[query] -= count * times
        made.append((found, count))
    return made


def _unexplained(steps: ReleasedSteps, whole: list[tuple[tuple[int, ...], int]]) -> ReleasedSteps:
    """Steps less those that whole sessions hold already."""
    held: Counter[tuple[int, int]] = Counter()
    for found, count in whole:
        for pair in pairwise(found):
            held[pair] += count
    if not held:
        return steps
    explained = [held[pair] for pair in zip(steps.before.tolist(), steps.after.tolist(), strict=True)]
    return ReleasedSteps(
        steps.before, steps.after, np.maximum(steps.count - np.array(explained, np.int64), 0)
    )


def _links(steps: ReleasedSteps, searches: Whole) -> Whole:
    """For each search (numbered query by query) the one that follows it, or -1.

    A query's searches take their next ones from the front and their previous ones from the back, so that
    they are linked on both sides only where there are fewer searches than links.
    """
    offsets = np.concatenate(([0], np.cumsum(searches)))
    following = np.full(offsets[-1], -1, np.int64)
    after_used, before_used = np.zeros_like(searches), np.zeros_like(searches)
    for a, b, count in zip(steps.before.tolist(), steps.after.tolist(), steps.count.tolist(), strict=True):
        possible = min(count, int(searches[a] - after_used[a]), int(searches[b] - before_used[b]))
        if possible <= 0 or a == b:
            continue
        begin = offsets[a] + after_used[a]
        end = offsets[b + 1] - before_used[b]
        following[begin : begin + possible] = np.arange(end - 1, end - 1 - possible, -1)
        after_used[a] += possible
        before_used[b] += possible
    return following


def _chains(searches: Whole, following: Whole) -> tuple[Whole, Whole, Whole]:
    """Query, session and place of each search, along the links; circles are cut once."""
    query = np.repeat(np.arange(searches.size), searches)
    session = np.full(query.size, -1, np.int64)
    place = np.zeros(query.size, np.int64)
    begins = np.ones(query.size, np.bool_)
    begins[following[following >= 0]] = False
    current = np.flatnonzero(begins)
    number = np.arange(current.size)
    done = current.size
    _follow(current, number, following, session, place)
    for start in np.flatnonzero(session < 0).tolist():  # what is left are circles
        if session[start] < 0:
            at, step = start, 0
            while session[at] < 0:
                session[at], place[at] = done, step
                at, step = int(following[at]), step + 1
            done += 1
    return query, session, place


def _follow(current: Whole, number: Whole, following: Whole, session: Whole, place: Whole) -> None:
    step = 0
    while current.size:
        session[current], place[current] = number, step
        after = following[current]
        goes_on = after >= 0
        current, number, step = after[goes_on], number[goes_on], step + 1
