"""From a log to who holds what: numbers in the place of users and items, each pair once.

All of it is relational work on the engine, without randomness; only numbers leave it. How users and items are
numbered does not influence the release.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.engines import Engine
from tacit.release.contribution import bounded_sessions, items_of, searches_of
from tacit.release.execution import Holdings, Whole
from tacit.release.mechanisms.adaptive import SEQUENCE, HeldItem
from tacit.release.parameters import ITEM_KEYS, Choice, Item

_ALL = 1 << 30
_AS_RECORDED = (HeldItem.QUERIES, HeldItem.CLICKS)
"""Of these a record has one: to drop repetitions costs less once they are numbers."""

_PLACES = tuple(f"query_{place}" for place in range(1, SEQUENCE + 1))


def held_in(log: Any, kind: HeldItem) -> tuple[Any, Sequence[str]]:
    """Make a table with ``user`` and the columns that make a key, and name these columns."""
    if kind is HeldItem.SESSIONS:
        return _prefixes(log), _PLACES
    item = Item(kind.value)
    return items_of(log, item), ITEM_KEYS[item]


def _prefixes(log: Any) -> Any:
    """List the first two, three … queries of each session; places after the end are empty text."""
    sessions = bounded_sessions(searches_of(log), _ALL, SEQUENCE, Choice.FIRST)
    parts = []
    for length in range(2, SEQUENCE + 1):
        long_enough = sessions.filter(sessions[f"query_{length}"].notnull())
        empty = {name: ibis.literal("") for name in _PLACES[length:]}
        parts.append(long_enough.mutate(**empty).select("user", *_PLACES))
    return ibis.union(*parts)


@dataclass(frozen=True)
class Counted:
    """Who holds which items of several kinds, numbered through. Secret."""

    holdings: Holdings  # of all kinds together
    tables: Mapping[str, pa.Table]  # for each kind its keys, by their numbers within the kind
    offsets: Mapping[str, int]  # the number of each kind's first item

    def of_kind(self, table: str, items: NDArray[np.int64]) -> NDArray[np.bool_]:
        first = self.offsets[table]
        return np.asarray((items >= first) & (items < first + self.tables[table].num_rows))

    def keys(self, table: str, items: NDArray[np.int64]) -> pa.Table:
        """The keys of these items, all of one kind, in their order, as the published table shows them."""
        return shown_keys(table, self.tables[table].take(pa.array(items - self.offsets[table])))


def shown_keys(table: str, keys: pa.Table) -> pa.Table:
    """Keys as the published table shows them: a session's prefix is a list of queries."""
    if table != HeldItem.SESSIONS:
        return keys
    listed = [[query for query in row.values() if query] for row in keys.to_pylist()]
    return pa.table({"queries": pa.array(listed, pa.list_(pa.string()))})


def listed_keys(table: str, public: pa.Array) -> pa.Array:
    """The texts of a public list that are items of this table: of keywords those of one word."""
    return public.filter(pc.invert(pc.match_substring(public, " "))) if table == HeldItem.KEYWORDS else public


def read_held(engine: Engine, log: Any, items: Sequence[HeldItem], public: pa.Array | None = None) -> Counted:
    """Read from a log who holds what, users and items as numbers.

    ``public`` texts are items whether anybody holds them or not; of keywords those of one word.
    """
    users = pa.array([], pa.string())
    tables: dict[str, pa.Table] = {}
    offsets: dict[str, int] = {}
    pairs: list[Whole] = []
    words, listed, total = list[Any](), [], 0
    with ThreadPoolExecutor(1) as beside:
        for kind in items:
            rows, key = held_in(log, kind)
            rows = rows.select("user", *key)
            read = engine.table(rows if kind in _AS_RECORDED else rows.distinct())
            coming = beside.submit(encoded, read.column("user"))
            keys, what = _encoded_together(read.select(key))
            names, who = coming.result()
            del read, coming
            users, people = numbered(users, names)
            offsets[kind.value] = total
            pairs.append(people[who] << 32 | what + total)
            if public is not None:
                known = np.zeros(0, np.int64)
                if len(key) == 1:
                    texts, known = numbered(keys.column(0).combine_chunks(), listed_keys(kind, public))
                    keys = pa.table({key[0]: texts})
                on_list = np.zeros(keys.num_rows, np.bool_)
                on_list[known] = True
                listed.append(on_list)
            words.append(beside.submit(words_of, *(keys.column(name) for name in key if name != "url")))
            tables[kind.value] = keys
            total += keys.num_rows
        holdings = _grouped(np.concatenate(pairs))
    holdings = replace(holdings, kinds=total, words=np.concatenate([each.result() for each in words]))
    if public is not None:
        holdings = replace(holdings, listed=np.concatenate(listed))
    return Counted(holdings, tables, offsets)


def encoded(texts: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int32]]:
    """The different texts, and which of them each is."""
    coded = pa.chunked_array(texts, pa.string()).dictionary_encode().combine_chunks()
    return coded.dictionary, np.asarray(coded.indices)


def numbered(known: pa.Array, named: pa.Array) -> tuple[pa.Array, Whole]:
    """Number all names: known ones first, and return the numbers of ``named``, which are all different."""
    places = pc.index_in(named, value_set=known)
    new = named.filter(pc.is_null(places))
    numbers = np.array(pc.fill_null(places, -1), np.int64)
    numbers[numbers < 0] = len(known) + np.arange(len(new))
    return pa.concat_arrays([known, new]), numbers


def _encoded_together(keys: pa.Table) -> tuple[pa.Table, NDArray[np.int32]]:
    """The different keys of one or several texts, and which of them each is."""
    (texts, which), *others = map(encoded, keys.columns)
    columns = [texts]
    for texts, each in others:
        coded = pa.array(which.astype(np.int64) << 32 | each).dictionary_encode()
        different, which = np.asarray(coded.dictionary), np.asarray(coded.indices)
        columns = [column.take(pa.array(different >> 32)) for column in columns]
        columns.append(texts.take(pa.array(different & 0xFFFFFFFF)))
    return pa.table(columns, keys.column_names), which


def each_once(pairs: Whole) -> Whole:
    """Sort packed pairs in their place, and leave repetitions out."""
    pairs.sort()
    return np.asarray(pairs[np.diff(pairs, prepend=-1) > 0])


def words_of(*columns: Any) -> NDArray[np.uint8]:
    """Count how many words the texts of each row have, cut at 255; an empty text has none."""
    spaces = [np.asarray(pc.count_substring(column, " "), np.int64) for column in columns]
    words = sum((1 + n) * np.asarray(pc.not_equal(c, "")) for n, c in zip(spaces, columns, strict=True))
    return np.asarray(np.minimum(words, 255), np.uint8)


def number_of_words(keys: Any, columns: Sequence[str]) -> Any:
    """Count how many words each item's queries have, cut at 255; urls do not count."""
    total = ibis.literal(0)
    for column in (keys[name] for name in columns if name != "url"):
        gaps = column.length() - column.replace(" ", "").length()
        total += ibis.ifelse(column == "", 0, gaps + 1)
    return total.clip(upper=255)


def _grouped(pairs: Whole) -> Holdings:
    """Group packed pairs by holder, each holder's in the order of their numbers, each once."""
    pairs = each_once(pairs)
    starts = np.concatenate([[0], np.cumsum(np.bincount(pairs >> 32))]).astype(np.int64)
    return Holdings(starts, pairs.astype(np.int32), 0)
