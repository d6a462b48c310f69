"""The page's records in the profile file: settings, engines, known browsers, and every request that was sent.

All of it lies in tables of its own whose names begin with ``page_``. Deleted rows are overwritten. What is
kept about queries goes with what it belongs to: triggers remove it when an entry of the exposure ledger or a
period is forgotten, whoever forgets it.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

from tacit.device.profile.store import FORGOTTEN_PERIOD, whole_transaction
from tacit.errors import InputError
from tacit.web.engines.catalogue import EMBEDDED, check_engine, engine_from_data, named_apart
from tacit.web.engines.interface import LANGUAGES, SAFE, EngineDescription
from tacit.web.rules import Action, check_pattern

_TABLES = resources.files("tacit.web") / "sql"
DOOR = (_TABLES / "door.sql").read_text("utf-8")
"""What a page needs that only knows its browsers again."""
_SCHEMA = f"{FORGOTTEN_PERIOD};\n{DOOR}{(_TABLES / 'page.sql').read_text('utf-8')}"


class PageState:
    """The page's tables in a profile file that exists already; or those of ``schema`` in any file."""

    def __init__(self, path: str | Path, schema: str = _SCHEMA) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(self.path, 30, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA secure_delete = ON")
        self._connection.execute("PRAGMA foreign_keys = ON")
        self._connection.executescript(schema)
        self.path.chmod(0o600)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def transaction(self, *, synced: bool = True) -> Iterator[sqlite3.Connection]:
        """Make all of the block's changes or none; a TacitError says that the file could not be changed.

        Not synced, they survive the end of this process but may be lost when the machine loses power.
        """
        with self._lock:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
            with whole_transaction(self._connection, self.path):
                yield self._connection

    def rows(self, selection: str, parameters: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(selection, parameters).fetchall()

    def setting(self, key: str) -> str | None:
        found = self.rows("SELECT value FROM page_setting WHERE key = ?", (key,))
        return str(found[0][0]) if found else None

    def kept(self, key: str) -> Any:
        """Read a setting that holds JSON; empty if there is none."""
        return json.loads(self.setting(key) or "{}")

    def set(self, key: str, value: str) -> None:
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO page_setting VALUES (?, ?)", (key, value))

    def size(self) -> int:
        """Bytes on the disk, the journal included."""
        paths = (self.path, Path(f"{self.path}-wal"))
        return sum(path.stat().st_size for path in paths if path.exists())


# -- the requests that were sent -------------------------------------------------------------------------


@dataclass(frozen=True)
class SentRequest:
    number: int
    engine: str
    time: datetime
    exposure: int | None
    """The entry of the exposure ledger that it belongs to."""
    address: str
    wire: bytes

    @property
    def text(self) -> str:
        """The bytes as text, for the page."""
        return self.wire.decode("utf-8", errors="backslashreplace")


class SentRequests:
    """Every request that left the machine, byte for byte; on the disk before it leaves."""

    def __init__(self, state: PageState) -> None:
        self._state = state

    def record(self, engine: str, exposure: int | None, address: str, wire: bytes) -> None:
        """Store a request that is about to leave."""
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        with self._state.transaction() as connection:
            connection.execute(
                "INSERT INTO page_sent (engine, time, exposure, address, bytes) VALUES (?, ?, ?, ?, ?)",
                (engine, now, exposure, address, wire),
            )

    def all(self, limit: int = -1, offset: int = 0) -> list[SentRequest]:
        rows = self._state.rows(
            "SELECT number, engine, time, exposure, address, bytes FROM page_sent "
            "ORDER BY number DESC LIMIT ? OFFSET ?",
            (limit, offset),
        )
        return [SentRequest(n, e, datetime.fromisoformat(t), x, a, bytes(b)) for n, e, t, x, a, b in rows]

    def count(self) -> dict[str, int]:
        return dict(self._state.rows("SELECT engine, count(*) FROM page_sent GROUP BY engine ORDER BY 1"))


# -- the person's choices --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """Choices with their defaults."""

    personalise: bool = True
    remember_clicks: bool = True
    strip_tracking: bool = True
    own_suggestions: bool = True
    """Whether the person's own queries are among the suggestions."""
    post: bool = False
    """Whether the search box sends by POST, which keeps queries out of the browser's history."""
    query_in_title: bool = False
    new_tab: bool = False
    pictures: bool = False
    """Whether small pictures that lie with neither the engine nor its answer are fetched."""
    engine_suggestions: bool = False
    """Whether a SearXNG is asked for completions of what is typed."""
    language: str = ""
    """The language that searches are narrowed to unless another is chosen."""
    safe: str = ""
    """How strictly engines leave out what is not for children."""

    def __post_init__(self) -> None:
        for name, known in (("language", LANGUAGES), ("safe", SAFE)):
            if getattr(self, name) not in known:
                raise InputError(f"{name} is none of the choices.", "Choose one from the list.")


def load_settings(state: PageState) -> Settings:
    """The stored choices; defaults for what was never chosen, or is not understood any more."""
    stored = state.kept("settings")
    known = {field.name for field in fields(Settings)}
    try:
        return replace(Settings(), **{name: value for name, value in stored.items() if name in known})
    except (InputError, TypeError):
        return Settings()


def save_settings(state: PageState, settings: Settings) -> None:
    state.set("settings", json.dumps(asdict(settings)))


def engines(state: PageState) -> list[EngineDescription]:
    """Read the engines that were added, in order; the embedded one alone where none ever was."""
    found = []
    for data in state.kept("engines"):
        enabled = bool(data.pop("enabled", True))
        found.append(replace(engine_from_data(data), enabled=enabled))
    return found or [engine_from_data({"kind": EMBEDDED})]


def save_engine(state: PageState, engine: EngineDescription) -> EngineDescription:
    """Add an engine at the end, or change the one of that name and address."""
    known = engines(state)
    if not state.kept("engines"):  # the first: beside pages of the web a dictionary would be in the way
        known = [replace(one, enabled=engine.kind == EMBEDDED) for one in known]
    engine = named_apart(check_engine(engine), known)
    present = {one.name: one for one in known}
    _store(state, list((present | {engine.name: engine}).values()))
    return engine


def remove_engine(state: PageState, name: str) -> None:
    kept = [one for one in engines(state) if one.name != name]
    if not kept:
        raise InputError("one engine must stay.", "Add another first.")
    _store(state, kept)


def _store(state: PageState, kept: list[EngineDescription]) -> None:
    rows = [asdict(engine) for engine in kept]
    for row in rows:
        row["carries"] = row.pop("carriage")
    state.set("engines", json.dumps(rows))


def stored_rules(state: PageState) -> dict[str, Action]:
    """Read the site rules by their patterns, in the order in which they were added."""
    return {pattern: Action(action) for pattern, action in state.kept("rules").items()}


def save_rules(state: PageState, rules: Mapping[str, Action]) -> None:
    state.set("rules", json.dumps(rules))


_MOST_SITES = 200


def lenses(state: PageState) -> dict[str, list[str]]:
    """The named sets of sites that a search can be narrowed to."""
    found: dict[str, list[str]] = state.kept("lenses")
    return found


def save_lens(state: PageState, name: str, sites: Sequence[str]) -> None:
    """Store a set of sites under a name; an empty set removes it."""
    name = " ".join(name.split())
    if not 1 <= len(name) <= 40:
        raise InputError(f"the name of a lens has 1 to 40 characters; found {len(name)}.")
    if len(sites) > _MOST_SITES:
        raise InputError(f"a lens has at most {_MOST_SITES} sites; found {len(sites)}.")
    found = lenses(state) | {name: [check_pattern(site) for site in sites]}
    state.set("lenses", json.dumps({one: sites for one, sites in found.items() if sites}))
