"""The model of a search log, and its file: who searched for what and when, and what was clicked.

A **record** is one row of the log: a query without a click, or one click on a result of a query. A
query with two clicks is two records with the same user, query and time, as in AOL's log. Logs are kept in
Parquet with the five columns of :data:`SCHEMA`, in row groups of a fixed size.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.errors import LogError
from tacit.row_groups import work_through

SCHEMA = pa.schema(
    [
        pa.field("user", pa.string(), nullable=False),
        pa.field("query", pa.string(), nullable=False),
        pa.field("time", pa.timestamp("us"), nullable=False),
        pa.field("rank", pa.int32()),
        pa.field("url", pa.string()),
    ]
)
"""user, query, time (UTC, no zone); rank (from 1) and url only with a click, which has one of them or
both.
"""

COLUMNS = tuple(SCHEMA.names)

WORDLESS = "-"
"""The query of a request without words, as AOL's log writes it: kept and counted, but no search."""


def check_log(path: str | Path) -> Path:
    """Make sure ``path`` is a search log in canonical Parquet; give it back as a Path."""
    path = Path(path)
    if not path.is_file():
        raise LogError(f"there is no search log at {path}.", "Make one with `tacit import` or `tacit synth`.")
    try:
        found = pq.read_schema(path)
    except (pa.ArrowInvalid, OSError) as error:
        if begins_as_parquet(path):
            raise LogError(
                f"{path} is a damaged Parquet file: it begins as one, but cannot be read.",
                "Its copy or download may have been cut short; copy it again, or make it again.",
            ) from error
        raise LogError(f"{path} is not a Parquet file.", "Bring it in with `tacit import` first.") from error
    if not _has_columns(found):
        columns = ", ".join(f"{field.name}: {field.type}" for field in found)
        problem = f"{path} holds the columns ({columns}), not those of a search log ({', '.join(COLUMNS)})."
        raise LogError(problem, "Bring it in with `tacit import`, which takes a column mapping.")
    # Every record has a user, a query and a time: what a file may leave open is looked up in it.
    needed = [field.name for field in SCHEMA if not field.nullable and found.field(field.name).nullable]
    if not needed:
        return path
    found = work_through(path, needed, lambda batch: [each.null_count > 0 for each in batch.columns])
    missing = [name for name, nulls in zip(needed, zip(*found, strict=True), strict=False) if any(nulls)]
    if missing:
        raise LogError(
            f"{path} has records without {' and '.join(missing)}; every record of a search log has them.",
            "Bring it in with `tacit import`, which leaves such records out and says how many.",
        )
    return path


def _has_columns(found: pa.Schema) -> bool:
    return bool(found.names == SCHEMA.names and found.types == SCHEMA.types)


def is_canonical(path: Path) -> bool:
    """Tell whether a file has the columns of a log as ``tacit import`` writes them."""
    try:
        return _has_columns(pq.read_schema(path))
    except (pa.ArrowInvalid, OSError):
        return False


def begins_as_parquet(path: Path) -> bool:
    """Tell whether there is a file that begins as Parquet files do."""
    if not path.is_file():  # a pipe would wait for its writer
        return False
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


ORIGIN = "tacit.origin"
"""The key of the note in the file's metadata; an imported log has none."""

BATCH_RECORDS = 1 << 18
"""Records in a row group: a unit that engines read in parallel and that is held in memory to be written."""


class LogWriter:
    """Takes records in batches of any size and writes them in batches of a fixed one.

    The records keep their order. The last batch may be smaller. ``origin`` is noted in the file
    (:mod:`tacit.searchlog.schema`).
    """

    def __init__(self, path: Path, batch_records: int = BATCH_RECORDS, *, origin: str | None = None) -> None:
        self._writer = pq.ParquetWriter(
            path,
            SCHEMA.with_metadata({ORIGIN: origin}) if origin else SCHEMA,
            compression="zstd",
            compression_level=1,
            # Times hardly repeat, so a dictionary of them is wasted work; their differences pack well.
            use_dictionary=["user", "query", "rank", "url"],
            column_encoding={"time": "DELTA_BINARY_PACKED"},
            write_statistics=["user", "time", "rank"],
        )
        self._batch_records = batch_records
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_records = 0

    def write(self, records: pa.RecordBatch) -> None:
        """Add ``records`` at the end of the log."""
        while self._waiting_records + records.num_rows >= self._batch_records:
            fitting = self._batch_records - self._waiting_records
            self._waiting.append(records.slice(0, fitting))
            self._flush()
            records = records.slice(fitting)
        if records.num_rows:
            self._waiting.append(records)
            self._waiting_records += records.num_rows

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._waiting, SCHEMA)
        self._waiting, self._waiting_records = [], 0
        if table.num_rows:
            self._writer.write_table(table, row_group_size=self._batch_records)

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
            self._writer.close()
            return
        # The file is given up; that closing it fails too (a full disk) must not hide why.
        with contextlib.suppress(OSError, pa.ArrowException):
            self._writer.close()


def damage_of(path: Path) -> str:
    """The first column whose records cannot be read, in words; empty when all can."""
    for name in COLUMNS:
        try:
            any(work_through(path, [name], lambda batch: batch.num_rows < 0))
        except LogError:
            return f"the column {name} of its records cannot be read"
    return ""
