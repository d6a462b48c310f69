"""Query suggestion: what will the user ask next (thesis 002, section 4.3.1)?

For a query q_i of a session, a candidate q_j scores (eq. 4.9)

    λ · cosine of their click vectors  +  (1 - λ) · e(q_i, q_j) / d(q_i)

with e the released count of q_j coming later than q_i in a session, and d its sum over all q_j. Every query
of a test session but the last is a prefix's end, and the queries that came after it are the truth. A unit
is a session of two different queries and more; its value is the mean over its prefixes that the release
could serve. P@5 and R@5 (eq. 4.8).
"""

from __future__ import annotations

import numpy as np
from ir_measures import P, R
from numpy.typing import NDArray
from scipy import sparse

from tacit.evaluate.data import WINDOW, LogPart, Numbers, ReleasedData, later_queries, ranges
from tacit.evaluate.task import Measured, Measures, Ranked, Task, best_of, judge

SIMILARITY_WEIGHT = 0.5
"""λ of eq. 4.9; the thesis does not give it."""
_LISTED = 5
_AT_ONCE = 1024
_MEASURES = {"P@5": P @ 5, "R@5": R @ 5}


def suggest(
    released: ReleasedData, queries: Numbers, most: int = _LISTED, weight: float = SIMILARITY_WEIGHT
) -> Ranked:
    """The best candidates for each of these queries of the release."""
    size = len(released.queries)
    clicks, follows = released.clicks, released.follows
    vectors = sparse.coo_array(
        (clicks.weight, (clicks.row, clicks.column)), shape=(size, len(released.urls))
    ).tocsr()
    length = np.sqrt(vectors.multiply(vectors).sum(axis=1))
    unit = sparse.diags_array(np.divide(1, length, out=np.zeros(size), where=length > 0)) @ vectors
    others = sparse.csr_array(unit.T)
    flow = sparse.coo_array((follows.weight, (follows.row, follows.column)), shape=(size, size)).tocsr()
    out: NDArray[np.float64] = flow.sum(axis=1)
    flow = sparse.csr_array(sparse.diags_array(np.divide(1, out, out=np.zeros(size), where=out > 0)) @ flow)
    unit = sparse.csr_array(unit)
    parts = []
    for begin in range(0, len(queries), _AT_ONCE):
        some = queries[begin : begin + _AT_ONCE]
        scores = sparse.csr_array(weight * (unit[some] @ others) + (1 - weight) * flow[some])
        row = np.repeat(np.arange(len(some)), np.diff(scores.indptr))
        scores.data[scores.indices == some[row]] = 0  # a query does not suggest itself
        found = best_of(scores, most)
        parts.append((begin, found))
    return Ranked.joined(parts)


class Suggestion(Task):
    """Query suggestion.

    Args:
        weight: λ of eq. 4.9.
    """

    name = "suggestion"
    title = "query suggestion"
    description = "predict what a user searches next"
    unit = "test session of two queries"
    headline = "query flow and clicks: R@5"

    def __init__(self, weight: float = SIMILARITY_WEIGHT) -> None:
        self._weight = weight

    def against(self, original: LogPart, test: LogPart) -> SuggestionTrial:
        """Only the test part matters."""
        del original
        return SuggestionTrial(test, self._weight)


class SuggestionTrial:
    """Prefixes of test sessions, each with the different queries that came after it."""

    def __init__(self, test: LogPart, weight: float) -> None:
        self._test, self._weight = test, weight
        searches = test.searches
        pairs = np.unique(np.stack(later_queries(searches, WINDOW)), axis=1)
        # a prefix is the place of its last query among the searches
        self._prefixes, prefix = np.unique(pairs[0], return_inverse=True)
        self._truth = prefix.astype(np.int64), pairs[1]
        self._asked = searches.query[self._prefixes]
        sessions, session = np.unique(searches.session[self._prefixes], return_inverse=True)
        self._sessions, self._session = len(sessions), session.astype(np.int64)

    def measure(self, released: ReleasedData) -> Measures:
        """P@5 and R@5 by session."""
        asked = released.queries.find(self._test.queries.texts)[self._asked]
        known = np.flatnonzero(asked >= 0)
        distinct, which = np.unique(asked[known], return_inverse=True)
        listed = suggest(released, distinct, weight=self._weight)
        # the list of a query is that of every prefix which ends with it
        begins = np.searchsorted(listed.unit, np.arange(len(distinct) + 1))
        row, source = ranges(begins[which], np.diff(begins)[which])
        ranked = Ranked(known[row], listed.item[source], listed.place[source])
        truth = released.queries.find_or_add(self._test.queries.texts)[self._truth[1]]
        judged = judge(ranked, (self._truth[0], truth), len(self._prefixes), tuple(_MEASURES.values()))
        return {
            f"query flow and clicks: {name}": self._by_session(judged[measure])
            for name, measure in _MEASURES.items()
        }

    def _by_session(self, prefixes: Measured) -> Measured:
        there = ~np.isnan(prefixes.values)
        sums = np.bincount(self._session[there], prefixes.values[there], minlength=self._sessions)
        counts = np.bincount(self._session[there], minlength=self._sessions)
        nothing = np.full(self._sessions, np.nan)
        return Measured(np.divide(sums, counts, out=nothing, where=counts > 0))
