"""What the tasks work with: a part of a log, and the tables of a release.

A **search** is a query at a time. A query repeated at once within a session (another page of results,
another click) is one search of it. A **click** is a url clicked for a search. Queries and urls are numbers,
places in the part's own sorted vocabularies, so that all work on them is arithmetic on arrays. Users are
split into folds by a keyed hash of their name, so that a record more or less moves nobody. A query without a
letter or digit is no search (logs note ``-`` where nothing was typed): it is left out of both.

Tables of a release are recognised by their columns (:data:`KINDS`), not by the mechanism that published
them. Where one is missing, what is there stands in for it, which costs no privacy:
docs/reference/evaluation/tasks.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.errors import InputError, ParameterError
from tacit.searchlog.sessions import BY_PAUSES, SessionCut
from tacit.text import STOP_WORDS, words

Numbers = NDArray[np.int64]

LEFT_OUT = b"left out"
"""Of a table's metadata: what the counts of the rows that are left out add up to."""
_BESIDE = frozenset({"deviation", "fewer_than"})
"""Columns of a released table that say how good its counts are; what has no count is passed over."""


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

    def find_or_add(self, texts: pa.Array | pa.ChunkedArray) -> Numbers:
        """The numbers of distinct texts; unknown ones get numbers beyond those of the vocabulary."""
        found = self.find(texts)
        return np.where(found >= 0, found, len(self) + np.arange(len(found)))

    def take(self, numbers: Numbers) -> pa.Array:
        return self.texts.take(pa.array(numbers))


def ranges(begins: Numbers, lengths: Numbers) -> tuple[Numbers, Numbers]:
    """Places ``begins[i]`` to ``begins[i] + lengths[i]`` for each i in turn: the i, and the place."""
    row = np.repeat(np.arange(len(lengths)), lengths)
    return row, begins[row] + np.arange(len(row)) - (np.cumsum(lengths) - lengths)[row]


def rows_with(wanted: Numbers, column: Numbers) -> tuple[Numbers, Numbers]:
    """Rows of a sorted column that hold each wanted number in turn: the place of the number, and the row."""
    begins = np.searchsorted(column, wanted)
    return ranges(begins, np.searchsorted(column, wanted, side="right") - begins)


@dataclass(frozen=True, eq=False)
class Searches:
    """Searches in the order of users, sessions and time."""

    user: Numbers
    session: Numbers
    """Numbered through the whole part, from 0, in order."""
    query: Numbers


@dataclass(frozen=True, eq=False)
class LoggedClicks(Searches):
    """Clicks in the same order."""

    url: Numbers
    rank: Numbers
    """From 1; 0 where the log does not say."""


class CountedLog(Protocol):
    """A log by its tables, however it is held: what a release of it competes with."""

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """Keywords, queries, clicks, steps and later queries, with how many users had each."""


@dataclass(frozen=True, eq=False, repr=False)
class LogPart:
    """Some users' records, whole histories each.

    Args:
        records: a table in the columns of a search log, in any order.
        cut: how histories are split into sessions.
    """

    records: pa.Table
    cut: SessionCut = BY_PAUSES

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", _with_words(self.records, "query"))

    def __len__(self) -> int:
        return int(self.records.num_rows)

    def __repr__(self) -> str:
        return f"LogPart({len(self):,} records)"  # what people searched for stays inside

    @cached_property
    def queries(self) -> Vocabulary:
        return Vocabulary(self.records.column("query"))

    @cached_property
    def urls(self) -> Vocabulary:
        return Vocabulary(self.records.column("url"))

    @cached_property
    def _ordered(self) -> dict[str, Numbers]:
        """Columns as numbers: by user, session, time, query, url."""
        user = Vocabulary(self.records.column("user")).find(self.records.column("user"))
        time = self.records.column("time")
        texts = self.records.column("query")
        session = self.cut.numbers(user, time) if len(user) else np.empty(0, np.int64)
        instant = np.asarray(time.cast(pa.timestamp("us")).cast(pa.int64()))
        query = self.queries.find(texts)
        url = self.urls.find(self.records.column("url"))
        rank = np.asarray(pc.fill_null(self.records.column("rank"), 0)).astype(np.int64)
        order = np.lexsort((url, query, instant, session, user))
        found = {"user": user, "session": session, "instant": instant, "query": query, "url": url}
        ordered = {name: column[order] for name, column in (found | {"rank": rank}).items()}
        begins = changes(ordered["user"], ordered["session"])
        return ordered | {"session": np.cumsum(begins) - 1}

    @cached_property
    def sessions(self) -> int:
        return int(self._ordered["session"][-1]) + 1 if len(self) else 0

    @cached_property
    def searches(self) -> Searches:
        """Searches; a query repeated at once in its session counts as one."""
        found = self._ordered
        new = changes(found["session"], found["query"])
        return Searches(*(found[name][new] for name in ("user", "session", "query")))

    @cached_property
    def clicks(self) -> LoggedClicks:
        """Clicks, each once for its search."""
        found = self._ordered
        new = (found["url"] >= 0) & changes(found["user"], found["instant"], found["query"], found["url"])
        return LoggedClicks(*(found[name][new] for name in ("user", "session", "query", "url", "rank")))

    @cached_property
    def tables(self) -> Mapping[str, pa.Table]:
        """Keywords, queries, clicks, steps and later queries, with how many users had each."""
        searches, clicks, queries = self.searches, self.clicks, self.queries
        asked = _users(searches.user, searches.query, np.zeros(len(searches.query), np.int64))
        clicked = _users(clicks.user, clicks.query, clicks.url)
        found = {
            "keywords": _keywords(queries, np.unique(np.stack([searches.user, searches.query]), axis=1)),
            "queries": _table({"query": queries.take(asked[0])}, asked[2]),
            "clicks": _table(
                {"query": queries.take(clicked[0]), "url": self.urls.take(clicked[1])}, clicked[2]
            ),
        }
        for kind, name, window in (("steps", "next_query", 1), ("follows", "later_query", WINDOW)):
            place, later = later_queries(searches, window)
            query, other, count = _users(searches.user[place], searches.query[place], later)
            found[kind] = _table({"query": queries.take(query), name: queries.take(other)}, count)
        return found


