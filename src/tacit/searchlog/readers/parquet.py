"""Parquet with a column mapping. A row stands for a line: the first row is line 1."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tacit.errors import LogError
from tacit.searchlog.readers.protocol import Block, Parsed
from tacit.searchlog.readers.reading import Reading
from tacit.searchlog.readers.records import Written, to_records
from tacit.searchlog.readers.source import Opening, Source
from tacit.searchlog.readers.time_zone import Clock
from tacit.searchlog.schema import COLUMNS

__all__ = ["ParquetReader"]

_MAGIC = b"PAR1"
_ROWS = 1 << 17


def _as_written(column: pa.Array) -> pa.BinaryArray:
    """Strings and numbers as bytes, as they would stand in a text."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_binary(column.type):
        return column
    if pa.types.is_large_binary(column.type) or pa.types.is_binary_view(column.type):
        return column.cast(pa.binary())
    if pa.types.is_floating(column.type):  # whole numbers with gaps are often stored as floats
        column = pc.if_else(pc.is_nan(column), None, column)
        with contextlib.suppress(pa.ArrowInvalid):
            column = column.cast(pa.int64())
    return column.cast(pa.string()).cast(pa.binary())


def _times(column: pa.Array, clock: Clock) -> pa.Array:
    """Stored times as microseconds since 1970; anything else as it would stand in a text."""
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        finer = pa.types.is_timestamp(column.type) and column.type.unit == "ns"
        target = pa.timestamp("us", getattr(column.type, "tz", None))
        instants = pc.cast(column, target, safe=not finer).cast(pa.int64())
        if clock.zone is None or target.tz is not None:
            return instants
        shown = clock.to_utc(np.asarray(instants.fill_null(0)))
        return pa.array(shown, mask=np.asarray(instants.is_null()))
    return _as_written(column)


class ParquetReader:
    """Any Parquet file whose columns can be told apart."""

    name = "parquet"

    def __init__(self, reading: Reading) -> None:
        self._mapping = reading.mapping
        self._read_times = reading.read_times
        self._clock = reading.clock

    def placed(self, _opening: Opening) -> dict[str, int]:
        """Columns have names, not places."""
        return {}

    def recognises(self, opening: Opening) -> bool:
        """Parquet's mark at the beginning."""
        return opening.head.startswith(_MAGIC)

    def blocks(self, source: Source) -> Iterator[Block]:
        """Batches of rows of the columns that matter."""
        if source.stream is not None:
            raise LogError(
                "the standard input is a Parquet file, which cannot be read as it comes.",
                "Name the file instead.",
            )
        try:
            with pq.ParquetFile(source.path) as file:
                names = file.schema_arrow.names
                if missing := self._mapping.missing(names):
                    raise LogError(
                        f"{source.path} has no column {', '.join(missing)}; it has {', '.join(names)}.",
                        "Say which are which with `columns=user=…,query=…,time=…`.",
                    )
                wanted = [names[place] for place in self._mapping.found_in(names).values()]
                row, rows = 1, max(file.metadata.num_rows, 1)
                for batch in file.iter_batches(_ROWS, columns=wanted):
                    source.bytes_read = source.size * (row + batch.num_rows - 1) // rows
                    yield Block(batch, row, batch.num_rows)
                    row += batch.num_rows
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise LogError(
                f"{source.path} is a damaged Parquet file, or none at all.", "Make it again."
            ) from error

    def parse(self, block: Block) -> Parsed:
        """The records of a batch of rows."""
        batch: pa.RecordBatch = block.content
        columns = []
        names = batch.schema.names
        places = self._mapping.found_in(names)
        for column in COLUMNS:
            if column not in places:
                columns.append(pa.nulls(batch.num_rows, pa.binary()))
            else:
                name, stored_column = names[places[column]], batch.column(places[column])
                try:
                    columns.append(
                        _times(stored_column, self._clock) if column == "time" else _as_written(stored_column)
                    )
                except pa.ArrowException:
                    # Arrow's message may quote a value, so it is not passed on.
                    stored = batch.schema.field(name).type
                    raise LogError(
                        f"the column {name}, of type {stored}, cannot be read as a {column}.",
                        "Convert it to text, numbers or timestamps first.",
                    ) from None
        lines = np.arange(block.first_line, block.first_line + block.lines, dtype=np.int64)
        return to_records(Written(lines, tuple(columns)), self._read_times)
