"""Ad-hoc search: rank urls for a query (thesis 002, section 3.4).

Units are the distinct test queries with a click; relevant is what test users clicked for them. The headline
is ``engine and clicks``: the engine's own list for the query, reranked by released clicks
(:class:`~tacit.evaluate.public.EngineLists`). With nothing released that is the engine alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from ir_measures import AP, P, nDCG
from numpy.typing import NDArray

from tacit.evaluate.data import CountedLog, LoggedClicks, LogPart, Numbers, ReleasedData
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
        self._test = test
        clicks = test.clicks
        self._all = JudgedClicks(clicks, np.ones(len(clicks.user), np.bool_))
        list_of = np.full(len(test.queries), -1, np.int64)
        list_of[self._all.queries] = np.arange(len(self._all.queries))
        self._lists = EngineLists(test, self._all.queries, (list_of[clicks.query], clicks.url, clicks.rank))
        every, nothing = np.arange(len(self._all.queries)), ReleasedData({})
        ranked, urls = self._lists.ranked(nothing, every)
        self._engine = self._all.judge(ranked, urls)

    def measure(self, released: ReleasedData) -> Measures:
        """The engine's lists reranked by released clicks."""
        lists = self._lists.touched(released)
        ranked, urls = self._lists.ranked(released, lists)
        ranked = Ranked(lists[ranked.unit], ranked.item, ranked.place)
        found = put_in(self._engine, lists, self._all.judge(ranked, urls))
        return {f"engine and clicks: {name}": measured for name, measured in found.items()}


class JudgedClicks:
    """Distinct queries with a click among some of the clicks, and the urls clicked for each."""

    def __init__(self, clicks: LoggedClicks, which: NDArray[np.bool_]) -> None:
        pairs = np.unique(np.stack([clicks.query[which], clicks.url[which]]), axis=1)
        self.queries, unit = np.unique(pairs[0], return_inverse=True)
        self.unit, self.url = unit.astype(np.int64), pairs[1]

    def judge(self, ranked: Ranked, urls: Numbers) -> Mapping[str, Measured]:
        return judge(ranked, (self.unit, urls[self.url]), len(self.queries), _MEASURES)
