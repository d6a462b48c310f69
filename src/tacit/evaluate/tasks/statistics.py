"""Statistics: how much of the log's histogram of queries a release tells.

The headline is the ``shared mass``: one minus the total variation between the histogram of the log in users
and the one that is told, with the public list of words beside the release in the proportion that serves best
(how much of a log was released is not told, so that this is an upper bound).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.evaluate.data import LEFT_OUT, CountedLog, LogPart, ReleasedData
from tacit.evaluate.public import word_shares
from tacit.evaluate.task import Measured, Measures, Task

_PARTS = np.linspace(0, 1, 21)
"""Which part of the searches the release is taken to tell; the public list tells the others."""


class Statistics(Task):
    """Item set generation and ranking. The test part plays no role."""

    name = "statistics"
    title = "statistics"
    description = "how much of the log's histogram of queries is there"
    unit = "fold of the users"
    nothing = "a public list of words by their frequency"
    reads = ("queries", "clicks", "steps")
    headline = "queries: shared mass"

    def against(self, original: CountedLog, test: LogPart) -> StatisticsTrial:
        del test
        return StatisticsTrial(original)


class StatisticsTrial:
    """The original histogram, and the public list's."""

    def __init__(self, original: CountedLog) -> None:
        self._original = original
        table, public = original.tables["queries"], word_shares()
        self._queries = table.column("query")
        counts = np.asarray(table.column("count")).astype(np.float64)
        left_out = float((table.schema.metadata or {}).get(LEFT_OUT, 0))
        total = max(counts.sum() + left_out, 1.0)
        self._true, self._left_out = counts / total, left_out / total
        known = pc.index_in(self._queries, value_set=pa.array(list(public)))
        shares = pa.array([*public.values(), 0.0])
        self._behind = np.asarray(shares.take(pc.fill_null(known, len(public))))

    def measure(self, released: ReleasedData) -> Measures:
        """Measure how much of the histogram of queries the release and the public list tell."""
        found, counts = released.queries.find(self._queries), released.query_counts
        shown = np.append(counts, 0.0)[found] / max(counts.sum(), 1.0)  # -1, the last, is what is not told
        mixed = (np.minimum(self._true, w * shown + (1 - w) * self._behind).sum() for w in _PARTS)
        shared = float(max(mixed)) if len(self._true) else float("nan")
        return {Statistics.headline: Measured(np.array([shared + self._left_out * released.whole]))}
