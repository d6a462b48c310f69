"""The one model of a search log: who asked what when, and what was clicked.

A **record** is one line of the log: a query without a click, or one click on a result of a query. A
query with two clicks is two records with the same user, query and time, as in AOL's log.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.errors import LogError

__all__ = ["COLUMNS", "SCHEMA", "check_log"]

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


def check_log(path: str | Path) -> Path:
    """Make sure ``path`` is a search log in canonical Parquet; give it back as a Path."""
    path = Path(path)
    if not path.is_file():
        raise LogError(f"there is no search log at {path}.", "Make one with `tacit import` or `tacit synth`.")
    try:
        found = pq.read_schema(path)
    except (pa.ArrowInvalid, OSError) as error:
        if _begins_as_parquet(path):
            raise LogError(
                f"{path} is a damaged Parquet file: it begins as one, but cannot be read.",
                "Its copy or download may have been cut short; copy it again, or make it again.",
            ) from error
        raise LogError(f"{path} is not a Parquet file.", "Bring it in with `tacit import` first.") from error
    if found.names != SCHEMA.names or any(
        found.field(name).type != SCHEMA.field(name).type for name in SCHEMA.names
    ):
        columns = ", ".join(f"{field.name}: {field.type}" for field in found)
        raise LogError(
            f"{path} holds the columns ({columns}), not those of a search log ({', '.join(COLUMNS)}).",
            "Bring it in with `tacit import`, which takes a column mapping.",
        )
    _refuse_nulls(path, found)
    return path


def _begins_as_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


def _refuse_nulls(path: Path, found: pa.Schema) -> None:
    """Every record has a user, a query and a time: what a file may leave open is looked up in it."""
    needed = [field.name for field in SCHEMA if not field.nullable and found.field(field.name).nullable]
    if not needed:
        return
    try:
        with pq.ParquetFile(path) as file:
            missing = [name for name in needed if _has_nulls(file, name)]
    except (pa.ArrowException, OSError) as error:
        raise LogError(f"{path} cannot be read to its end.", "Bring it in again.") from error
    if missing:
        raise LogError(
            f"{path} has records without {' and '.join(missing)}; every record of a search log has them.",
            "Bring it in with `tacit import`, which leaves such records out and says how many.",
        )


def _has_nulls(file: pq.ParquetFile, name: str) -> bool:
    """From the figures that the file keeps about itself; read where it keeps none."""
    place = file.schema_arrow.get_field_index(name)
    for group in range(file.num_row_groups):
        kept = file.metadata.row_group(group).column(place).statistics
        if kept is None or not kept.has_null_count:
            if file.read_row_group(group, [name]).column(0).null_count:
                return True
        elif kept.null_count:
            return True
    return False