def _with_words(table: pa.Table, *columns: str) -> pa.Table:
    """The rows whose queries have a letter or digit each."""
    for name in columns:
        table = table.filter(pc.match_substring_regex(table.column(name), r"[\p{L}\p{N}]"))
    return table


def changes(*columns: Numbers) -> NDArray[np.bool_]:
    """Mark where any of the columns differs from the row before; the first row does."""
    new = np.zeros(len(columns[0]), np.bool_)
    new[:1] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return new


def keyed_numbers(users: pa.ChunkedArray, key: str) -> NDArray[np.uint64]:
    """Draw for each record 64 bits that depend on its user and the key alone."""
    coded = pc.dictionary_encode(users.combine_chunks() if isinstance(users, pa.ChunkedArray) else users)
    hashed = [
        int.from_bytes(
            hashlib.blake2b(user.as_py().encode(), key=key.encode(), digest_size=8).digest(), "big"
        )
        for user in coded.dictionary
    ]
    found: NDArray[np.uint64] = np.array(hashed, np.uint64)[np.asarray(coded.indices)]
    return found


def fold_of_records(users: pa.ChunkedArray, count: int, seed: int = 0) -> NDArray[np.int64]:
    """The part, from 0, of each record's user."""
    if count < 2:
        raise ParameterError.outside("folds", count, "at least 2")
    return (keyed_numbers(users, f"tacit-folds-{seed}") % np.uint64(count)).astype(np.int64)


def split(
    records: pa.Table, fold: int, count: int, seed: int = 0, sessions: SessionCut = BY_PAUSES
) -> tuple[LogPart, LogPart]:
    """The part to release (all users but those of ``fold``) and the part to test on."""
    part = fold_of_records(records.column("user"), count, seed)
    test = pa.array(part == fold)
    return LogPart(records.filter(pc.invert(test)), sessions), LogPart(records.filter(test), sessions)


