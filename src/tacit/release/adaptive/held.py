"""What users hold in a log, by kind: tables of (user, key columns), for
:mod:`tacit.release.adaptive.holdings`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis
import pyarrow as pa

from tacit.release.adaptive.parameters import SEQUENCE, HeldItem
from tacit.release.contribution import bounded_sessions, searches_of
from tacit.release.item_kinds import ITEM_KEYS, Item
from tacit.release.items import items_of
from tacit.release.parameters import Choice

__all__ = ["held_in", "shown_keys"]

_ALL = 1 << 30
_PLACES = tuple(f"query_{place}" for place in range(1, SEQUENCE + 1))


def held_in(log: Any, kind: HeldItem) -> tuple[Any, Sequence[str]]:
    """A table with ``user`` and the columns that make a key, and the names of these columns."""
    if kind is HeldItem.SESSIONS:
        return _beginnings(log), _PLACES
    item = Item(kind.value)
    return items_of(log, item), ITEM_KEYS[item]


def _beginnings(log: Any) -> Any:
    """The first two, three … queries of each session; places after the end are empty text."""
    sessions = bounded_sessions(searches_of(log), _ALL, SEQUENCE, Choice.FIRST)
    parts = []
    for length in range(2, SEQUENCE + 1):
        long_enough = sessions.filter(sessions[f"query_{length}"].notnull())
        empty = {name: ibis.literal("") for name in _PLACES[length:]}
        parts.append(long_enough.mutate(**empty).select("user", *_PLACES))
    return ibis.union(*parts)


def shown_keys(kind: HeldItem, keys: pa.Table) -> pa.Table:
    """Keys as their published table shows them: a session's beginning is a list of queries."""
    if kind is not HeldItem.SESSIONS:
        return keys
    listed = [[query for query in row.values() if query] for row in keys.to_pylist()]
    return pa.table({"queries": pa.array(listed, pa.list_(pa.string()))})
