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
_PLACES = tuple(f"query_{place}" for place in range(1, SEQUENCE + 1))


def held_in(log: Any, kind: HeldItem) -> tuple[Any, Sequence[str]]:
    """A table with ``user`` and the columns that make a key, and the names of these columns."""
    if kind is HeldItem.SESSIONS:
        return _prefixes(log), _PLACES
    item = Item(kind.value)
    return items_of(log, item), ITEM_KEYS[item]


def _prefixes(log: Any) -> Any:
    """The first two, three … queries of each session; places after the end are empty text."""
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
    # for each kind the engine's table of keys, with the number ``item`` of each within its kind
    tables: Mapping[str, Any]
    offsets: Mapping[str, int]  # the number of each kind's first item
    engine: Engine  # where the tables are

    def of_kind(self, table: str, items: NDArray[np.int64]) -> NDArray[np.bool_]:
        first = self.offsets[table]
        following = [other for other in self.offsets.values() if other > first]
        return (items >= first) & (items < min(following, default=self.holdings.kinds))

    def keys(self, table: str, items: NDArray[np.int64]) -> pa.Table:
        """The keys of these items, all of one kind, in their order, as the published table shows them."""
        numbers = pa.array(items - self.offsets[table], pa.int64())
        wanted = self.engine.load(pa.table({"item": numbers, "place": np.arange(items.size)}))
        found = self.engine.table(wanted.join(self.tables[table], "item").order_by("place"))
        self.engine.drop(wanted)
        return shown_keys(table, found.drop_columns(["item", "place"]))


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
    """Say who holds what in a log, users and items as numbers.

    ``public`` texts are items whether anybody holds them or not; of keywords those of one word.
    """
    kinds = {kind.value: held_in(log, kind) for kind in items}
    pairs = {
        name: engine.keep(table.select("user", *columns).distinct())
        for name, (table, columns) in kinds.items()
    }
    first, *others = (table.select("user") for table in pairs.values())
    holders = first.union(*others) if others else first
    users = engine.keep(holders.distinct().mutate(holder=ibis.row_number()))
    keys: dict[str, Any] = {}
    offsets: dict[str, int] = {}
    columns: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    words: list[NDArray[np.uint8]] = []
    listed: list[NDArray[np.bool_]] = []
    total = 0
    for name, (_, key) in kinds.items():
        there = pairs[name].select(*key).distinct().mutate(public=False)
        if public is not None and len(key) == 1:
            named = engine.load(pa.table({key[0]: listed_keys(name, public)}))
            there = there.anti_join(named, key[0]).union(named.select(key[0]).mutate(public=True))
        keys[name] = engine.keep(there.mutate(item=ibis.row_number()))
        described = keys[name].select("item", "public", words=number_of_words(keys[name], key))
        words.append(_by_item(found := engine.table(described), "words", np.uint8))
        listed.append(_by_item(found, "public", np.bool_))
        keys[name] = keys[name].drop("public")
        numbered = pairs[name].join(keys[name], list(key)).join(users, "user")
        numbers = numbered.select(
            holder=numbered.holder.cast("int32"), item=(numbered.item + total).cast("int32")
        )
        columns.append(_columns(engine, numbers))
        engine.drop(pairs[name])
        offsets[name] = total
        total += words[-1].size
    people = int(engine.table(users.count().name("n").as_table()).column("n")[0].as_py())
    engine.drop(users)
    holdings = _grouped(columns, people, np.concatenate(words))
    if public is not None:
        holdings = replace(holdings, listed=np.concatenate(listed))
    return Counted(holdings, keys, offsets, engine)


def number_of_words(keys: Any, columns: Sequence[str]) -> Any:
    """Count how many words each item's queries have, cut at 255; urls do not count."""
    total = ibis.literal(0)
    for column in (keys[name] for name in columns if name != "url"):
        gaps = column.length() - column.replace(" ", "").length()
        total += ibis.ifelse(column == "", 0, gaps + 1)
    return total.clip(upper=255)


def _by_item(described: pa.Table, column: str, kind: Any) -> NDArray[Any]:
    """A column of what is said of each item, in the order of their numbers."""
    found = np.zeros(described.num_rows, kind)
    found[np.asarray(described.column("item"))] = np.asarray(described.column(column))
    return found


def _columns(engine: Engine, numbers: Any) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    holders, items = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for batch in engine.batches(numbers):
        holders.append(np.asarray(batch.column("holder")))
        items.append(np.asarray(batch.column("item")))
    return np.concatenate(holders), np.concatenate(items)


def _grouped(
    columns: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]],
    people: int,
    words: NDArray[np.uint8],
) -> Holdings:
    """Pairs by holder, each holder's in the order of their numbers."""
    holders = np.concatenate([holder for holder, _ in columns])
    items = np.concatenate([item for _, item in columns])
    starts = np.concatenate([[0], np.cumsum(np.bincount(holders, minlength=people))]).astype(np.int64)
    pairs = holders.astype(np.int64) << 32 | items  # one number for each: the fastest to sort
    pairs.sort()
    return Holdings(starts, pairs.astype(np.int32), words.size, words)
