"""What makes a search log itself, however long it grows: its first records.

A ledger opened for a log keeps a keyed hash of them, and so notices when it is charged for another log by
mistake. It suits logs that only grow; where old records are deleted, rely on the label.

How many records there were is not kept: a log that has grown since is recognised by trying its openings of
every length up to the longest.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path

from tacit.errors import LogError
from tacit.files import literal_path

__all__ = ["LONGEST_OPENING", "begins_as", "opening_fingerprint"]

LONGEST_OPENING = 1000
"""Records that take part: the earliest ones of the log, or all of a shorter one."""


def opening_fingerprint(log: str | Path, salt: bytes) -> str:
    """HMAC-SHA-256 under ``salt`` of a log's earliest records (of an empty log: of nothing)."""
    *_, last = _digests(log)
    return _keyed(salt, last)


def begins_as(log: str | Path, salt: bytes, fingerprint: str) -> bool:
    """Whether the log of this fingerprint is the beginning of ``log``; every log begins as the empty one."""
    found = False
    for digest in _digests(log):  # all of them, so that the time taken tells nothing either
        found |= hmac.compare_digest(_keyed(salt, digest), fingerprint)
    return found


def _keyed(salt: bytes, digest: bytes) -> str:
    return hmac.new(salt, digest, hashlib.sha256).hexdigest()


def _digests(log: str | Path) -> Iterator[bytes]:
    """SHA-256 of the openings of 0, 1, 2, … records. Secret: they are derived from raw records."""
    digest = hashlib.sha256()
    yield digest.digest()
    for row in _earliest(log):
        for field in row:
            text = str(field).encode()
            digest.update(len(text).to_bytes(8, "little") + text)
        yield digest.digest()


def _earliest(log: str | Path) -> list[tuple[object, ...]]:
    import duckdb

    earliest = (
        """SELECT epoch_us("time"), "user", query, coalesce(url, '') """
        """FROM read_parquet($log, hive_partitioning=false) """
        """ORDER BY "time", "user", query, url NULLS FIRST LIMIT $longest"""
    )
    with duckdb.connect() as connection:
        try:
            known = {"log": literal_path(log), "longest": LONGEST_OPENING}
            rows: list[tuple[object, ...]] = connection.execute(earliest, known).fetchall()
        except duckdb.Error:
            # The message of the engine may quote data; the kind of the problem is enough.
            raise LogError(f"{log} cannot be read as a search log.", "Check it with `tacit stats`.") from None
    return rows
