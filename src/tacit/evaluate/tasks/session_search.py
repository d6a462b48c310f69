"""Session search: rank urls for a whole session (thesis 002, section 4.3.2).

The session's score of a url is the sum over its queries of one over its place, those closer to the end
counting more by γ (eq. 4.13). The headline's lists are the engine's, reranked by released clicks
(:class:`~tacit.evaluate.public.EngineLists`); with nothing released they are the engine's alone.
"""

from __future__ import annotations

import numpy as np
from ir_measures import AP, nDCG

from tacit.evaluate.data import CountedLog, LogPart, Numbers, ReleasedData, add_up, rows_with
from tacit.evaluate.public import SHOWN, EngineLists
from tacit.evaluate.task import Measured, Measures, Ranked, Task, judge, put_in, ranked_by

DISCOUNT = 0.92
"""γ of eq. 4.13, "close to 1"."""
_LISTED = 10
_MEASURES = {"nDCG@10": nDCG @ 10, "MAP": AP @ 10}


class SessionSearch(Task):
    """Session search.

    Args:
        discount: γ.
    """

    name = "session-search"
    title = "session search"
    description = "rank pages for a whole session"
    unit = "test session with a click"
    nothing = "the engine's own order for each query"
    reads = ("clicks",)
    headline = "engine and clicks: nDCG@10"

    def __init__(self, discount: float = DISCOUNT) -> None:
        self._discount = discount

    def against(self, original: CountedLog, test: LogPart) -> SessionSearchTrial:
        del original
        return SessionSearchTrial(test, self._discount)


class SessionSearchTrial:
    """Test sessions with their queries and clicked urls."""

    def __init__(self, test: LogPart, discount: float) -> None:
        self._test = test
        clicks, searches = test.clicks, test.searches
        truth = np.unique(np.stack([clicks.session, clicks.url]), axis=1)
        self._sessions, unit = np.unique(truth[0], return_inverse=True)
        self._truth = unit.astype(np.int64), truth[1]
        unit_of = np.full(test.sessions, -1, np.int64)
        unit_of[self._sessions] = np.arange(len(self._sessions))
        there = unit_of[searches.session] >= 0 if test.sessions else np.empty(0, np.bool_)
        self._unit, self._query = unit_of[searches.session[there]], searches.query[there]
        ends = np.cumsum(np.bincount(self._unit, minlength=len(self._sessions)))
        left = ends[self._unit] - 1 - np.arange(len(self._unit))
        self._weight = discount ** left.astype(np.float64)
        owners = np.zeros(test.sessions, np.int64)
        owners[searches.session] = searches.user
        self.owners = owners[self._sessions]
        self._lists = EngineLists(test, self._query, self._known(test, unit_of))
        self._engine = self._reranked(ReleasedData({}), np.arange(len(self._sessions)))

    def _known(self, test: LogPart, unit_of: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Collect for each search the clicks of its session on its query: search, url, rank."""
        clicks, size = test.clicks, len(test.queries)
        keys = unit_of[clicks.session] * size + clicks.query if test.sessions else clicks.query
        order = np.argsort(keys, kind="stable")
        wanted = self._unit * size + self._query
        row, source = rows_with(wanted, keys[order])
        return row, clicks.url[order][source], clicks.rank[order][source]

    def _reranked(self, released: ReleasedData, units: Numbers) -> dict[str, Measured]:
        """Some sessions by the engine's lists and released clicks."""
        lists = np.flatnonzero(np.isin(self._unit, units))
        ranked, urls = self._lists.ranked(released, lists)
        search = lists[ranked.unit]
        # a page that nobody clicked is another one for each query
        beyond = len(released.urls) + len(urls)
        item = np.where(ranked.item < beyond, ranked.item, ranked.item + SHOWN * search)
        total = add_up(self._unit[search], item, self._weight[search] / ranked.place)
        found = ranked_by(total.row, total.column, total.weight, _LISTED)
        return self._judged(found, urls)

    def _judged(self, ranked: Ranked, urls: Numbers) -> dict[str, Measured]:
        return judge(ranked, (self._truth[0], urls[self._truth[1]]), len(self._sessions), _MEASURES)

    def measure(self, released: ReleasedData) -> Measures:
        units = np.unique(self._unit[self._lists.touched(released)])
        found = put_in(self._engine, units, self._reranked(released, units))
        return {f"engine and clicks: {name}": measured for name, measured in found.items()}
