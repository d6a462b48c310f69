"""Write canonical Parquet: record batches of a fixed size, one row group each."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.searchlog.origin import ORIGIN
from tacit.searchlog.schema import SCHEMA

__all__ = ["BATCH_RECORDS", "LogWriter"]

BATCH_RECORDS = 1 << 18
"""Records in a row group: a unit that engines read in parallel and that is held in memory to be written."""


class LogWriter:
    """Takes records in batches of any size and writes them in batches of a fixed one.

    The records keep their order. The last batch may be smaller. ``origin`` is noted in the file
    (:mod:`tacit.searchlog.origin`).
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
