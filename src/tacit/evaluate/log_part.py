"""Records of some users, as the tasks see them: searches, clicks and sessions in arrays.

A **search** is a query at a time. A query repeated at once within a session (another page of results,
another click) is one search of it. A **click** is a url clicked for a search. Queries and urls are numbers,
places in the part's own sorted lists of them, so that all work on them is arithmetic on arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.searchlog.session_cut import BY_PAUSES, SessionCut

__all__ = ["LoggedClicks", "LogPart", "Searches", "Vocabulary"]

Numbers = NDArray[np.int64]


class Vocabulary:
    """Distinct texts in sorted order; a text's number is its place."""

    def __init__(self, texts: pa.Array | pa.ChunkedArray) -> None:
        distinct = pc.unique(texts)
        distinct = distinct.filter(pc.is_valid(distinct))
        self.texts: pa.Array = distinct.take(pc.sort_indices(distinct))

    def __len__(self) -> int:
        return len(self.texts)

    def find(self, texts: pa.Array | pa.ChunkedArray) -> Numbers:
        """The numbers of texts; -1 for a null or an unknown one."""
        places = pc.index_in(texts, value_set=self.texts, skip_nulls=True)
        return np.asarray(pc.fill_null(places, -1)).astype(np.int64)

    def take(self, numbers: Numbers) -> pa.Array:
        """The texts of numbers."""
        return self.texts.take(pa.array(numbers))


@dataclass(frozen=True, eq=False)
class Searches:
    """Searches in the order of users, sessions and time."""

    user: Numbers
    session: Numbers
    """Numbered through the whole part, from 0, in order."""
    query: Numbers


@dataclass(frozen=True, eq=False)
class LoggedClicks:
    """Clicks in the same order."""

    user: Numbers
    session: Numbers
    query: Numbers
    url: Numbers
    rank: Numbers
    """From 1; 0 where the log does not say."""


@dataclass(frozen=True, eq=False, repr=False)
class LogPart:
    """Some users' records, whole histories each.

    Args:
        records: a table in the columns of a search log, in any order.
        cut: how histories are cut into sessions.
    """

    records: pa.Table
    cut: SessionCut = BY_PAUSES

    def __len__(self) -> int:
        return int(self.records.num_rows)

    def __repr__(self) -> str:
        return f"LogPart({len(self):,} records)"  # what people asked stays inside

    @cached_property
    def queries(self) -> Vocabulary:
        """All queries asked."""
        return Vocabulary(self.records.column("query"))

    @cached_property
    def urls(self) -> Vocabulary:
        """All urls clicked."""
        return Vocabulary(self.records.column("url"))

    @cached_property
    def _ordered(self) -> dict[str, Numbers]:
        """Columns as numbers: by user, session, time, query, url."""
        user = Vocabulary(self.records.column("user")).find(self.records.column("user"))
        time = self.records.column("time")
        texts = self.records.column("query")
        session = self.cut.numbers(user, time, texts) if len(user) else np.empty(0, np.int64)
        instant = np.asarray(time.cast(pa.timestamp("us")).cast(pa.int64()))
        query = self.queries.find(texts)
        url = self.urls.find(self.records.column("url"))
        rank = np.asarray(pc.fill_null(self.records.column("rank"), 0)).astype(np.int64)
        order = np.lexsort((url, query, instant, session, user))
        found = {"user": user, "session": session, "instant": instant, "query": query, "url": url}
        ordered = {name: column[order] for name, column in (found | {"rank": rank}).items()}
        begins = _changes(ordered["user"], ordered["session"])
        return ordered | {"session": np.cumsum(begins) - 1}

    @cached_property
    def sessions(self) -> int:
        """How many sessions there are."""
        return int(self._ordered["session"][-1]) + 1 if len(self) else 0

    @cached_property
    def searches(self) -> Searches:
        """Searches; a query repeated at once in its session counts as one."""
        found = self._ordered
        new = _changes(found["session"], found["query"])
        return Searches(*(found[name][new] for name in ("user", "session", "query")))

    @cached_property
    def clicks(self) -> LoggedClicks:
        """Clicks, each once for its search."""
        found = self._ordered
        new = (found["url"] >= 0) & _changes(found["user"], found["instant"], found["query"], found["url"])
        return LoggedClicks(*(found[name][new] for name in ("user", "session", "query", "url", "rank")))


def _changes(*columns: Numbers) -> NDArray[np.bool_]:
    """Where any of the columns differs from the row before; the first row does."""
    new = np.zeros(len(columns[0]), np.bool_)
    new[:1] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return new