def folds(records: pa.Table, count: int = 5, seed: int = 0) -> Iterator[tuple[LogPart, LogPart]]:
    """Yield every split in turn: (to release, to test on)."""
    if not records.num_rows:
        raise InputError("the log has no records, so there is nothing to evaluate.")
    for fold in range(count):
        yield split(records, fold, count, seed)


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
    begins = np.flatnonzero(changes(row, column))
    sums = np.add.reduceat(weight, begins) if len(begins) else weight
    return Weighted(row[begins], column[begins], sums)


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedData:
    """A release as data for the tasks: tables by what they tell (:data:`KINDS`)."""

    tables: Mapping[str, pa.Table]
    whole: bool = False
    """Whether nothing is missing, so that nothing public needs to stand behind it."""

    def __repr__(self) -> str:
        held = ", ".join(f"{table.num_rows:,} {kind}" for kind, table in self.tables.items())
        return f"ReleasedData({held or 'nothing'})"

    @classmethod
    def from_tables(cls, tables: Iterable[pa.Table]) -> ReleasedData:
        """Take tables of key columns and ``count`` (and maybe ``deviation``); two of one kind are refused."""
        found: dict[str, pa.Table] = {}
        for each in tables:
            table = each.drop_columns(sorted(_BESIDE.intersection(each.column_names)))
            kind = KINDS.get(frozenset(table.column_names) - {"count"})
            if kind is None or "count" not in table.column_names:
                known = "; ".join(", ".join(sorted(keys)) for keys in KINDS)
                problem = f"no task can use a table of the columns {', '.join(table.column_names)}."
                raise InputError(problem, f"Known are, each with count: {known}.")
            if kind in found:
                raise InputError(f"the release has two tables of {kind}; one was expected.")
            named = [each for each in ("query", "next_query", "later_query") if each in table.column_names]
            found[kind] = _with_words(table.filter(pc.greater(table.column("count"), 0)), *named)
        return cls(found)

    def only(self, kinds: Collection[str]) -> ReleasedData:
        """The tables of some kinds."""
        return replace(self, tables={kind: t for kind, t in self.tables.items() if kind in kinds})

    @property
    def rows(self) -> int:
        """The rows of all tables: how much was kept."""
        return sum(table.num_rows for table in self.tables.values())

    @cached_property
    def queries(self) -> Vocabulary:
        listed = [pa.chunked_array([pa.array([], pa.string())])]
        for kind, table in self.tables.items():
            for name in ("query", "next_query", "later_query"):
                if name in table.column_names:
                    listed.append(_texts(table, name))
            if kind == "sequences":
                listed.append(pc.list_flatten(table.column("queries")).cast(pa.string()))
        return Vocabulary(pa.chunked_array([chunk for column in listed for chunk in column.chunks]))

    @cached_property
    def urls(self) -> Vocabulary:
        table = self.tables.get("clicks")
        return Vocabulary(pa.array([], pa.string()) if table is None else _texts(table, "url"))

    @cached_property
    def query_counts(self) -> NDArray[np.float64]:
        """Count each query; from clicks and steps where no table of queries was released."""
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
        if (table := self.tables.get("clicks")) is None:
            return Weighted(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        row, column = self.queries.find(_texts(table, "query")), self.urls.find(_texts(table, "url"))
        return add_up(row, column, _counts(table))

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
        best: dict[tuple[str, str], float] = {}
        if "sequences" in self.tables:
            table = self.tables["sequences"]
            for sequence, count in zip(table["queries"].to_pylist(), _counts(table).tolist(), strict=True):
                for pair in combinations(sequence, 2):
                    best[pair] = max(count, best.get(pair, 0.0))
        listed = pa.table({"first": [a for a, _ in best], "second": [b for _, b in best]})
        found = listed.append_column("count", pa.array(best.values(), pa.float64()))
        return self._pairs(found.rename_columns(["query", "later_query", "count"]), "later_query")

    @cached_property
    def keywords(self) -> dict[str, float]:
        """Searches of each word; from the released queries where no words were."""
        if "keywords" in self.tables:
            table = self.tables["keywords"]
            return dict(zip(table.column("keyword").to_pylist(), _counts(table).tolist(), strict=True))
        found: dict[str, float] = {}
        for query, count in zip(self.queries.texts.to_pylist(), self.query_counts.tolist(), strict=True):
            for word in keywords_of(query) if count > 0 else ():
                found[word] = found.get(word, 0.0) + count
        return found


def keywords_of(query: str) -> set[str]:
    """The different words of a query, stop words aside."""
    return set(words(query)) - STOP_WORDS


def _texts(table: pa.Table, name: str) -> pa.ChunkedArray:
    return table.column(name).cast(pa.string())


def _counts(table: pa.Table) -> NDArray[np.float64]:
    return np.asarray(table.column("count")).astype(np.float64)


WINDOW = 10
"""A query counts as coming later in a session up to so many searches after: robots' sessions have no end."""


def released_whole(part: CountedLog, least: int = 1) -> ReleasedData:
    """The log with nothing held back but what fewer than ``least`` users had."""
    tables = part.tables
    if least > 1:
        tables = {kind: t.filter(pc.greater_equal(t.column("count"), least)) for kind, t in tables.items()}
    return ReleasedData(tables)


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
    """Count the users of each (row, column)."""
    order = np.lexsort((column, row, user))
    keys = np.stack([user, row, column])[:, order]
    new = changes(*keys)
    pairs = add_up(keys[1, new], keys[2, new], np.ones(np.count_nonzero(new)))
    return pairs.row, pairs.column, pairs.weight.astype(np.int64)


def _keywords(queries: Vocabulary, asked: Numbers) -> pa.Table:
    """Words by users, from who searched which distinct query."""
    spread = [sorted(keywords_of(query)) for query in queries.texts.to_pylist()]
    listed = pa.array([word for found in spread for word in found], pa.string())
    vocabulary = Vocabulary(listed)
    numbers = vocabulary.find(listed)
    lengths = np.array([len(found) for found in spread], np.int64)
    begins = np.cumsum(lengths) - lengths
    user, query = asked
    row, source = ranges(begins[query], lengths[query])
    found = _users(user[row], numbers[source], np.zeros(len(row), np.int64))
    return _table({"keyword": vocabulary.take(found[0])}, found[2])


def _table(keys: dict[str, pa.Array], counts: Numbers) -> pa.Table:
    return pa.table(keys | {"count": pa.array(counts)})
