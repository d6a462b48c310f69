"""What makes a search log itself, however long it grows: its first records.

A ledger opened for a log keeps a keyed hash of this identity, and so notices when it is charged for
another log by mistake. It suits logs that only grow; where old records are deleted, rely on the label.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import LogError
from tacit.files import literal_path

__all__ = ["LogIdentity", "log_identity"]

_OPENING = 1000


@dataclass(frozen=True)
class LogIdentity:
    """A digest of the earliest ``opening`` records of a log. Secret: it is derived from raw records."""

    opening: int
    digest: bytes


def log_identity(log: str | Path, opening: int = _OPENING) -> LogIdentity:
    """The identity of a log in canonical Parquet, by its ``opening`` earliest records (or all, if fewer)."""
    import duckdb

    earliest = (
        """SELECT epoch_us("time"), "user", query, coalesce(url, '') """
        """FROM read_parquet($log, hive_partitioning=false) """
        """ORDER BY "time", "user", query, url NULLS FIRST LIMIT $opening"""
    )
    with duckdb.connect() as connection:
        try:
            rows = connection.execute(earliest, {"log": literal_path(log), "opening": opening}).fetchall()
        except duckdb.Error:
            # The message of the engine may quote data; the kind of the problem is enough.
            raise LogError(f"{log} cannot be read as a search log.", "Check it with `tacit stats`.") from None
    if not rows:
        raise LogError(f"{log} holds no record, so nothing tells it from other logs.", "Bind another.")
    digest = hashlib.sha256()
    for row in rows:
        for field in row:
            text = str(field).encode()
            digest.update(len(text).to_bytes(8, "little") + text)
    return LogIdentity(len(rows), digest.digest())
