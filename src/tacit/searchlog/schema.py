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
"""user, query, time (UTC, no zone); rank (from 1) and url only with a click, both or neither."""

COLUMNS = tuple(SCHEMA.names)


def check_log(path: str | Path) -> Path:
    """Make sure ``path`` is a search log in canonical Parquet; give it back as a Path."""
    path = Path(path)
    if not path.is_file():
        raise LogError(f"there is no search log at {path}.", "Make one with `tacit import` or `tacit synth`.")
    try:
        found = pq.read_schema(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise LogError(f"{path} is not a Parquet file.", "Bring it in with `tacit import` first.") from error
    if found.names != SCHEMA.names or any(
        found.field(name).type != SCHEMA.field(name).type for name in SCHEMA.names
    ):
        columns = ", ".join(f"{field.name}: {field.type}" for field in found)
        raise LogError(
            f"{path} holds the columns ({columns}), not those of a search log ({', '.join(COLUMNS)}).",
            "Bring it in with `tacit import`, which takes a column mapping.",
        )
    return path
