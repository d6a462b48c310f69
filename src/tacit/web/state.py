"""The page's records in the profile file: settings, engines, known browsers, and every request that was sent.

All of it lies in tables of its own whose names begin with ``page_``. Deleted rows are overwritten.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tacit.device import ExposureBound
from tacit.errors import InputError, TacitError
from tacit.web.engines.catalogue import EMBEDDED, check_engine, engine_from_data
from tacit.web.engines.interface import Carriage, EngineDescription, Outgoing

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


_DELAY = 0.05
"""Seconds for which rows are gathered."""


class WriteBehind:
    """Gathers changes and writes them in one transaction, from a thread of its own."""

    def __init__(self, state: PageState) -> None:
        self._state = state
        self._waiting: list[tuple[str, tuple[object, ...]]] = []
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="tacit-write-behind", daemon=True)
        self._thread.start()

    def add(self, statement: str, *parameters: object) -> None:
        """Have a change made soon."""
        with self._changed:
            self._waiting.append((statement, parameters))
            self._changed.notify()

    def flush(self) -> None:
        """Make all changes that wait now. Reading what they concern begins with this."""
        with self._writing:
            with self._changed:
                batch, self._waiting = self._waiting, []
            if not batch:
                return
            try:
                with self._state.transaction() as connection:
                    for statement, parameters in batch:
                        connection.execute(statement, parameters)
            except TacitError:
                with self._changed:
                    self._waiting = batch + self._waiting
                raise

    def discard(self) -> None:
        """Forget the changes that wait: what they concern is being erased."""
        with self._writing, self._changed:
            self._waiting.clear()

    def close(self) -> None:
        """Write what waits, and stop."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()
        self.flush()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
            time.sleep(_DELAY)
            try:
                self.flush()
                self._state.shorten_journal()
            except TacitError:  # a full disk; the rows wait, and whoever reads them is told
                time.sleep(1.0)


@dataclass(frozen=True)
class SentRequest:
    """One transmission."""

    number: int
    engine: str
    time: datetime
    exposure: int | None
    """The entry of the exposure ledger that it belongs to."""
    address: str
    """Where it went: scheme, host and port."""
    wire: bytes

    @property
    def text(self) -> str:
        """The bytes as text, for the page."""
        return self.wire.decode("utf-8", errors="backslashreplace")


class SentRequests:
    """The record, in the profile file."""

    def __init__(self, state: PageState, behind: WriteBehind) -> None:
        self._state = state
        self._behind = behind
        (found,) = state.rows("SELECT coalesce(max(number), 0) FROM page_sent")
        self._numbers = itertools.count(int(str(found[0])) + 1)

    def record(self, engine: str, request: Outgoing, exposure: int | None) -> int:
        """Note a request that is about to leave, to be written within a moment; gives its number.

        The ledger's entry that it belongs to is on the disk already.
        """
        number = next(self._numbers)
        origin = "/".join(request.url.split("/", 3)[:3])
        self._behind.add(
            "INSERT INTO page_sent (number, engine, time, exposure, address, bytes) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            number,
            engine,
            datetime.now(UTC).isoformat(timespec="microseconds"),
            exposure,
            origin,
            request.wire(),
        )
        return number

    def never_left(self, number: int) -> None:
        """Take a request out of the record that could not be sent after all."""
        self._behind.add("DELETE FROM page_sent WHERE number = ?", number)

    def all(self, engine: str | None = None, limit: int = -1, offset: int = 0) -> list[SentRequest]:
        """The requests, newest first."""
        self._behind.flush()
        rows = self._state.rows(
            "SELECT number, engine, time, exposure, address, bytes FROM page_sent "
            "WHERE ?1 IS NULL OR engine = ?1 ORDER BY number DESC LIMIT ?2 OFFSET ?3",
            (engine, limit, offset),
        )
        return [
            SentRequest(int(n), str(e), datetime.fromisoformat(str(t)), x, str(a), bytes(b))  # type: ignore[call-overload, arg-type]
            for n, e, t, x, a, b in rows
        ]

    def count(self) -> dict[str, int]:
        """How many requests each engine got."""
        self._behind.flush()
        rows = self._state.rows("SELECT engine, count(*) FROM page_sent GROUP BY engine ORDER BY engine")
        return {str(engine): int(str(count)) for engine, count in rows}

    def forget(self, exposures: set[int]) -> None:
        """Forget the requests of some entries of the ledger."""
        self._behind.flush()
        with self._state.transaction() as connection:
            connection.executemany("DELETE FROM page_sent WHERE exposure = ?", [(one,) for one in exposures])

    def forget_upstream(self, upstream: str) -> None:
        """Forget the requests of all entries that the ledger has about one upstream."""
        self._behind.flush()
        with self._state.transaction() as connection:
            connection.execute(
                "DELETE FROM page_sent WHERE exposure IN (SELECT number FROM exposure WHERE upstream = ?)",
                (upstream,),
            )


