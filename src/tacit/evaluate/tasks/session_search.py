"""Session search: rank urls for a whole session (thesis 002, section 4.3.2).

For each query of a session a random walk on the graph of clicks and later queries (eq. 4.12) ranks urls,
and a url scores one over its place. The session's score of a url is the sum over its queries, those closer
to the end counting more by γ (eq. 4.13). A unit is a test session with a click, and its truth the urls
clicked in it.
"""

from __future__ import annotations

import numpy as np
from ir_measures import AP, nDCG

from tacit.evaluate.data import LogPart, ReleasedData, add_up, ranges
from tacit.evaluate.task import Measures, Task, judge, ranked_by
from tacit.evaluate.tasks.adhoc import NEGLIGIBLE, STEPS, rank_urls, transition_matrix

DISCOUNT = 0.92
"""γ of eq. 4.13, "close to 1"."""
_LISTED = 10
_A_QUERY = 20
_MEASURES = {"nDCG@10": nDCG @ 10, "MAP": AP @ 10}


class SessionSearch(Task):
    """Session search.

    Args:
        discount: γ.
        steps: how far the walks go.
        negligible: probabilities below which the walks stop.
    """

    name = "session-search"
    title = "session search"
    description = "rank pages for a whole session"
    unit = "test session with a click"
    headline = "random walk: nDCG@10"

    def __init__(
        self, discount: float = DISCOUNT, steps: int = STEPS, negligible: float = NEGLIGIBLE
    ) -> None:
        self._discount, self._steps, self._negligible = discount, steps, negligible

    def against(self, original: LogPart, test: LogPart) -> SessionSearchTrial:
        """Only the test part matters."""
        del original
        return SessionSearchTrial(test, self._discount, self._steps, self._negligible)


class SessionSearchTrial:
    """Test sessions with their queries and clicked urls."""

    def __init__(self, test: LogPart, discount: float, steps: int, negligible: float) -> None:
        self._test, self._steps, self._negligible = test, steps, negligible
        clicks, searches = test.clicks, test.searches
        truth = np.unique(np.stack([clicks.session, clicks.url]), axis=1)
        self._sessions, unit = np.unique(truth[0], return_inverse=True)
        self._truth = unit.astype(np.int64), truth[1]
        unit_of = np.full(test.sessions, -1, np.int64)
        unit_of[self._sessions] = np.arange(len(self._sessions))
        there = unit_of[searches.session] >= 0 if test.sessions else np.empty(0, np.bool_)
        self._unit, self._query = unit_of[searches.session[there]], searches.query[there]
        lengths = np.bincount(self._unit, minlength=len(self._sessions))
        ends = np.cumsum(lengths)
        left = ends[self._unit] - 1 - np.arange(len(self._unit))
        self._weight = discount ** left.astype(np.float64)

    def measure(self, released: ReleasedData) -> Measures:
        """nDCG@10 and MAP by session."""
        matrix = transition_matrix(released, queries="follows", back=True)
        numbers = released.queries.find(self._test.queries.texts)
        asked = numbers[self._query]
        distinct, which = np.unique(asked[asked >= 0], return_inverse=True)
        listed = rank_urls(
            released, matrix, distinct, _A_QUERY, steps=self._steps, negligible=self._negligible
        )
        begins = np.searchsorted(listed.unit, np.arange(len(distinct) + 1))
        row, source = ranges(begins[which], np.diff(begins)[which])
        score = self._weight[asked >= 0][row] / listed.place[source]
        total = add_up(self._unit[asked >= 0][row], listed.item[source], score)
        ranked = ranked_by(total.row, total.column, total.weight, _LISTED)
        truth = released.urls.find_or_add(self._test.urls.texts)[self._truth[1]]
        judged = judge(ranked, (self._truth[0], truth), len(self._sessions), tuple(_MEASURES.values()))
        return {f"random walk: {name}": judged[measure] for name, measure in _MEASURES.items()}
