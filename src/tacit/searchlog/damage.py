"""What is damaged in a Parquet file that begins and ends as one: the first part that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["damage_of"]


def damage_of(path: str | Path) -> str:
    """The first column of the first group of records that cannot be read, in words; empty when all can."""
    try:
        with pq.ParquetFile(path) as file:
            first = 1
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                for name in file.schema_arrow.names:
                    try:
                        file.read_row_group(group, [name])
                    except (pa.ArrowException, OSError):
                        # The engine's message may quote a value, so it is not passed on.
                        last = first + rows - 1
                        return f"the column {name} of its records {first:,} to {last:,} cannot be read"
                first += rows
    except (pa.ArrowException, OSError):
        return "its table of contents cannot be read"
    return ""
