"""Query suggestion from a release alone (thesis 002, section 4.3.1): ``query flow and clicks``.

A candidate q_j for q_i scores (eq. 4.9)

    λ · cosine of their click vectors  +  (1 - λ) · e(q_i, q_j) / d(q_i)

with e the released count of q_j coming later than q_i in a session, and d its sum over all q_j. ``clicks
alone`` uses the release's table of clicks and no other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.evaluate import data as logs
from tacit.evaluate.task import Ranked
from tacit.evaluate.tasks.suggestion import Suggestion, SuggestionTrial, spread

from .thesis_adhoc import best_of, joined

SIMILARITY_WEIGHT = 0.5
"""λ of eq. 4.9; the thesis does not give it."""
_LISTED = 5
_AT_ONCE = 1024


def suggest(
    released: logs.ReleasedData, queries: logs.Numbers, most: int = _LISTED, weight: float = SIMILARITY_WEIGHT
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
    return joined(parts)


class ThesisSuggestion(Suggestion):
    """Query suggestion.

    Args:
        weight: λ of eq. 4.9.
    """

    name = "thesis-suggestion"
    reads = tuple(logs.KINDS.values())

    def __init__(self, weight: float = SIMILARITY_WEIGHT) -> None:
        self._weight = weight

    def against(self, original: logs.CountedLog, test: logs.LogPart) -> ThesisSuggestionTrial:
        """Only the test part matters."""
        del original
        return ThesisSuggestionTrial(test, self._weight)


class ThesisSuggestionTrial(SuggestionTrial):
    """Prefixes of test sessions, each with the different queries that came after it."""

    def __init__(self, test: logs.LogPart, weight: float) -> None:
        super().__init__(test)
        self._weight = weight

    def _ways(self, released: logs.ReleasedData, numbers: logs.Numbers) -> dict[str, Ranked]:
        clicks = {kind: table for kind, table in released.tables.items() if kind == "clicks"}
        return super()._ways(released, numbers) | {
            "query flow and clicks": self._by_flow(released),
            "clicks alone": self._by_flow(logs.ReleasedData(clicks)),
        }

    def _by_flow(self, released: logs.ReleasedData) -> Ranked:
        """By eq. 4.9."""
        asked = released.queries.find(self._test.queries.texts)[self._asked]
        known = np.flatnonzero(asked >= 0)
        distinct, which = np.unique(asked[known], return_inverse=True)
        ranked = spread(suggest(released, distinct, weight=self._weight), which)
        return Ranked(known[ranked.unit], ranked.item, ranked.place)
