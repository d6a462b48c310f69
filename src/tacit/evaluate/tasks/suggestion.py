"""Query suggestion: what will the user ask next (thesis 002, section 4.3.1)?

A unit is a session, its value the mean over **all** its prefixes, 0 for one that cannot be served
(docs/reference/evaluation/tasks.md). P@5 and R@5 (eq. 4.8) of ``people and words``, the headline: a
candidate scores as many people as asked it after the query, and the query's own words are behind that (the
query with a word less, below one person), then what is popular. Counts of people are not scaled: a share of
few people says little.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from ir_measures import P, R

from tacit.evaluate import data as logs
from tacit.evaluate.public import fewer_words, popular
from tacit.evaluate.task import Measured, Measures, Ranked, Task, judge, ranked_by

_LISTED = 5
_WORDS = 0.9
"""What the query with a word less counts for, in people; the next such half of it, and so on."""
_MEASURES = {"P@5": P @ 5, "R@5": R @ 5}


class Suggestion(Task):
    """Query suggestion."""

    name = "suggestion"
    title = "query suggestion"
    description = "predict what a user searches next"
    unit = "test session of two queries"
    nothing = "the query with a word less"
    reads = ("queries", "clicks", "steps", "follows")
    headline = "people and words: R@5"

    def against(self, original: logs.CountedLog, test: logs.LogPart) -> SuggestionTrial:
        del original
        return SuggestionTrial(test)


class SuggestionTrial:
    """Prefixes of test sessions, each with the different queries that came after it."""

    def __init__(self, test: logs.LogPart) -> None:
        self._test = test
        searches = test.searches
        pairs = np.unique(np.stack(logs.later_queries(searches, logs.WINDOW)), axis=1)
        # a prefix is the place of its last query among the searches
        self._prefixes, prefix = np.unique(pairs[0], return_inverse=True)
        self._truth = prefix.astype(np.int64), pairs[1]
        self._asked = searches.query[self._prefixes]
        sessions, session = np.unique(searches.session[self._prefixes], return_inverse=True)
        self._sessions, self._session = len(sessions), session.astype(np.int64)
        self.owners = np.zeros(len(sessions), np.int64)
        self.owners[self._session] = searches.user[self._prefixes]
        self._distinct, self._which = np.unique(self._asked, return_inverse=True)
        shorter = [fewer_words(query) for query in test.queries.take(self._distinct).to_pylist()]
        lengths = np.array([len(each) for each in shorter], np.int64)
        self._shorter, nth = logs.ranges(np.zeros_like(lengths), lengths)
        self._shorter_score = _WORDS / 2.0**nth
        listed = pa.array([text for each in shorter for text in each], pa.string())
        self._texts = logs.Vocabulary(pa.chunked_array([test.queries.texts, listed], pa.string()))
        self._shorter_text = self._texts.find(listed)
        self._own = self._texts.find(test.queries.texts)

    def measure(self, released: logs.ReleasedData) -> Measures:
        found: dict[str, Measured] = {}
        numbers = released.queries.find_or_add(self._texts.texts)
        for way, ranked in self._ways(released, numbers).items():
            truth = self._truth[0], numbers[self._own][self._truth[1]]
            for name, judged in judge(ranked, truth, len(self._prefixes), _MEASURES).items():
                found[f"{way}: {name}"] = self._by_session(judged)
        return found

    def _ways(self, released: logs.ReleasedData, numbers: logs.Numbers) -> dict[str, Ranked]:
        """Ranked candidates for each prefix, by the way in which they were found."""
        return {"people and words": self._by_people(released, numbers)}

    def _by_people(self, released: logs.ReleasedData, numbers: logs.Numbers) -> Ranked:
        """Order by people who asked it later, the query's own words, and popularity."""
        own = numbers[self._own][self._distinct]
        follows = released.follows
        known = np.flatnonzero(own < len(released.queries))
        row, source = logs.rows_with(own[known], follows.row)
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
        return spread(listed, self._which)

    def _by_session(self, prefixes: Measured) -> Measured:
        """The mean over all prefixes of a session; no value for a session of which none was served."""
        there = ~np.isnan(prefixes.values)
        sums = np.bincount(self._session[there], prefixes.values[there], minlength=self._sessions)
        served = np.bincount(self._session[there], minlength=self._sessions) > 0
        counts = np.bincount(self._session, minlength=self._sessions)
        return Measured(np.divide(sums, counts, out=np.full(self._sessions, np.nan), where=served))


def spread(listed: Ranked, which: logs.Numbers) -> Ranked:
    """The list of a query for every prefix that ends with it."""
    row, source = logs.rows_with(which, listed.unit)
    return Ranked(row, listed.item[source], listed.place[source])
