"""Carrying out a schedule: the only code that draws noise for a release and compares with a threshold.

All noise is integer (:mod:`tacit.privacy.noise.samplers`), drawn independently for each key, and compared
with whole
thresholds: ``count + X >= least``. A strict comparison with K is ``least = K + 1``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.privacy.noise.randomness import RandomSource
from tacit.privacy.noise.samplers import bernoulli, discrete_laplace
from tacit.release.schedule import Keys, Noise, NoiseKind, Part, Schedule

Tables = dict[str, pa.Table]
"""What is published: tables by name, each with its key columns and ``count``."""

Rows = Callable[[Part, Mapping[str, pa.Table]], Iterable[pa.RecordBatch]]
"""The keys of a part with their true counts, given the tables published before it. Secret.

Columns: those that make a key, ``count``, and where the part takes both kinds of keys ``public``.
"""

_SAMPLERS = {NoiseKind.LAPLACE: discrete_laplace}
_NOT_KEYS = ("count", "public")


@dataclass(frozen=True)
class Passed:
    """Keys that passed, with their counts: secret ones, and as they were compared."""

    keys: pa.Table
    true: NDArray[np.int64]
    noisy: NDArray[np.int64]


def execute(
    schedule: Schedule,
    rows: Rows,
    source: RandomSource,
    shown: Callable[[Part, pa.Table], pa.Table] = lambda _, keys: keys,
) -> Tables:
    """Draw, compare and publish, part by part.

    Args:
        schedule: what is drawn and compared.
        rows: the keys of each part with their true counts.
        source: of the random bits.
        shown: keys that passed, as the table shows them.
    """
    tables: Tables = {}
    for part in schedule:
        passed = _within(part, pass_threshold(part, rows(part, tables), source), tables)
        counts = passed.noisy
        if part.fresh is not None:
            counts = passed.true + draw(part.fresh, len(passed.true), source)
        keys = shown(part, passed.keys) if len(counts) else _schema(part).empty_table()
        keys = keys.cast(_schema(part))
        tables[part.table] = in_order(keys.append_column("count", pa.array(counts, pa.int64())))
    return tables


def _within(part: Part, passed: Passed, tables: Mapping[str, pa.Table]) -> Passed:
    """Of the keys that passed, those that may be shown: with a key of an earlier table that was published.

    The guarantee rests on it, so it is done here, whatever rows a mechanism gives.
    """
    shown = np.ones(len(passed.true), np.bool_)
    for column, table in part.within:
        known = tables[table].column(0).combine_chunks()
        shown &= np.asarray(pc.is_in(passed.keys.column(column), value_set=known), np.bool_)
    if shown.all():
        return passed
    return Passed(passed.keys.filter(pa.array(shown)), passed.true[shown], passed.noisy[shown])


def draw(noise: Noise | None, size: int, source: RandomSource) -> NDArray[np.int64]:
    """Noise for ``size`` keys; zeros where there is none."""
    if noise is None:
        return np.zeros(size, np.int64)
    return _SAMPLERS[noise.kind](noise.scale, size, source)


def pass_threshold(part: Part, batches: Iterable[pa.RecordBatch], source: RandomSource) -> Passed:
    """Add noise to the counts of all keys that take part; keep those that reach the threshold."""
    kept, true, noisy = [], [], []
    for batch in batches:
        names = [name for name in batch.schema.names if name not in _NOT_KEYS]
        counts = _whole(batch.column("count"))
        compared = np.where(counts >= part.minimum, counts, 0)
        rows = np.flatnonzero(_taking_part(part, batch, compared, source))
        values = compared[rows] + draw(part.noise, len(rows), source)
        if part.least is not None:
            passing = values >= part.least
            rows, values = rows[passing], values[passing]
        if rows.size:
            kept.append(pa.Table.from_batches([batch]).select(names).take(pa.array(rows)))
            true.append(counts[rows])
            noisy.append(values)
    if not kept:
        nothing = np.empty(0, np.int64)
        return Passed(_schema(part).empty_table(), nothing, nothing)
    keys = pa.concat_tables([table.cast(_plain(table.schema)) for table in kept])
    return Passed(keys, np.concatenate(true), np.concatenate(noisy))


def _taking_part(
    part: Part, batch: pa.RecordBatch, compared: NDArray[np.int64], source: RandomSource
) -> NDArray[np.bool_]:
    """Secret keys that occur often enough; public ones always, or by chance where their count is 0."""
    occurring = compared >= max(1, part.minimum)
    if part.keys is Keys.OCCURRING:
        return occurring
    public = np.ones(len(compared), np.bool_)
    if part.keys is Keys.BOTH:
        public = np.asarray(batch.column("public"))
    idle = np.flatnonzero(public & ~occurring)
    taking = occurring.copy()
    taking[idle] = bernoulli(part.chance, len(idle), source)
    return taking


def in_order(table: pa.Table) -> pa.Table:
    """Sorted by count, largest first, then by key; lists of queries compare by their text.

    The order tells nothing more than the table.
    """
    order = [("count", "descending")]
    by = table
    for name in table.schema.names[:-1]:
        column = table.column(name)
        if pa.types.is_list(column.type):
            by = by.set_column(by.schema.get_field_index(name), name, pc.binary_join(column, "\x00"))
        order.append((name, "ascending"))
    return table.take(pc.sort_indices(by, sort_keys=order)).combine_chunks()


def column_types(part: Part) -> Sequence[tuple[str, pa.DataType]]:
    """The key columns of a published table."""
    return [
        (column.name, pa.list_(pa.string()) if column.several else pa.string()) for column in part.columns
    ]


def _schema(part: Part) -> pa.Schema:
    """Key columns are text, or lists of text, and never null."""
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in column_types(part)])


def _plain(schema: pa.Schema) -> pa.Schema:
    """The same columns without dictionaries."""
    return pa.schema([(field.name, pa.string()) for field in schema])


def _whole(column: pa.Array) -> NDArray[np.int64]:
    return np.asarray(column.cast(pa.int64()))
