"""What the page keeps beside the profile, in the same private file: settings, browsers, requests sent.

All of it lies in tables of its own whose names begin with ``page_``. Deleted rows are overwritten.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import TacitError

__all__ = ["PageState"]

_TABLES = """
CREATE TABLE IF NOT EXISTS page_setting (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS page_browser (digest BLOB PRIMARY KEY, since TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS page_engine (
    name TEXT PRIMARY KEY, place INTEGER NOT NULL, description TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS page_rule (
    number INTEGER PRIMARY KEY, action TEXT NOT NULL, pattern TEXT NOT NULL, source TEXT NOT NULL,
    UNIQUE (action, pattern));
CREATE TABLE IF NOT EXISTS page_sent (
    number INTEGER PRIMARY KEY, engine TEXT NOT NULL, time TEXT NOT NULL, exposure INTEGER,
    address TEXT NOT NULL, bytes BLOB NOT NULL, left INTEGER NOT NULL DEFAULT 1);
CREATE INDEX IF NOT EXISTS page_sent_by_time ON page_sent (time);
CREATE TABLE IF NOT EXISTS page_query (query TEXT PRIMARY KEY, time TEXT NOT NULL, times INTEGER NOT NULL)
    WITHOUT ROWID
"""


_LONG_JOURNAL = 1_000_000
"""Bytes."""
_JOURNAL_SECONDS = 2.0
"""A journal that was long once keeps its size; so often it is looked at."""


class PageState:
    """The page's tables in a profile file that exists already."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(
            self.path, isolation_level=None, timeout=30, check_same_thread=False
        )
        # Not synced by itself: what goes out was synced before, to the exposure ledger in this very file.
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("PRAGMA secure_delete = ON")
        self._connection.execute("PRAGMA foreign_keys = ON")
        self._connection.execute("PRAGMA wal_autocheckpoint = 4000")  # see shorten_journal
        self._shortened = 0.0
        for statement in _TABLES.strip().split(";\n"):
            self._connection.execute(statement)
        self.path.chmod(0o600)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of the block's changes or none.

        Raises:
            TacitError: the disk is full, or another process holds the file too long.
        """
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
                self._connection.execute("COMMIT")
            except sqlite3.OperationalError as error:
                raise TacitError(
                    f"{self.path} could not be changed ({error}); it is as it was before.",
                    "Make room, or close what else has it open, and try again.",
                ) from error

    def rows(self, selection: str, parameters: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        """What a SELECT finds."""
        with self._lock:
            return self._connection.execute(selection, parameters).fetchall()

    def setting(self, key: str) -> str | None:
        """A stored setting."""
        found = self.rows("SELECT value FROM page_setting WHERE key = ?", (key,))
        return str(found[0][0]) if found else None

    def set(self, key: str, value: str) -> None:
        """Store a setting."""
        with self.transaction() as connection:
            connection.execute(
                "INSERT INTO page_setting VALUES (?, ?) "
                "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                (key, value),
            )

    def shorten_journal(self) -> None:
        """Write a journal that has grown into the file, beside what else goes on, so that no search has to.

        By a connection of its own: nobody waits for this one's lock meanwhile.
        """
        if time.monotonic() - self._shortened < _JOURNAL_SECONDS:
            return
        self._shortened = time.monotonic()
        try:
            if Path(f"{self.path}-wal").stat().st_size < _LONG_JOURNAL:
                return
            connection = sqlite3.connect(self.path, isolation_level=None)
            try:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            finally:
                connection.close()
        except (OSError, sqlite3.Error):
            return  # it stays as it is; a later commit will see to it

    def size(self) -> int:
        """Bytes on the disk, the journal included."""
        paths = (self.path, Path(f"{self.path}-wal"))
        return sum(path.stat().st_size for path in paths if path.exists())
