"""From a log to who holds what: numbers in the place of users and items, each pair once.

All of it is relational work on the engine, without randomness; only numbers leave it. How users and items are
numbered does not influence the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
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
    """Who holds which items of several kinds, numbered through. Secret.

    Args:
        holdings: of all kinds together.
        tables: for each kind the engine's table of keys, with the number ``item`` of each within its kind.
        offsets: the number of each kind's first item.
        engine: where the tables are.
    """

    holdings: Holdings
    tables: Mapping[str, Any]
    offsets: Mapping[str, int]
    engine: Engine

    def of_kind(self, table: str, items: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the items are of this kind."""
        first = self.offsets[table]
        following = [other for other in self.offsets.values() if other > first]
        return (items >= first) & (items < min(following, default=self.holdings.kinds))

    def keys(self, table: str, items: NDArray[np.int64]) -> pa.Table:
        """The keys of these items, all of one kind, in their order, as the published table shows them.

        A session's prefix is a list of queries.
        """
        numbers = pa.array(items - self.offsets[table], pa.int64())
        wanted = self.engine.load(pa.table({"item": numbers, "place": np.arange(items.size)}))
        found = self.engine.table(wanted.join(self.tables[table], "item").order_by("place"))
        self.engine.drop(wanted)
        keys = found.drop_columns(["item", "place"])
        if table != HeldItem.SESSIONS:
            return keys
        listed = [[query for query in row.values() if query] for row in keys.to_pylist()]
        return pa.table({"queries": pa.array(listed, pa.list_(pa.string()))})


def read_held(engine: Engine, log: Any, items: Sequence[HeldItem]) -> Counted:
    """Who holds what in a log, users and items as numbers."""
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
    total = 0
    for name, (_, key) in kinds.items():
        listed = pairs[name].select(*key).distinct()
        keys[name] = engine.keep(listed.mutate(item=ibis.row_number()))
        numbered = pairs[name].join(keys[name], list(key)).join(users, "user")
        numbers = numbered.select(
            holder=numbered.holder.cast("int32"), item=(numbered.item + total).cast("int32")
        )
        columns.append(_columns(engine, numbers))
        engine.drop(pairs[name])
        offsets[name] = total
        total += int(engine.table(keys[name].count().name("n").as_table()).column("n")[0].as_py())
    people = int(engine.table(users.count().name("n").as_table()).column("n")[0].as_py())
    engine.drop(users)
    return Counted(_grouped(columns, people, total), keys, offsets, engine)


def _columns(engine: Engine, numbers: Any) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    holders, items = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for batch in engine.batches(numbers):
        holders.append(np.asarray(batch.column("holder")))
        items.append(np.asarray(batch.column("item")))
    return np.concatenate(holders), np.concatenate(items)


def _grouped(
    columns: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]], people: int, total: int
) -> Holdings:
    """Pairs sorted by holder."""
    holders = np.concatenate([holder for holder, _ in columns])
    items = np.concatenate([item for _, item in columns])
    order = np.argsort(holders, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(holders, minlength=people))]).astype(np.int64)
    return Holdings(starts, items[order], total)
