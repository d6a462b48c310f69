"""Tables with named columns and typed values: Parquet files, and SQLite and DuckDB databases."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tacit.errors import LogError
from tacit.searchlog.readers.protocol import Block, Parsed, Reader, Reading
from tacit.searchlog.readers.records import Written, to_records
from tacit.searchlog.readers.source import Opening, Source
from tacit.searchlog.readers.times import Clock
from tacit.searchlog.schema import COLUMNS

_ROWS = 1 << 17
_Ask = Callable[[str], Any]
"""Asks a database and gives a cursor."""


def _as_written(column: pa.Array) -> pa.BinaryArray:
    """Strings and numbers as bytes, as they would stand in a text."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if any(of(column.type) for of in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)):
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


class TableReader(Reader):
    """A table whose columns are named or mapped."""

    _begins: bytes
    _begins_at = 0

    def recognises(self, opening: Opening) -> bool:
        return opening.head.startswith(self._begins, self._begins_at)

    def held(self, source: Source) -> dict[str, str]:
        """List what each column of the table holds."""
        raise NotImplementedError

    def seen(self, source: Source) -> Iterator[tuple[str, str, str | None]]:
        """List each column of the table, what it holds, and which column of the log it becomes."""
        held = self.held(source)
        taken = {place: column for column, place in self._wanted(source, list(held)).items()}
        for place, (name, holds) in enumerate(held.items()):
            yield name, holds, taken.get(place)

    def _wanted(self, source: Source, names: Sequence[str]) -> dict[str, int]:
        if missing := self.reading.mapping.missing(names):
            problem = f"{source.path} has no column {', '.join(missing)}; it has {', '.join(names)}."
            raise LogError(problem, "Say which are which with `columns=user=…,query=…,time=…`.")
        return self.reading.mapping.found_in(names)

    def _file(self, source: Source) -> Path:
        if source.stream is not None:
            problem = f"the standard input is a {self.name} file, which cannot be read as it comes."
            raise LogError(problem, "Name the file instead.")
        return source.path

    def parse(self, block: Block) -> Parsed:
        batch: pa.RecordBatch = block.content
        places = self.reading.mapping.found_in(batch.schema.names)
        columns = []
        for column in COLUMNS:
            if column not in places:
                columns.append(pa.nulls(batch.num_rows, pa.binary()))
                continue
            stored = batch.column(places[column])
            try:
                timed = column == "time"
                columns.append(_times(stored, self.reading.clock) if timed else _as_written(stored))
            except pa.ArrowException:
                # Arrow's message may quote a value, so it is not passed on.
                name = batch.schema.names[places[column]]
                problem = f"the column {name}, of type {stored.type}, cannot be read as a {column}."
                raise LogError(problem, "Convert it to text, numbers or timestamps first.") from None
        lines = np.arange(block.first_line, block.first_line + block.lines, dtype=np.int64)
        return to_records(Written(lines, tuple(columns), typed=True), self.reading)


class ParquetReader(TableReader):
    """Any Parquet file."""

    name = "parquet"
    _begins = b"PAR1"

    def held(self, source: Source) -> dict[str, str]:
        try:
            schema = pq.read_schema(self._file(source))
        except (pa.ArrowException, OSError) as error:
            raise LogError(f"{source.path} is a damaged Parquet file.", "Make it again.") from error
        return {field.name: f"values of type {field.type}" for field in schema}

    def blocks(self, source: Source) -> Iterator[Block]:
        try:
            with pq.ParquetFile(self._file(source)) as file:
                names = file.schema_arrow.names
                wanted = [names[place] for place in self._wanted(source, names).values()]
                row, rows = 1, max(file.metadata.num_rows, 1)
                for batch in file.iter_batches(_ROWS, columns=wanted):
                    source.bytes_read = source.size * (row + batch.num_rows - 1) // rows
                    yield Block(batch, row, batch.num_rows)
                    row += batch.num_rows
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            problem = f"{source.path} is a damaged Parquet file, or none at all."
            raise LogError(problem, "Make it again.") from error


class DatabaseReader(TableReader):
    """A table or view of a database in one file, SQLite's or DuckDB's: the one named, or the only one that
    has the columns of a log.
    """

    def __init__(self, name: str, reading: Reading) -> None:
        super().__init__(reading)
        self.name = name
        self._begins, self._begins_at = {"sqlite": (b"SQLite format 3\0", 0), "duckdb": (b"DUCK", 8)}[name]

    @contextlib.contextmanager
    def _opened(self, source: Source) -> Iterator[tuple[_Ask, dict[str, dict[str, str]]]]:
        """A way to ask the database, and the columns of its tables with their types."""
        path = self._file(source).resolve()
        try:
            if self.name == "sqlite":
                opened: Any = contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True))
                listed = (
                    "select t.name, c.name, c.type from sqlite_master t, pragma_table_info(t.name) c"
                    " where t.type in ('table', 'view') and t.name not like 'sqlite~_%' escape '~'"
                )
            else:
                import duckdb

                opened = duckdb.connect(str(path), read_only=True)
                listed = "select table_name, column_name, data_type from duckdb_columns() where not internal"
            with opened as database:
                tables: dict[str, dict[str, str]] = {}
                for table, column, kind in database.execute(listed).fetchall():
                    tables.setdefault(table, {})[column] = kind or "any"
                yield database.execute, tables
        except Exception as error:
            if isinstance(error, LogError) or type(error).__module__ not in ("sqlite3", "_duckdb", "duckdb"):
                raise
            # The engine's message may quote a value, so it is not passed on.
            remedy = "Close what is writing to it, or export the table as CSV or Parquet."
            raise LogError(f"{source.path} is a {self.name} database that cannot be read.", remedy) from None

    def _chosen(self, source: Source, tables: dict[str, dict[str, str]]) -> str:
        asked = self.reading.table
        fitting = [name for name, held in tables.items() if not self.reading.mapping.missing(list(held))]
        if asked in tables or (asked is None and len(fitting) == 1):
            return asked or fitting[0]
        named = "; ".join(f"{name} ({', '.join(columns)})" for name, columns in tables.items()) or "none"
        has = f"no table {asked}" if asked else f"{len(fitting)} tables with the columns of a log"
        remedy = "Name one with `table`, and its columns with `columns=user=…,query=…,time=…`."
        raise LogError(f"{source.path} has {has}. Its tables: {named}.", remedy)

    def held(self, source: Source) -> dict[str, str]:
        with self._opened(source) as (_, tables):
            columns = tables[self._chosen(source, tables)]
        return {name: f"values of type {kind}" for name, kind in columns.items()}

    def blocks(self, source: Source) -> Iterator[Block]:
        with self._opened(source) as (ask, tables):
            table = self._chosen(source, tables)
            names = list(tables[table])
            wanted = [names[place] for place in self._wanted(source, names).values()]
            rows = ask(f"select {', '.join(map(_quoted, wanted))} from {_quoted(table)}")
            first = 1
            while found := rows.fetchmany(_ROWS):
                batch = pa.RecordBatch.from_arrays(
                    [pa.array(map(_stored, column), pa.binary()) for column in zip(*found, strict=True)],
                    wanted,
                )
                yield Block(batch, first, batch.num_rows)
                first += batch.num_rows
            source.bytes_read = source.size


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _stored(value: Any) -> bytes | None:
    """A value of a database as it would stand in a text."""
    if value is None or isinstance(value, bytes):
        return value
    return (value.isoformat(" ") if isinstance(value, datetime) else str(value)).encode()
