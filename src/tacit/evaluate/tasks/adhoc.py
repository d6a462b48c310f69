"""Ad-hoc search: rank urls for a query (thesis 002, section 3.4).

Units are the distinct test queries with a click; relevant is what test users clicked for them. The headline
is ``engine and clicks``: the engine's own list for the query, reranked by released clicks
(:class:`~tacit.evaluate.public.EngineLists`). With nothing released that is the engine alone.
"""

from __future__ import annotations

import numpy as np
from ir_measures import AP, P, nDCG

from tacit.evaluate.data import CountedLog, LogPart, Numbers, ReleasedData
from tacit.evaluate.public import EngineLists
from tacit.evaluate.task import Measured, Measures, Ranked, Task, judge, put_in

_MEASURES = {"nDCG@10": nDCG @ 10, "MAP": AP @ 10, "P@5": P @ 5, "P@10": P @ 10}
"""MAP over the first ten, as eq. 4.11 has it; ir-measures divides by all that is relevant."""


class Adhoc(Task):
    """Ad-hoc search."""

    name = "adhoc"
    title = "ad-hoc search"
    description = "rank pages for a query"
    unit = "test query with a click"
    nothing = "the engine's own order"
    reads = ("clicks",)
    headline = "engine and clicks: nDCG@10"

    def against(self, original: CountedLog, test: LogPart) -> AdhocTrial:
        """Only the test part matters: the original is what a release competes with, not what it knows."""
        del original
        return AdhocTrial(test)


class AdhocTrial:
    """Test queries with what was clicked for them."""

    def __init__(self, test: LogPart) -> None:
        clicks = test.clicks
        pairs = np.unique(np.stack([clicks.query, clicks.url]), axis=1)
        self._queries, unit = np.unique(pairs[0], return_inverse=True)
        self._truth = unit.astype(np.int64), pairs[1]
        list_of = np.full(len(test.queries), -1, np.int64)
        list_of[self._queries] = np.arange(len(self._queries))
        self._lists = EngineLists(test, self._queries, (list_of[clicks.query], clicks.url, clicks.rank))
        every, nothing = np.arange(len(self._queries)), ReleasedData({})
        ranked, urls = self._lists.ranked(nothing, every)
        self._engine = self._judged(ranked, urls)

    def measure(self, released: ReleasedData) -> Measures:
        """The engine's lists reranked by released clicks."""
        lists = self._lists.touched(released)
        ranked, urls = self._lists.ranked(released, lists)
        ranked = Ranked(lists[ranked.unit], ranked.item, ranked.place)
        found = put_in(self._engine, lists, self._judged(ranked, urls))
        return {f"engine and clicks: {name}": measured for name, measured in found.items()}

    def _judged(self, ranked: Ranked, urls: Numbers) -> dict[str, Measured]:
        truth = self._truth[0], urls[self._truth[1]]
        return judge(ranked, truth, len(self._queries), _MEASURES)
