"""Query suggestion: what will the user ask next (thesis 002, section 4.3.1)?

Every query of a test session but the last is a prefix's end, and the queries that came after it are the
truth. A unit is a session of two different queries and more; its value is the mean over **all** its prefixes,
0 for one that cannot be served. P@5 and R@5 (eq. 4.8) of two ways:

``people and words``, the headline: a candidate scores as many people as asked it after the query, and the
query's own words are behind that (the query with a word less, below one person), then what is popular. With
nothing released it is the query with a word less. Counts of people are not scaled: a share of few people says
little.

``query flow and clicks``, from the release alone: a candidate q_j for q_i scores (eq. 4.9)

    λ · cosine of their click vectors  +  (1 - λ) · e(q_i, q_j) / d(q_i)

with e the released count of q_j coming later than q_i in a session, and d its sum over all q_j.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from ir_measures import P, R
from numpy.typing import NDArray
from scipy import sparse

from tacit.evaluate import data as logs
from tacit.evaluate.public import fewer_words, popular
from tacit.evaluate.task import Measured, Measures, Ranked, Task, best_of, judge, ranked_by

SIMILARITY_WEIGHT = 0.5
"""λ of eq. 4.9; the thesis does not give it."""
_LISTED = 5
_WORDS = 0.9
"""What the query with a word less counts for, in people; the next such half of it, and so on."""
_AT_ONCE = 1024
_MEASURES = {"P@5": P @ 5, "R@5": R @ 5}


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
    nothing = "the query with a word less"
    headline = "people and words: R@5"

    def __init__(self, weight: float = SIMILARITY_WEIGHT) -> None:
        self._weight = weight

    def against(self, original: logs.CountedLog, test: logs.LogPart) -> SuggestionTrial:
        del original
        return SuggestionTrial(test, self._weight)


class SuggestionTrial:
    """Prefixes of test sessions, each with the different queries that came after it."""

    def __init__(self, test: logs.LogPart, weight: float) -> None:
        self._test, self._weight = test, weight
        searches = test.searches
        pairs = np.unique(np.stack(logs.later_queries(searches, logs.WINDOW)), axis=1)
        # a prefix is the place of its last query among the searches
        self._prefixes, prefix = np.unique(pairs[0], return_inverse=True)
        self._truth = prefix.astype(np.int64), pairs[1]
        self._asked = searches.query[self._prefixes]
        sessions, session = np.unique(searches.session[self._prefixes], return_inverse=True)
        self._sessions, self._session = len(sessions), session.astype(np.int64)

        owners = searches.user[self._prefixes]
        self.owners = np.zeros(len(sessions), np.int64)
        self.owners[self._session] = owners
        self._distinct, self._which = np.unique(self._asked, return_inverse=True)
        shorter = [fewer_words(query) for query in test.queries.take(self._distinct).to_pylist()]
        lengths = np.array([len(each) for each in shorter], np.int64)
        self._shorter = np.repeat(np.arange(len(shorter)), lengths)
        nth = np.arange(len(self._shorter)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        self._shorter_score = _WORDS / 2.0**nth
        listed = pa.array([text for each in shorter for text in each], pa.string())
        self._texts = logs.Vocabulary(pa.chunked_array([test.queries.texts, listed], pa.string()))
        self._shorter_text = self._texts.find(listed)
        self._own = self._texts.find(test.queries.texts)

    def measure(self, released: logs.ReleasedData) -> Measures:
        found: dict[str, Measured] = {}
        numbers = released.queries.find_or_add(self._texts.texts)
        for way, ranked in (
            ("people and words", self._by_people(released, numbers)),
            ("query flow and clicks", self._by_flow(released)),
        ):
            truth = self._truth[0], numbers[self._own][self._truth[1]]
            judged = judge(ranked, truth, len(self._prefixes), tuple(_MEASURES.values()))
            for name, measure in _MEASURES.items():
                found[f"{way}: {name}"] = self._by_session(judged[measure])
        return found

    def _by_people(self, released: logs.ReleasedData, numbers: logs.Numbers) -> Ranked:
        """By people who asked it later, the query's own words, and popularity."""
        own = numbers[self._own][self._distinct]
        follows = released.follows
        known = np.flatnonzero(own < len(released.queries))
        begins = np.searchsorted(follows.row, own[known])
        ends = np.searchsorted(follows.row, own[known], side="right")
        row, source = logs.ranges(begins, ends - begins)
        often, share = popular(released, _LISTED + 1)  # one of them may be the query itself
        every = np.arange(len(own))
        total = logs.add_up(
            np.concatenate([known[row], self._shorter, np.repeat(every, len(often))]),
            np.concatenate([follows.column[source], numbers[self._shorter_text], np.tile(often, len(every))]),
            np.concatenate(
                [follows.weight[source], self._shorter_score, np.tile(share * _WORDS / 64, len(every))]
            ),
        )
        other = total.column != own[total.row]
        listed = ranked_by(total.row[other], total.column[other], total.weight[other], _LISTED)
        return _spread(listed, self._which)

    def _by_flow(self, released: logs.ReleasedData) -> Ranked:
        """By eq. 4.9."""
        asked = released.queries.find(self._test.queries.texts)[self._asked]
        known = np.flatnonzero(asked >= 0)
        distinct, which = np.unique(asked[known], return_inverse=True)
        ranked = _spread(suggest(released, distinct, weight=self._weight), which)
        return Ranked(known[ranked.unit], ranked.item, ranked.place)

    def _by_session(self, prefixes: Measured) -> Measured:
        """The mean over all prefixes of a session; no value for a session of which none was served."""
        there = ~np.isnan(prefixes.values)
        sums = np.bincount(self._session[there], prefixes.values[there], minlength=self._sessions)
        served = np.bincount(self._session[there], minlength=self._sessions) > 0
        counts = np.bincount(self._session, minlength=self._sessions)
        return Measured(np.divide(sums, counts, out=np.full(self._sessions, np.nan), where=served))


def _spread(listed: Ranked, which: logs.Numbers) -> Ranked:
    """The list of a query for every prefix that ends with it."""
    size = int(which.max()) + 1 if len(which) else 0
    begins = np.searchsorted(listed.unit, np.arange(size + 1))
    row, source = logs.ranges(begins[which], np.diff(begins)[which])
    return Ranked(row, listed.item[source], listed.place[source])
