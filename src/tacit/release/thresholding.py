"""Noisy counts and who passes: the step that every mechanism with noise shares.

All noise is integer (:mod:`tacit.privacy.noise`), drawn independently for each key, and compared with whole
thresholds: ``count + X >= least``. A strict comparison with K is ``least = K + 1``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.privacy.noise import discrete_laplace
from tacit.privacy.randomness import RandomSource

__all__ = ["Selected", "in_order", "publish", "select"]


@dataclass(frozen=True)
class Selected:
    """Keys that passed, with their counts: secret ones, and as they were compared."""

    keys: pa.Table
    true: NDArray[np.int64]
    noisy: NDArray[np.int64]


def select(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, scale: float, least: int, source: RandomSource
) -> Selected:
    """Add noise to the column ``count`` of every row; keep the rows where the sum is at least ``least``.

    Args:
        batches: rows with the key columns of ``schema`` and ``count``; maybe ``eligible``, the count that is
            compared where it is not ``count``.
        schema: the key columns.
        scale: of the noise; 0 switches it off.
        least: the least noisy count that passes.
        source: of the random bits.
    """
    kept, true, noisy = [], [], []
    for batch in batches:
        counts = _whole(batch.column("count"))
        compared = _whole(batch.column("eligible")) if "eligible" in batch.schema.names else counts
        values = compared + discrete_laplace(scale, len(counts), source)
        passing = np.flatnonzero(values >= least)
        if passing.size:
            kept.append(batch.select(schema.names).take(pa.array(passing)).cast(schema))
            true.append(counts[passing])
            noisy.append(values[passing])
    empty = np.empty(0, np.int64)
    return Selected(
        pa.Table.from_batches(kept, schema),
        np.concatenate(true) if true else empty,
        np.concatenate(noisy) if noisy else empty,
    )


def publish(selected: Selected, scale: float | None, source: RandomSource) -> pa.Table:
    """The keys with their counts under fresh noise (or, where ``scale`` is None, as they were compared).

    The order is by published count, then by key: it tells nothing more.
    """
    counts = selected.noisy
    if scale is not None:
        counts = selected.true + discrete_laplace(scale, len(selected.true), source)
    table = selected.keys.append_column("count", pa.array(counts, pa.int64()))
    return in_order(table, selected.keys.schema.names)


def in_order(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Sorted by count, largest first, then by key; lists of queries compare by their text."""
    order = [("count", "descending")]
    by = table
    for name in keys:
        column = table.column(name)
        if pa.types.is_list(column.type):
            by = by.set_column(by.schema.get_field_index(name), name, pc.binary_join(column, "\x00"))
        order.append((name, "ascending"))
    return table.take(pc.sort_indices(by, sort_keys=order)).combine_chunks()


def _whole(column: pa.Array) -> NDArray[np.int64]:
    return np.asarray(column.cast(pa.int64()))
