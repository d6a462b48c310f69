"""The profile file: one private SQLite file on the user's device."""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

from tacit.device.profile.user import UserProfile, check_requirements
from tacit.errors import InputError, IntegrityError, TacitError
from tacit.taxonomy import PEOPLE, TopicTree
from tacit.taxonomy.files import WORDNET, load_taxonomy
from tacit.validation import place

FORMAT = "4"
TABLES = (resources.files("tacit.device.profile") / "tables.sql").read_text("utf-8")
FORGOTTEN_PERIOD = "CREATE TABLE IF NOT EXISTS forgotten_period (since TEXT NOT NULL, until TEXT NOT NULL)"


def utc_text(time: datetime) -> str:
    """UTC in one fixed form, so that text order is time order."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


# A commit then waits for the disk once, not four times, and every query that is sent waits for a commit.
_JOURNAL = "PRAGMA journal_mode = WAL"
_JOURNAL_PAGES = 4_000  # whoever's commit makes it longer writes it into the file, and waits for that
_PATIENCE = 5.0  # seconds for which forgetting waits while others write the journal into the file


class ProfileStore:
    """A profile file, opened for one taxonomy. Use it as a context manager, or close it."""

    def __init__(self, path: Path, tree: TopicTree, connection: sqlite3.Connection) -> None:
        self.path = path
        self.tree = tree
        self.connection = connection
        self._key = bytes.fromhex(self._meta("digest key"))
        self._lock = threading.RLock()
        self._changes = 0
        self._read: tuple[tuple[int, int], UserProfile] | None = None

    @classmethod
    def create(cls, path: str | Path, tree: TopicTree, taxonomy: str = "wordnet") -> ProfileStore:
        """Make an empty profile file that only its owner can read."""
        path = Path(path)
        if path.exists():
            raise InputError(f"{path} exists already.", "Open it, or choose another name.")
        if not path.parent.is_dir():
            raise InputError(f"the folder {path.parent} does not exist.", "Create it first.")
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            connection = _connect(path)
            connection.execute(_JOURNAL)
            with whole_transaction(connection, path):
                for statement in TABLES.strip().split(";\n"):
                    connection.execute(statement)
                told = {"format": FORMAT, "taxonomy": taxonomy, "fingerprint": _fingerprint(tree)}
                told["digest key"] = secrets.token_hex(16)
                connection.executemany("INSERT INTO meta VALUES (?, ?)", told.items())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return cls(path, tree, connection)

    @classmethod
    def open(cls, path: str | Path, tree: TopicTree | None = None) -> ProfileStore:
        """Open a profile file; its permissions are tightened if they had been loosened.

        Without ``tree``, it is opened with the taxonomy it was made with.
        """
        path = Path(path)
        tree = load_taxonomy(cls.taxonomy_of(path)) if tree is None else tree
        connection = _connect(path)
        try:
            store = cls(path, tree, connection)
            if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise sqlite3.DatabaseError
            found = store._meta("format")
            fingerprint = store._meta("fingerprint")
        except sqlite3.DatabaseError as error:
            connection.close()
            raise _no_profile(path) from error
        if found != FORMAT:
            raise IntegrityError(f"{path} has the profile format {found}; this version reads {FORMAT}.")
        if fingerprint != _fingerprint(tree):
            raise InputError(
                f"{path} was built over another taxonomy, or this one has changed.",
                "Open it with the taxonomy it was built with, or build it anew.",
            )
        path.chmod(0o600)
        connection.execute(_JOURNAL)
        return store

    @classmethod
    def opened(cls, path: str | Path, tree: TopicTree, taxonomy: str) -> ProfileStore:
        """Open a profile file, or make it if there is none."""
        return cls.open(path, tree) if Path(path).exists() else cls.create(path, tree, taxonomy)

    @staticmethod
    def taxonomy_of(path: str | Path) -> str:
        """The name of the taxonomy that a profile was built with."""
        connection = _connect(Path(path))
        try:
            row = connection.execute("SELECT value FROM meta WHERE key = 'taxonomy'").fetchone()
        except sqlite3.DatabaseError as error:
            raise _no_profile(path) from error
        finally:
            connection.close()
        return str(row[0])

    def __enter__(self) -> ProfileStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Make all of the block's changes or none, as :func:`whole_transaction`; other threads wait."""
        with self._lock:
            if self.connection.in_transaction:  # part of a larger one
                yield self.connection
                return
            with whole_transaction(self.connection, self.path):
                yield self.connection

    def meta(self, key: str) -> str | None:
        """A value that the file remembers under a name; None where there is none."""
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set_meta(self, key: str, value: str) -> None:
        """Remember a value under a name; part of a transaction."""
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _meta(self, key: str) -> str:
        found = self.meta(key)
        if found is None:
            raise IntegrityError(f"{self.path} is not a profile: it lacks its {key}.")
        return found

    # -- the profile ---------------------------------------------------------------------------------

    def profile(self) -> UserProfile:
        """The profile as it stands; the same object while nothing changes."""
        version = self.version()
        if self._read is None or self._read[0] != version:
            documents = self._numbers("SELECT label, documents FROM topic")
            self._read = version, UserProfile(self.tree, documents, self.sensitivity())
        return self._read[1]

    def version(self) -> tuple[int, int]:
        """Changes with every change to the file by others, and to topics or requirements through this."""
        row = self.connection.execute("PRAGMA data_version").fetchone()
        return int(row[0]), self._changes

    def sensitivity(self) -> dict[int, float]:
        return self._numbers("SELECT label, sensitivity FROM sensitive")

    def _numbers(self, selection: str) -> dict[int, float]:
        rows = self.connection.execute(selection).fetchall()
        return {self.tree.find(label): float(value) for label, value in rows}

    def digest(self, *parts: str) -> bytes:
        """A keyed fingerprint of a source document, to count it only once; it reveals nothing."""
        text = "\x1f".join(parts).encode()
        return hashlib.blake2b(text, key=self._key, digest_size=16).digest()

    def is_counted(self, digest: bytes) -> bool:
        row = self.connection.execute("SELECT 1 FROM document WHERE digest = ?", (digest,)).fetchone()
        return row is not None

    def count(self, changes: Mapping[int, float]) -> None:
        """Change the number of documents filed under topics themselves; part of a transaction."""
        self._changes += 1
        self.connection.executemany(
            "INSERT INTO topic VALUES (?, ?) ON CONFLICT (label) DO UPDATE "
            "SET documents = documents + excluded.documents",
            [(self.tree.label(topic), change) for topic, change in changes.items()],
        )
        # What subtraction leaves of nothing is nothing.
        self.connection.executemany(
            "DELETE FROM topic WHERE label = ? AND documents < 1e-9",
            [(self.tree.label(topic),) for topic, change in changes.items() if change < 0],
        )

    def forget_topics(self) -> int:
        """Remove all counts and all sensitive topics; gives how many of the latter there were."""
        with self.transaction() as connection:
            self._changes += 1
            connection.execute("DELETE FROM topic")
            self.note_forgetting()
            return connection.execute("DELETE FROM sensitive").rowcount

    def announce_forgotten(self, since: datetime | None, until: datetime | None) -> None:
        """Announce in the file that a period is forgotten, all of time where no end of it is given.

        Whoever keeps tables of its own in this file (the search page) has triggers on ``forgotten_period``
        and on the removal of entries of ``exposure``: what belongs to them goes in the same transaction.
        """
        first = utc_text(since) if since is not None else ""
        last = utc_text(until) if until is not None else "~"
        with self.transaction() as connection:
            connection.execute(FORGOTTEN_PERIOD)
            connection.execute("INSERT INTO forgotten_period VALUES (?, ?)", (first, last))
            connection.execute("DELETE FROM forgotten_period")

    def note_forgetting(self) -> None:
        """Tell other processes that what they hold of the history may be gone; part of a transaction."""
        self.connection.execute(
            "INSERT INTO meta VALUES ('forgotten', '1') ON CONFLICT (key) DO UPDATE "
            "SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT)"
        )

    def rewrite(self) -> None:
        """Write the file anew without its free pages: what was removed is not in it any more."""
        with self._lock:
            self.connection.execute("VACUUM")
            patience = time.monotonic() + _PATIENCE
            while busy := self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if time.monotonic() > patience:
                    break
                time.sleep(0.02)
        if busy:
            raise TacitError(
                f"{self.path} is in use elsewhere; what was removed may linger in its journal until then.",
                "Close what else has it open, and forget again.",
            )

    def protect(self, topic: int, sensitivity: float) -> None:
        with self.transaction() as connection:
            check_requirements(self.tree, {**self.sensitivity(), topic: sensitivity})
            self._changes += 1
            connection.execute(
                "INSERT INTO sensitive VALUES (?, ?) ON CONFLICT (label) DO UPDATE "
                "SET sensitivity = excluded.sensitivity",
                (self.tree.label(topic), sensitivity),
            )

    def unprotect(self, topic: int) -> None:
        with self.transaction() as connection:
            self._changes += 1
            gone = connection.execute(
                "DELETE FROM sensitive WHERE label = ?", (self.tree.label(topic),)
            ).rowcount
            if not gone:
                raise InputError("that topic is not protected.", "See `tacit profile show`.")


