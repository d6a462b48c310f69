"""From a log to who holds what: numbers in the place of users and items, each pair once.

Nothing of it is random, and how users and items are numbered does not influence the release.
"""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.engines import Engine
from tacit.release.execution import Holdings, Whole
from tacit.release.mechanisms.adaptive import HELD_COLUMNS, HeldItem
from tacit.release.weights import blocks
from tacit.row_groups import encoded, times_in

AS_RECORDED = {HeldItem.QUERIES, HeldItem.CLICKS}
"""Of these a record has one: to drop repetitions costs less once they are numbers."""


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


def read_held(
    engine: Engine | None, log: Any, items: Sequence[HeldItem], public: pa.Array | None = None
) -> Counted:
    """Read who holds what, users and items as numbers, from a log or by a function that reads its columns.

    ``public`` texts are items whether anybody holds them or not; of keywords those of one word.
    """
    users = pa.array([], pa.string())
    tables: dict[str, pa.Table] = {}
    offsets: dict[str, int] = {}
    pairs: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    words, listed, total = list[Any](), [], 0
    with ThreadPoolExecutor(1) as beside:
        for kind in items:
            read = _held_rows(engine, log, kind)
            key = read.column_names[1:]
            coming = beside.submit(encoded, read.column("user"))
            keys, what = _encoded_together(read.select(key))
            names, who = coming.result()
            del read, coming
            users, people = numbered(users, names)
            offsets[kind.value] = total
            if total:  # the first are numbered as they are
                who, what = people.astype(np.int32)[who], what + np.int32(total)
            pairs.append((who, what))
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
        who, what = (
            (np.concatenate(each) for each in zip(*pairs, strict=True)) if len(pairs) > 1 else pairs[0]
        )
        holdings = _grouped(who, what, len(users))
    holdings = replace(holdings, kinds=total, words=np.concatenate([each.result() for each in words]))
    if public is not None:
        holdings = replace(holdings, listed=np.concatenate(listed))
    return Counted(holdings, tables, offsets)


def _held_rows(engine: Any, log: Any, kind: HeldItem) -> pa.Table:
    """Read the users and the keys of what they hold, some of them several times."""
    if callable(log):
        read = log(["user", *HELD_COLUMNS[kind]])
        return read if kind is HeldItem.QUERIES else read.filter(read.column("url").is_valid())
    from tacit.release.mechanisms.adaptive_relational import held_in

    rows, key = held_in(log, kind)
    rows = rows.select("user", *key)
    return engine.table(rows if kind in AS_RECORDED else rows.distinct())


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
    new = np.ones(pairs.size, np.bool_)
    np.not_equal(pairs[1:], pairs[:-1], out=new[1:])
    return np.asarray(pairs[np.flatnonzero(new)])


def words_of(*columns: Any) -> NDArray[np.uint8]:
    """Count how many words the texts of each row have, cut at 255; an empty text has none."""
    texts = [pa.concat_arrays(each.chunks) if isinstance(each, pa.ChunkedArray) else each for each in columns]
    words = sum((1 + times_in(each, " ")) * (np.asarray(pc.binary_length(each)) > 0) for each in texts)
    return np.asarray(np.minimum(words, 255), np.uint8)


def _grouped(who: NDArray[np.int32], what: NDArray[np.int32], users: int) -> Holdings:
    """Group items by holder, each holder's in the order of their numbers, each once."""
    if (who[1:] < who[:-1]).any():
        what = what[np.argsort(who, kind="stable")]
    every = np.concatenate([[0], np.cumsum(np.bincount(who, minlength=users))]).astype(np.int64)

    def once(block: tuple[slice, slice, Whole]) -> tuple[NDArray[np.int32], Whole]:
        _, rows, sizes = block
        pairs = each_once(np.repeat(np.arange(sizes.size), sizes) << 32 | what[rows])
        return pairs.astype(np.int32), np.bincount(pairs >> 32, minlength=sizes.size)

    with ThreadPoolExecutor(os.cpu_count()) as workers:
        found = [(what[:0], every[:0]), *workers.map(once, blocks(every))]
    items, sizes = (np.concatenate(each) for each in zip(*found, strict=True))
    return Holdings(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), items, 0)
