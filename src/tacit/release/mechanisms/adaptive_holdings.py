"""From a log to who holds what: numbers in the place of users and items, each pair once.

All of it is relational work on the engine, without randomness; only numbers leave it. How users and items are
numbered does not influence the release.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.release.contribution import bounded_sessions, items_of, searches_of
from tacit.release.engines import Engine
from tacit.release.execution import Holdings
from tacit.release.mechanisms.adaptive import SEQUENCE, HeldItem
from tacit.release.parameters import ITEM_KEYS, Choice, Item

_ALL = 1 << 30
_READ_AGAIN = (HeldItem.QUERIES, HeldItem.CLICKS)
"""Reading these from the log once more costs less than keeping them."""

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
    held = {kind.value: held_in(log, kind) for kind in items}
    for name in held.keys() - set(_READ_AGAIN):
        rows, key = held[name]
        held[name] = engine.keep(rows.select("user", *key).distinct()), key
    first, *others = (rows.select("user") for rows, _ in held.values())
    holders = first.union(*others) if others else first
    users = engine.keep(holders.distinct().mutate(holder=ibis.row_number().cast("int32")))
    tables: dict[str, pa.Table] = {}
    offsets: dict[str, int] = {}
    pairs: list[NDArray[np.int64]] = []
    words, listed, total = [], [], 0
    for name, (there, key) in held.items():
        rows = there.join(users, "user").select(*key, "holder", public=False)
        if public is not None and len(key) == 1:
            named = engine.load(pa.table({key[0]: listed_keys(name, public)}))
            rows = rows.union(named.select(key[0], holder=ibis.null("int32"), public=True))
        grouped = rows.group_by(key).aggregate(holders=rows.holder.collect(), public=rows.public.any())
        grouped = grouped.mutate(words=number_of_words(grouped, key).cast("uint8"))
        offsets[name], batches = total, []
        for batch in engine.batches(grouped):
            pairs.append(_unfolded(batch.column("holders"), total))
            words.append(np.asarray(batch.column("words")))
            listed.append(np.asarray(batch.column("public")))
            batches.append(batch.select(key))
            total += batch.num_rows
        tables[name] = pa.Table.from_batches(batches, grouped.select(*key).schema().to_pyarrow())
        if name not in _READ_AGAIN:
            engine.drop(there)
    engine.drop(users)
    holdings = _grouped(pairs, np.concatenate([np.zeros(0, np.uint8), *words]))
    if public is not None:
        holdings = replace(holdings, listed=np.concatenate(listed))
    return Counted(holdings, tables, offsets)


def number_of_words(keys: Any, columns: Sequence[str]) -> Any:
    """Count how many words each item's queries have, cut at 255; urls do not count."""
    total = ibis.literal(0)
    for column in (keys[name] for name in columns if name != "url"):
        gaps = column.length() - column.replace(" ", "").length()
        total += ibis.ifelse(column == "", 0, gaps + 1)
    return total.clip(upper=255)


def _unfolded(holders: pa.Array, first: int) -> NDArray[np.int64]:
    """Pack each pair of an item (from ``first``) and a holder into one number, the fastest to sort."""
    held = np.repeat(np.arange(first, first + len(holders)), np.diff(np.asarray(holders.offsets)))
    return np.asarray(holders.flatten()).astype(np.int64) << 32 | held


def _grouped(parts: list[NDArray[np.int64]], words: NDArray[np.uint8]) -> Holdings:
    """Group pairs by holder, each holder's in the order of their numbers, each once."""
    pairs = np.concatenate([np.zeros(0, np.int64), *parts])
    parts.clear()
    pairs.sort()
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    starts = np.concatenate([[0], np.cumsum(np.bincount(pairs >> 32))]).astype(np.int64)
    return Holdings(starts, pairs.astype(np.int32), words.size, words)
