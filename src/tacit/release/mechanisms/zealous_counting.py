"""Bounded counts of queries by numbers: those of :func:`tacit.release.contribution.bounded_items`.

A text has a number in each batch that it is in. For users whose records lie in several batches texts are made
alike in all; to compare all texts would cost more than what is done with them.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.release.parameters import Choice
from tacit.row_groups import different, only_used, together

Numbers = NDArray[np.int64]

_BLOCK = 1 << 17
"""Records that are worked on at a time, or those of one user."""


def count_queries(records: pa.Table, limit: int, choice: Choice, threads: int | None = None) -> pa.Table:
    """Count the users of each query, of whom each gives ``limit`` different ones at most."""
    names, own = together(records.column("user"))
    texts, what = together(records.column("query"))
    when = np.asarray(records.column("time")).view(np.int64)
    same = different(names)[1]
    there = np.zeros(same.size, np.bool_)
    there[own] = True
    batches, who = np.bincount(same[there], minlength=same.size), same[own]
    several = np.flatnonzero((batches > 1)[who])
    if several.size:
        used, codes = np.unique(what[several], return_inverse=True)
        alike, numbers = different(texts.take(pa.array(used)))[1], used.copy()
        numbers[alike] = used  # one of those that are alike
        what[several] = numbers[alike][codes]
    if (who[1:] < who[:-1]).any():
        rows = np.argsort(who, kind="stable")
        who, what, when = who[rows], what[rows], when[rows]
    ends = np.append(_heads(who), who.size)
    cuts = np.unique(ends[np.searchsorted(ends, np.arange(0, who.size + _BLOCK, _BLOCK).clip(max=who.size))])

    def taken(begin: int, end: int) -> NDArray[np.int32]:
        return _bounded(texts, who[begin:end], what[begin:end], when[begin:end], limit, choice)

    with ThreadPoolExecutor(threads) as workers:
        found = np.concatenate([*workers.map(taken, cuts, cuts[1:]), what[:0]])
    users = np.bincount(found, minlength=len(texts))
    queries, alike = different(texts.filter(pa.array(users > 0)))
    counts = np.zeros(len(queries), np.int64)
    np.add.at(counts, alike, users[users > 0])
    return pa.table({"query": queries, "count": counts})


def _bounded(
    texts: pa.Array,
    who: NDArray[np.int32],
    what: NDArray[np.int32],
    when: Numbers,
    limit: int,
    choice: Choice,
) -> NDArray[np.int32]:
    """Take of each user what is had most, then earliest, then first as a text; or the earliest or latest."""
    rows = order_of(who, ~when if choice is Choice.LAST else when)
    who, what, when = who[rows], what[rows], when[rows]
    rows = order_of(who, what)  # and those that are alike in order of time
    heads = _heads(who[rows], what[rows])
    first, had = rows[heads], np.diff(heads, append=rows.size)
    if choice is not Choice.FREQUENT:
        had[:] = 1
    rows = order_of(who[first], -had, first)
    first, had = first[rows], had[rows]
    who, what, when = who[first], what[first], when[first]
    starts = _heads(who)
    sizes = np.diff(starts, append=who.size)
    last = starts[sizes > limit] + limit - 1
    last = last[(had[last] == had[last + 1]) & (when[last] == when[last + 1])]
    if last.size:  # the text decides between those that are alike in all else
        at = np.full(who[-1] - who[0] + 1, -1)
        at[who[last] - who[0]] = last
        last = at[who - who[0]]
        tied = np.flatnonzero((last >= 0) & (had == had[last]) & (when == when[last]))
        found, which = only_used(texts, what[tied])
        rank = np.asarray(pc.rank(found, tiebreaker="dense"), np.int64)
        what[tied] = what[tied[order_of(who[tied], rank[which])]]
    return np.asarray(what[np.arange(who.size) - np.repeat(starts, sizes) < limit])


def _heads(*columns: NDArray[Any]) -> Numbers:
    """Where rows begin that differ from those before them."""
    differ = np.ones(columns[0].size, np.bool_)
    differ[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(differ)


def order_of(*columns: NDArray[Any]) -> Numbers:
    """The order of rows by whole numbers, by the first before the others; as they are where all are alike."""
    least = [int(column.min()) for column in columns]
    sizes = [(int(column.max()) - low).bit_length() for column, low in zip(columns, least, strict=True)]
    if sum(sizes) > 63:
        return np.lexsort(columns[::-1])
    packed = np.zeros(columns[0].size, np.int64)
    for column, low, size in zip(columns, least, sizes, strict=True):
        packed = packed << size | column - low
    return np.argsort(packed, kind="stable")  # quick where records are by user