_KEY = "settings"


@dataclass(frozen=True)
class Settings:
    """Choices with their defaults."""

    delta: float = 0.1
    """The bound on the risk of what is sent with one query."""
    bound: float = 0.3
    """The bound on the risk of everything one engine was told in :attr:`days`."""
    days: int = 30
    personalise: bool = True
    """Whether results are put into personal order on the device."""
    remember_clicks: bool = True
    strip_tracking: bool = True
    own_suggestions: bool = True
    """Whether the person's own queries are among the suggestions."""
    post: bool = False
    """Whether the search box sends by POST, which keeps queries out of the browser's history."""
    query_in_title: bool = False
    new_tab: bool = False

    def __post_init__(self) -> None:
        for name in ("delta", "bound"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be in [0, 1]; found {getattr(self, name):g}.")
        if not 1 <= self.days <= 36_500:
            raise InputError(f"days must be in [1, 36500]; found {self.days}.")

    @property
    def exposure_bound(self) -> ExposureBound:
        """The bound as the ledger takes it."""
        return ExposureBound(self.bound, timedelta(days=self.days))


def load_settings(state: PageState) -> Settings:
    """The stored choices; defaults for what was never chosen, or is not understood any more."""
    stored: dict[str, Any] = json.loads(state.setting(_KEY) or "{}")
    known = {field.name for field in fields(Settings)}
    try:
        return replace(Settings(), **{name: value for name, value in stored.items() if name in known})
    except (InputError, TypeError):
        return Settings()


def save_settings(state: PageState, settings: Settings) -> None:
    """Store the choices."""
    state.set(_KEY, json.dumps(asdict(settings)))


def engines(state: PageState) -> list[EngineDescription]:
    """The engines that were added, in order; the embedded one alone where none ever was."""
    rows = state.rows("SELECT description FROM page_engine ORDER BY place, name")
    if not rows:
        return [EngineDescription(EMBEDDED, EMBEDDED, carriage=Carriage.HERE)]
    found = []
    for (text,) in rows:
        data = json.loads(str(text))
        enabled = bool(data.pop("enabled", True))
        found.append(replace(engine_from_data(data), enabled=enabled))
    return found


def save_engine(state: PageState, engine: EngineDescription) -> None:
    """Add an engine at the end, or change the one of that name."""
    check_engine(engine)
    present = engines(state)  # the embedded one is written down once something is chosen
    names = [one.name for one in present]
    kept = [engine if one.name == engine.name else one for one in present]
    if engine.name not in names:
        kept.append(engine)
    _store(state, kept)


def remove_engine(state: PageState, name: str) -> None:
    """Take an engine out of the list."""
    kept = [one for one in engines(state) if one.name != name]
    if not kept:
        raise InputError("one engine must stay.", "Add another first.")
    _store(state, kept)


def _store(state: PageState, kept: list[EngineDescription]) -> None:
    with state.transaction() as connection:
        connection.execute("DELETE FROM page_engine")
        for place, engine in enumerate(kept):
            data = {
                "name": engine.name,
                "kind": engine.kind,
                "address": engine.address,
                "carries": str(engine.carriage),
                "local": engine.local,
                "timeout": engine.timeout,
                "description": dict(engine.description),
                "enabled": engine.enabled,
            }
            connection.execute(
                "INSERT INTO page_engine VALUES (?, ?, ?)", (engine.name, place, json.dumps(data))
            )
