"""The transition keys of a pure A_Click release: ordered pairs of the queries that were selected.

Which queries were selected is published, so the pairs of them are public from then on and may all get
noise, whether the step occurred or not. There are many: pairs are made of the queries with the largest
published counts, up to a fixed number of them, which again uses nothing but what is published.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["MOST_QUERIES", "pairs_of_selected"]

MOST_QUERIES = 4000
"""Queries whose pairs are considered: 16 million pairs at most."""
_ROWS = 256


def pairs_of_selected(queries: pa.Table, taken: pa.Table) -> Iterator[pa.RecordBatch]:
    """Every ordered pair of different published queries with the true count of its steps.

    Args:
        queries: what is published, largest count first.
        taken: (query, next_query, count) of steps between selected queries. Secret.
    """
    names = queries.column("query").slice(0, MOST_QUERIES).combine_chunks()
    if isinstance(names, pa.ChunkedArray):
        names = pa.concat_arrays(names.chunks) if names.num_chunks else pa.array([], pa.string())
    size = len(names)
    start = np.asarray(pc.fill_null(pc.index_in(taken.column("query"), names), -1))
    end = np.asarray(pc.fill_null(pc.index_in(taken.column("next_query"), names), -1))
    counts = np.asarray(taken.column("count").cast(pa.int64()))
    inside = (start >= 0) & (end >= 0)
    start, end, counts = start[inside], end[inside], counts[inside]
    for first in range(0, size, _ROWS):
        rows = np.arange(first, min(first + _ROWS, size))
        here = (start >= first) & (start < first + _ROWS)
        block = np.zeros((len(rows), size), np.int64)
        block[start[here] - first, end[here]] = counts[here]
        source, target = np.divmod(np.arange(block.size), size)
        different = source + first != target
        yield pa.record_batch(
            [
                pa.DictionaryArray.from_arrays(pa.array(source[different] + first, pa.int32()), names),
                pa.DictionaryArray.from_arrays(pa.array(target[different], pa.int32()), names),
                pa.array(block.ravel()[different]),
            ],
            names=["query", "next_query", "count"],
        )
