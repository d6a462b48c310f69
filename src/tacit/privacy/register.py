"""The register: which ledgers this user knows, and by what their data sets are known again.

A SQLite file in the user's state folder, beside the secret key of its sketches; both for their owner alone.
It holds for each ledger its place, its last known entry and two sketches of its data set
(:mod:`tacit.privacy.sketch`): of the log when the ledger was opened, and of the log last released. It is
what a vanished ledger, one restored from an old copy, and a log that comes by another name are noticed by.
Losing it loses no charge: the ledgers are what counts.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import InputError, IntegrityError
from tacit.files.state import state_directory
from tacit.privacy.ledger import Ledger
from tacit.privacy.randomness import OperatingSystemRandomness
from tacit.privacy.sketch import Sketch, found_in, sketch_of

__all__ = ["Known", "Register"]

_KEY_BYTES = 32
_TABLES = """
CREATE TABLE IF NOT EXISTS ledgers (
    id TEXT PRIMARY KEY, path TEXT NOT NULL, label TEXT NOT NULL, opened TEXT NOT NULL,
    head TEXT NOT NULL, entries INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS sketches (
    ledger TEXT NOT NULL REFERENCES ledgers (id) ON DELETE CASCADE,
    which TEXT NOT NULL, level INTEGER NOT NULL, marks TEXT NOT NULL,
    PRIMARY KEY (ledger, which)
);
"""


@dataclass(frozen=True)
class Known:
    """A ledger as it was last seen."""

    id: str
    """The hash of its first entry, which no later entry changes."""
    path: Path
    label: str
    opened: str
    head: str
    """The hash of its last entry then."""
    entries: int
    """How many entries it had then."""


class Register:
    """The register in a folder; the user's state folder unless another is named."""

    def __init__(self, folder: str | Path | None = None) -> None:
        try:
            self.folder = Path(folder) if folder is not None else state_directory()
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise InputError(
                f"the state folder, in which ledgers are known, cannot be used: {error.strerror}.",
                "Name another one that you can write to with the environment variable TACIT_STATE.",
            ) from error
        self._file = self.folder / "ledgers.sqlite"

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # Private from its first byte on.
        handle = os.open(self._file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        os.close(handle)
        try:
            with closing(sqlite3.connect(self._file, timeout=60)) as connection:
                connection.execute("PRAGMA foreign_keys = ON")
                connection.executescript(_TABLES)
                with connection:
                    yield connection
        except sqlite3.DatabaseError as error:
            raise IntegrityError(
                f"the register of ledgers, {self._file}, is damaged.",
                "Restore it from a copy. Without one, move it away: the ledgers themselves are not"
                " affected, but a "
                "vanished one will not be noticed until it was used again.",
            ) from error

    @contextmanager
    def opening(self) -> Iterator[None]:
        """While a ledger is being opened, nobody else opens one."""
        handle = os.open(self.folder / "opening.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _key(self) -> bytes:
        """The secret key of all sketches, made when first needed."""
        path = self.folder / "sketch.key"
        if not path.exists():
            fresh = self.folder / f".sketch.key.{os.getpid()}"
            handle = os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(OperatingSystemRandomness().bits(_KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):  # another process was first: its key counts
                os.link(fresh, path)
            fresh.unlink(missing_ok=True)
        key = path.read_bytes()
        if len(key) != _KEY_BYTES:
            raise IntegrityError(f"the key of the register, {path}, is damaged.", "Restore it from a copy.")
        return key

    def all(self) -> list[Known]:
        """Every ledger that is known, the oldest first."""
        with self._connection() as connection:
            rows = connection.execute(
                "SELECT id, path, label, opened, head, entries FROM ledgers ORDER BY opened, id"
            ).fetchall()
        return [Known(row[0], Path(row[1]), *row[2:]) for row in rows]

    def of_log(self, log: str | Path) -> list[Known]:
        """The ledgers of the data set that ``log`` is a state of: none, one, or several by mistake."""
        known = {entry.id: entry for entry in self.all()}
        with self._connection() as connection:
            rows = connection.execute("SELECT ledger, level, marks FROM sketches").fetchall()
        sketches = [Sketch(level, tuple(marks.split())) for _, level, marks in rows]
        if not sketches:
            return []
        matches = found_in(log, sketches, self._key())
        ids = dict.fromkeys(row[0] for row, same in zip(rows, matches, strict=True) if same)
        return [known[ledger] for ledger in ids if ledger in known]

    def remember(self, ledger: Ledger, log: str | Path | None = None) -> None:
        """Note the ledger as it is now and, with ``log``, the state of its data set."""
        chain = ledger.chain()
        first = chain.records[0]
        identity = str(first["hash"])
        place = str(ledger.path.resolve())
        with self._connection() as connection:
            connection.execute(
                "INSERT INTO ledgers VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " path = excluded.path, head = excluded.head, entries = excluded.entries"
                " WHERE excluded.entries >= ledgers.entries",
                (identity, place, first["label"], first["time"], chain.head, len(chain.records)),
            )
        if log is not None:
            sketch = sketch_of(log, self._key())
            with self._connection() as connection:
                for which, rule in (
                    ("first", "NOTHING"),
                    ("latest", "UPDATE SET level = excluded.level, marks = excluded.marks"),
                ):
                    connection.execute(
                        f"INSERT INTO sketches VALUES (?, ?, ?, ?) ON CONFLICT DO {rule}",
                        (identity, which, sketch.level, " ".join(sketch.marks)),
                    )

    def accept(self, ledger: Ledger, log: str | Path) -> None:
        """Take the ledger as it is, however much older than known: its data set is ``log``."""
        self.forget(str(ledger.chain().records[0]["hash"]))
        self.remember(ledger, log)

    def forget(self, identity: str) -> None:
        """Forget a ledger."""
        with self._connection() as connection:
            connection.execute("DELETE FROM ledgers WHERE id = ?", (identity,))
