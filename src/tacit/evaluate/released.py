"""What a researcher has in hand: the tables of a release, whichever mechanism made them.

Tables are recognised by their columns, not by who published them::

    keyword, count                  how often a word was searched
    query, count                    how often a query was asked
    query, url, count               how often a url was clicked for a query
    query, next_query, count        how often a query came right after another in a session
    query, later_query, count       how often it came anywhere after it
    queries (a list), count         how often these queries came in this order in a session

Where a release lacks a table that a task wants, what it has stands in: words of queries for keywords,
steps for later queries and the reverse. All of that is post-processing and costs no privacy. A published
count of zero or less (noise can do that) says that there is nothing, and its row is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.errors import InputError
from tacit.evaluate.log_part import Numbers, Vocabulary
from tacit.text import STOP_WORDS, words

__all__ = ["KINDS", "ReleasedData", "Weighted", "add_up", "keyword_counts", "keywords_of"]

KINDS: Mapping[frozenset[str], str] = {
    frozenset({"keyword"}): "keywords",
    frozenset({"query"}): "queries",
    frozenset({"query", "url"}): "clicks",
    frozenset({"query", "next_query"}): "steps",
    frozenset({"query", "later_query"}): "follows",
    frozenset({"queries"}): "sequences",
}
"""What a table tells, by its key columns."""


@dataclass(frozen=True, eq=False)
class Weighted:
    """Weighted pairs: row, column, weight above 0; each pair once."""

    row: Numbers
    column: Numbers
    weight: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.row)


def add_up(row: Numbers, column: Numbers, weight: NDArray[np.float64]) -> Weighted:
    """The sum of weights for each pair, in the order of rows and columns."""
    order = np.lexsort((column, row))
    row, column, weight = row[order], column[order], weight[order]
    new = np.ones(len(row), np.bool_)
    new[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    begins = np.flatnonzero(new)
    sums = np.add.reduceat(weight, begins) if len(begins) else weight
    return Weighted(row[begins], column[begins], sums)


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedData:
    """A release as data for the tasks: tables by what they tell (:data:`KINDS`)."""

    tables: Mapping[str, pa.Table]

    def __repr__(self) -> str:
        held = ", ".join(f"{table.num_rows:,} {kind}" for kind, table in self.tables.items())
        return f"ReleasedData({held or 'nothing'})"

    @classmethod
    def from_tables(cls, tables: Iterable[pa.Table]) -> ReleasedData:
        """Take tables of key columns and ``count`` (and maybe ``deviation``); two of one kind are refused."""
        found: dict[str, pa.Table] = {}
        for each in tables:
            table = each.drop_columns([name for name in each.column_names if name == "deviation"])
            kind = KINDS.get(frozenset(table.column_names) - {"count"})
            if kind is None or "count" not in table.column_names:
                known = "; ".join(", ".join(sorted(keys)) for keys in KINDS)
                raise InputError(
                    f"no task can use a table of the columns {', '.join(table.column_names)}.",
                    f"Known are, each with count: {known}.",
                )
            if kind in found:
                raise InputError(f"the release has two tables of {kind}; one was expected.")
            found[kind] = table.filter(pc.greater(table.column("count"), 0))
        return cls(found)

    @property
    def rows(self) -> int:
        """How many rows all tables have: how much was kept."""
        return sum(table.num_rows for table in self.tables.values())

    @cached_property
    def queries(self) -> Vocabulary:
        """All queries that any table has."""
        listed = [pa.chunked_array([pa.array([], pa.string())])]
        for kind, table in self.tables.items():
            for name in ("query", "next_query", "later_query"):
                if name in table.column_names:
                    listed.append(_texts(table, name))
            if kind == "sequences":
                listed.append(pa.chunked_array([_flat(table)]))
        return Vocabulary(pa.chunked_array([chunk for column in listed for chunk in column.chunks]))

    @cached_property
    def urls(self) -> Vocabulary:
        """All urls of clicks."""
        table = self.tables.get("clicks")
        return Vocabulary(pa.array([], pa.string()) if table is None else _texts(table, "url"))

    @cached_property
    def query_counts(self) -> NDArray[np.float64]:
        """For each query its count; what clicks and steps imply where no table of queries was released."""
        counts = np.zeros(len(self.queries))
        if "queries" in self.tables:
            table = self.tables["queries"]
            counts[self.queries.find(_texts(table, "query"))] = _counts(table)
            return counts
        for pairs in (self.clicks, self.steps):
            sums = np.zeros(len(self.queries))
            np.add.at(sums, pairs.row, pairs.weight)
            np.maximum(counts, sums, out=counts)
        return counts

    @cached_property
    def clicks(self) -> Weighted:
        """Query, url, count."""
        if "clicks" not in self.tables:
            return _nothing()
        table = self.tables["clicks"]
        return add_up(
            self.queries.find(_texts(table, "query")), self.urls.find(_texts(table, "url")), _counts(table)
        )

    @cached_property
    def steps(self) -> Weighted:
        """Query, the query right after it, count."""
        for kind, name in (("steps", "next_query"), ("follows", "later_query")):
            if kind in self.tables:
                return self._pairs(self.tables[kind], name)
        return self._ordered_pairs()

    @cached_property
    def follows(self) -> Weighted:
        """Query, a query anywhere after it in the session, count: e(q_i, q_j) of section 4.3.1.2."""
        if "follows" in self.tables:
            return self._pairs(self.tables["follows"], "later_query")
        return self._ordered_pairs() if "sequences" in self.tables else self.steps

    def _pairs(self, table: pa.Table, name: str) -> Weighted:
        row, column = self.queries.find(_texts(table, "query")), self.queries.find(_texts(table, name))
        other = row != column
        return add_up(row[other], column[other], _counts(table)[other])

    def _ordered_pairs(self) -> Weighted:
        """Pairs of released sequences, each with the largest count of a sequence that has it.

        A_Session counts every subsequence, so the sequence of just these two counts all their meetings;
        adding the longer ones to it would count some of them twice.
        """
        if "sequences" not in self.tables:
            return _nothing()
        table = self.tables["sequences"]
        best: dict[tuple[int, int], float] = {}
        numbers = self.queries.find(_flat(table)).tolist()
        place = 0
        for length, count in zip(
            pc.list_value_length(table.column("queries")).to_pylist(), _counts(table).tolist(), strict=True
        ):
            sequence = numbers[place : place + length]
            place += length
            for i, first in enumerate(sequence):
                for second in sequence[i + 1 :]:
                    if first != second:
                        best[first, second] = max(count, best.get((first, second), 0.0))
        if not best:
            return _nothing()
        keys = np.array(list(best), np.int64)
        return add_up(keys[:, 0], keys[:, 1], np.array(list(best.values())))

    @cached_property
    def keywords(self) -> dict[str, float]:
        """How often each word was searched; from the released queries where no words were."""
        if "keywords" in self.tables:
            table = self.tables["keywords"]
            return dict(zip(table.column("keyword").to_pylist(), _counts(table).tolist(), strict=True))
        return keyword_counts(self.queries.texts, self.query_counts)


def keyword_counts(queries: pa.Array, counts: NDArray[np.float64]) -> dict[str, float]:
    """How often each word occurs in queries with these counts, stop words aside, once per query."""
    found: dict[str, float] = {}
    for query, count in zip(queries.to_pylist(), counts.tolist(), strict=True):
        if count > 0:
            for word in keywords_of(query):
                found[word] = found.get(word, 0.0) + count
    return found


def keywords_of(query: str) -> set[str]:
    """The different words of a query, stop words aside."""
    return set(words(query)) - STOP_WORDS


def _texts(table: pa.Table, name: str) -> pa.ChunkedArray:
    return table.column(name).cast(pa.string())


def _flat(table: pa.Table) -> pa.Array:
    """All queries of all sequences, one after another."""
    return table.column("queries").combine_chunks().flatten().cast(pa.string())


def _counts(table: pa.Table) -> NDArray[np.float64]:
    return np.asarray(table.column("count")).astype(np.float64)


def _nothing() -> Weighted:
    empty = np.empty(0, np.int64)
    return Weighted(empty, empty, np.empty(0))
