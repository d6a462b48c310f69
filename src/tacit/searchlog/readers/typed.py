"""Formats with named columns and typed values: JSON Lines and Parquet, with a column mapping."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tacit.errors import LogError
from tacit.searchlog.readers.protocol import Block, Parsed, Reading, Reason, lines_in_blocks
from tacit.searchlog.readers.records import Written, to_records
from tacit.searchlog.readers.source import Opening, Source
from tacit.searchlog.readers.times import Clock
from tacit.searchlog.schema import COLUMNS


def _as_written(value: Any) -> bytes | None:
    """A string or number as bytes; anything else is no value of a log."""
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value).encode()
    return None


class JsonLinesReader:
    """One object per line, its keys named by the mapping."""

    name = "jsonl"

    def __init__(self, reading: Reading) -> None:
        self._keys = [reading.mapping.names.get(column) for column in COLUMNS]
        self._read_times = reading.read_times

    def placed(self, _opening: Opening) -> dict[str, int]:
        """Objects have names, not places."""
        return {}

    def recognises(self, opening: Opening) -> bool:
        """The first line begins an object."""
        return bool(opening.lines) and opening.lines[0].lstrip().startswith(b"{")

    def blocks(self, source: Source) -> Iterator[Block]:
        """Blocks of whole lines."""
        return lines_in_blocks(source)

    def parse(self, block: Block) -> Parsed:
        """The records of a block of lines."""
        wrong: dict[Reason, list[int]] = {Reason.SYNTAX: [], Reason.ENCODING: []}
        lines: list[int] = []
        rows: list[list[bytes | None]] = []
        blank = 0
        for number, line in enumerate(block.content.split(b"\n")[:-1], start=block.first_line):
            if not line.strip():
                blank += 1
                continue
            try:
                found = json.loads(line.decode("utf-8"))
                row = [_as_written(found.get(key)) for key in self._keys]
            except UnicodeError:
                wrong[Reason.ENCODING].append(number)
            except (ValueError, AttributeError, RecursionError):
                wrong[Reason.SYNTAX].append(number)
            else:
                lines.append(number)
                rows.append(row)
        columns = tuple(pa.array([row[place] for row in rows], pa.binary()) for place in range(len(COLUMNS)))
        bad = [(reason, np.array(numbers, np.int64)) for reason, numbers in wrong.items()]
        return to_records(
            Written(np.array(lines, np.int64), columns), self._read_times, bad, {"blank": blank}
        )


_MAGIC = b"PAR1"
_ROWS = 1 << 17


def _as_written_parquet(column: pa.Array) -> pa.BinaryArray:
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
    return _as_written_parquet(column)


class ParquetReader:
    """Any Parquet file whose columns are named or mapped."""

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
                        _times(stored_column, self._clock)
                        if column == "time"
                        else _as_written_parquet(stored_column)
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
