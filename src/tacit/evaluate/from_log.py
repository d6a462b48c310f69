"""A log as if it had been released whole: its tables without any bound, noise or threshold.

What the tasks reach on them is what privacy is compared with. Counts are users, as ZEALOUS and k-query
anonymity count: one person's (or robot's) thousand repetitions are one. A resampled log is published as
records, so it takes this way into the tasks too.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

from tacit.evaluate.log_part import LogPart, Numbers, Searches, Vocabulary
from tacit.evaluate.released import ReleasedData, add_up, keywords_of

__all__ = ["WINDOW", "later_queries", "released_whole", "tables_of"]

WINDOW = 10
"""A query counts as coming later in a session up to so many searches after: robots' sessions have no end."""


def released_whole(part: LogPart) -> ReleasedData:
    """The log with nothing held back."""
    return ReleasedData.from_tables(tables_of(part).values())


@lru_cache(maxsize=2)  # several tasks compare with the same part
def tables_of(part: LogPart) -> dict[str, pa.Table]:
    """Keywords, queries, clicks, steps and later queries of a log, with how many users had each."""
    searches, clicks = part.searches, part.clicks
    queries, urls = part.queries, part.urls
    nothing = np.zeros(len(searches.query), np.int64)
    asked = _users(searches.user, searches.query, nothing)
    clicked = _users(clicks.user, clicks.query, clicks.url)
    place, later = later_queries(searches, 1)
    stepped = _users(searches.user[place], searches.query[place], later)
    place, later = later_queries(searches, WINDOW)
    followed = _users(searches.user[place], searches.query[place], later)
    return {
        "keywords": _keywords(part, np.unique(np.stack([searches.user, searches.query]), axis=1)),
        "queries": _table({"query": queries.take(asked[0])}, asked[2]),
        "clicks": _table({"query": queries.take(clicked[0]), "url": urls.take(clicked[1])}, clicked[2]),
        "steps": _table(
            {"query": queries.take(stepped[0]), "next_query": queries.take(stepped[1])}, stepped[2]
        ),
        "follows": _table(
            {"query": queries.take(followed[0]), "later_query": queries.take(followed[1])}, followed[2]
        ),
    }


def later_queries(searches: Searches, window: int) -> tuple[Numbers, Numbers]:
    """Places of searches, and each different query at most ``window`` searches later in the session."""
    places, queries = [], []
    for distance in range(1, window + 1):
        same = searches.session[distance:] == searches.session[:-distance]
        same &= searches.query[distance:] != searches.query[:-distance]
        places.append(np.flatnonzero(same))
        queries.append(searches.query[distance:][same])
    return np.concatenate(places), np.concatenate(queries)


def _users(user: Numbers, row: Numbers, column: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """How many users have each (row, column)."""
    order = np.lexsort((column, row, user))
    keys = np.stack([user, row, column])[:, order]
    new = np.ones(len(user), np.bool_)
    new[1:] = np.any(keys[:, 1:] != keys[:, :-1], axis=0)
    pairs = add_up(keys[1, new], keys[2, new], np.ones(np.count_nonzero(new)))
    return pairs.row, pairs.column, pairs.weight.astype(np.int64)


def _keywords(part: LogPart, asked: Numbers) -> pa.Table:
    """Words by users, from who asked which different query."""
    spread = [sorted(keywords_of(query)) for query in part.queries.texts.to_pylist()]
    listed = pa.array([word for found in spread for word in found], pa.string())
    vocabulary = Vocabulary(listed)
    numbers = vocabulary.find(listed)
    lengths = np.array([len(found) for found in spread], np.int64)
    begins = np.cumsum(lengths) - lengths
    user, query = asked
    repeats = lengths[query]
    within = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    word = numbers[np.repeat(begins[query], repeats) + within]
    found = _users(np.repeat(user, repeats), word, np.zeros(len(word), np.int64))
    return _table({"keyword": vocabulary.take(found[0])}, found[2])


def _table(keys: dict[str, pa.Array], counts: Numbers) -> pa.Table:
    return pa.table(keys | {"count": pa.array(counts)})
