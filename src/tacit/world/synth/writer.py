"""Parquet files written row group by row group, all whole or none there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.files import atomic_file

__all__ = ["write_tables"]


@contextmanager
def write_tables(outputs: Sequence[tuple[Path, pa.Schema]]) -> Iterator[list[pq.ParquetWriter]]:
    """A writer for each output; the files appear when the block ends well."""
    with ExitStack() as files:
        writers = []
        for path, schema in outputs:
            temporary = files.enter_context(atomic_file(path))
            # Queries are mostly distinct, so a dictionary of them would only cost time and space.
            few = [field.name for field in schema if field.name != "query"]
            writer = pq.ParquetWriter(
                temporary, schema, compression="zstd", compression_level=1, use_dictionary=few
            )
            writers.append(files.enter_context(writer))
        yield writers
