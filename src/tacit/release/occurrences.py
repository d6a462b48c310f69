"""How often a session has one sequence: counted over all sessions that can be.

A query that is repeated at once is one query of its session, so no query of a session follows itself. Up to
renaming there are few such sessions (877 of eight queries), and each has a fixed number of sequences that
occur once, twice, and so on as ordered subsequences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations

__all__ = ["Occurrences", "most_occurrences", "occurrences"]

Occurrences = tuple[tuple[int, int], ...]
"""Pairs (times, sequences): so many different sequences occur so many times in a session."""


def _sessions(queries: int, so_far: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """All sessions of so many queries, up to renaming, in which no query follows itself."""
    if len(so_far) == queries:
        yield so_far
        return
    for query in range(max(so_far, default=-1) + 2):
        if not so_far or query != so_far[-1]:
            yield from _sessions(queries, (*so_far, query))


@lru_cache
def occurrences(queries: int) -> tuple[Occurrences, ...]:
    """What a session of so many queries can hold of sequences of two queries and more; each way once."""
    ways = set()
    for session in _sessions(queries):
        found: Counter[tuple[int, ...]] = Counter()
        for length in range(2, queries + 1):
            found.update(combinations(session, length))
        ways.add(tuple(sorted(Counter(found.values()).items())))
    return tuple(sorted(ways))


def most_occurrences(queries: int) -> int:
    """The most times that a session of so many queries has one sequence."""
    return max(way[-1][0] for way in occurrences(queries))