def _fingerprint(tree: TopicTree) -> str:
    """Identify a taxonomy by its shape and its names."""
    identity = hashlib.sha256(tree.parent.tobytes())
    identity.update("\n".join(tree.names).encode())
    return identity.hexdigest()[:16]


def _no_profile(path: str | Path) -> IntegrityError:
    return IntegrityError(f"{path} is not a profile.", "Make one with `tacit profile build`.")


def _connect(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise InputError(f"there is no profile at {path}.", "Make one with `tacit profile build`.")
    connection = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")  # what is removed must not linger in the file
    connection.execute(f"PRAGMA wal_autocheckpoint = {_JOURNAL_PAGES}")
    return connection


@contextmanager
def whole_transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Make all of the block's changes to a file or none; other processes wait.

    Raises:
        TacitError: the disk is full, the file cannot be written, or another process holds it too long.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if connection.in_transaction:  # SQLite itself rolls back on a full disk
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        raise TacitError(
            f"{path} could not be changed ({error}); it is as it was before.",
            "Make room, or close what else has it open, and try again.",
        ) from error


def taxonomy_name(taxonomy: str | None) -> str:
    """The name under which a profile remembers its taxonomy: ``people``, ``wordnet``, or the file's place."""
    if taxonomy is None:
        return PEOPLE
    return taxonomy if taxonomy in (PEOPLE, WORDNET) else str(place("taxonomy", taxonomy).resolve())
