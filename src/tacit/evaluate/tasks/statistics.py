"""Statistics: how much of the log's histogram of queries a release tells.

The headline is the ``shared mass``: one minus the total variation between the histogram of the log in users
and the one that is told, with the public list of words beside the release in the proportion that serves best
(how much of a log was released is not told, so that this is an upper bound).
"""

from __future__ import annotations

import numpy as np

from tacit.evaluate.data import CountedLog, LogPart, ReleasedData
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
    headline = "queries: shared mass"

    def against(self, original: CountedLog, test: LogPart) -> StatisticsTrial:
        del test
        return StatisticsTrial(original)


class StatisticsTrial:
    """The original histogram."""

    def __init__(self, original: CountedLog) -> None:
        self._original = original

    def measure(self, released: ReleasedData) -> Measures:
        """How much of the histogram is told."""
        return {Statistics.headline: Measured(np.array([self._shared(released)]))}

    def _shared(self, released: ReleasedData) -> float:
        """The part of the log's histogram of queries that is told, by the release and the public list."""
        table = self._original.tables["queries"]
        true = np.asarray(table.column("count")).astype(np.float64)
        counts = dict(zip(released.queries.texts.to_pylist(), released.query_counts.tolist(), strict=True))
        told, public = max(sum(counts.values()), 1.0), word_shares()
        listed = table.column("query").to_pylist()
        shown = np.array([counts.get(query, 0.0) / told for query in listed])
        behind = np.array([public.get(query, 0.0) for query in listed])
        mixed = (np.minimum(true / true.sum(), w * shown + (1 - w) * behind).sum() for w in _PARTS)
        return float(max(mixed)) if len(true) else float("nan")
