"""A folder of groups: what may be shown, and apart from it the operator's file of who is in which group.

::

    DIR/
      representatives.jsonl      one group per line: its number, its members' number, its weighted terms
      report.json                what was measured when the groups were made; aggregates only
      operator/                  mode 0700: for the service that must know whose requests use which group
        groups.sqlite            mode 0600: profiles, memberships and groups, kept up to date
        membership.jsonl         mode 0600: {"user": ..., "group": ..., "member": ...}

All of it appears at once, or nothing does. The two files of lines repeat what ``groups.sqlite`` holds;
``Groups.publish`` writes them again. Every change of the database is one transaction, so the state is whole
after a crash. Deleted rows are overwritten in the file (``secure_delete``), and a term nobody holds any more
is deleted with its last holder.

A user is a **member** of a group (counted in what it shows) or a **guest** (served by what it shows, not
counted; of no group at all where none is near). A guest who was counted in a group before **rests**: until
the next bundling such a person is counted in no other.
"""

import json
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InputError, IntegrityError
from tacit.files import atomic_directory, atomic_file, check_output_folder
from tacit.groups.bundling import Bundler, Bundling
from tacit.groups.cohorts import Standing

FILE = "groups.sqlite"
NOWHERE = -1
"""Where a user stands in the middle of a step: in no group, and not among those who wait for one."""
_FORMAT = 4

_TABLES = (
    "CREATE TABLE term (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, holders INTEGER NOT NULL)",
    "CREATE TABLE user (name TEXT PRIMARY KEY, team INTEGER, member INTEGER NOT NULL,"
    " rests INTEGER NOT NULL, terms BLOB NOT NULL, weights BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX user_by_team ON user (team, member)",
    "CREATE TABLE team (id INTEGER PRIMARY KEY AUTOINCREMENT, size INTEGER NOT NULL,"
    " terms BLOB NOT NULL, shares BLOB NOT NULL)",
)


@dataclass(frozen=True)
class Place:
    """Where a user stands: the group whose profile serves the user, and whether the user counts in it."""

    group: int | None
    member: bool
    places: tuple[int, ...] = ()
    """All cohorts of the user, the first of which is the group; empty for groups of words."""


@dataclass(frozen=True, eq=False)
class Shown:
    """What a group shows: its size when it was formed, and its terms (ascending ids) with their weights."""

    size: int
    terms: NDArray[np.int32]
    shares: NDArray[np.float32]


class Store:
    """A file of settings and users in SQLite, without any rule about what may stand in it."""

    tables: ClassVar[Sequence[str]] = ()

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise InputError(
                f"there is no groups file at {path}.", "Make the folder with `tacit group LOG -o DIR` first."
            )
        self.path = path
        self.connection = _connect(path)
        try:
            found = self.meta("format")
        except sqlite3.DatabaseError:
            raise IntegrityError(f"{path} is not a groups file.", "Restore it, or bundle again.") from None
        if found != _FORMAT:
            raise IntegrityError(f"{path} has format {found}; this version reads {_FORMAT}.", "Bundle again.")

    @classmethod
    def create(cls, path: Path, settings: Mapping[str, Any]) -> Self:
        """An empty file that only its owner can read."""
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = _connect(path)
        connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        for statement in cls.tables:
            connection.execute(statement)
        rows = [(key, json.dumps(value)) for key, value in {"format": _FORMAT, **settings}.items()]
        connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        connection.close()
        return cls(path)

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _one(self, sql: str, *values: object) -> Any:
        """The first row that a statement finds; None where it finds none."""
        return self.connection.execute(sql, values).fetchone()

    def meta(self, key: str) -> Any:
        row = self._one("SELECT value FROM meta WHERE key = ?", key)
        return json.loads(row[0]) if row else None

    def set_meta(self, key: str, value: object) -> None:
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of what happens inside, or nothing of it; one writer at a time."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def version(self) -> int:
        """Changes whenever another connection has changed the file."""
        return int(self._one("PRAGMA data_version")[0])

    def count_users(self) -> int:
        return int(self._one("SELECT count(*) FROM user")[0])


class CohortStore(Store):
    """The places of people and the pairs that they mark; nothing else of anybody is kept."""

    tables = (
        "CREATE TABLE user (name TEXT PRIMARY KEY, places BLOB NOT NULL, keys BLOB NOT NULL) WITHOUT ROWID",
    )

    def add(self, people: Iterable[tuple[str, Standing]]) -> None:
        """Add people, or put others in the place of those who are here."""
        self.connection.executemany(
            "INSERT OR REPLACE INTO user VALUES (?, ?, ?)",
            (
                (name, bytes(person.places), np.array(person.keys, np.int32).tobytes())
                for name, person in people
            ),
        )

    def person(self, user: str) -> Standing | None:
        """Read what is kept of a person; None for somebody unknown."""
        row = self._one("SELECT places, keys FROM user WHERE name = ?", user)
        return _person(*row) if row else None

    def people(self) -> Iterator[tuple[str, Standing]]:
        for name, places, keys in self.connection.execute(
            "SELECT name, places, keys FROM user ORDER BY name"
        ):
            yield name, _person(places, keys)

    def delete(self, user: str) -> None:
        self.connection.execute("DELETE FROM user WHERE name = ?", (user,))


def _person(places: bytes, keys: bytes) -> Standing:
    pairs = np.frombuffer(keys, np.int32).reshape(-1, 2).tolist()
    return Standing(tuple(places), tuple((cohort, word) for cohort, word in pairs))


class GroupsStore(Store):
    """The tables of groups of words."""

    tables = _TABLES

    # Users

    def place(self, user: str) -> Place | None:
        row = self._one("SELECT team, member FROM user WHERE name = ?", user)
        return Place(row[0], bool(row[1])) if row else None

    def rests(self, user: str) -> bool:
        """Whether the user was counted in a group before, and must not be in another."""
        row = self._one("SELECT rests FROM user WHERE name = ?", user)
        return bool(row and row[0])

    def everybody(self) -> Iterator[tuple[str, Place]]:
        for name, team, member in self.connection.execute(
            "SELECT name, team, member FROM user ORDER BY name"
        ):
            yield name, Place(team, bool(member))

    def profile(self, user: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """A user's terms (ascending ids) and weights."""
        row = self._one("SELECT terms, weights FROM user WHERE name = ?", user)
        return np.frombuffer(row[0], np.int32), np.frombuffer(row[1], np.float32)

    def profiles_of(self, group: int | None, *, member: bool) -> dict[str, NDArray[np.int32]]:
        """The terms of a group's members, or of its guests."""
        return self._terms("team IS ? AND member = ?", group, member)

    def waiting(self) -> dict[str, NDArray[np.int32]]:
        """The terms of those guests who may be counted in a new group."""
        return self._terms("member = 0 AND rests = 0")

    def _terms(self, which: str, *values: int | None) -> dict[str, NDArray[np.int32]]:
        rows = self.connection.execute(f"SELECT name, terms FROM user WHERE {which} ORDER BY name", values)
        return {name: np.frombuffer(terms, np.int32) for name, terms in rows}

    def rest(self, users: Iterable[str]) -> None:
        """From now on these users are counted in no new group."""
        self.connection.executemany("UPDATE user SET rests = 1 WHERE name = ?", ((user,) for user in users))

    def add(self, user: str, terms: Mapping[str, float]) -> None:
        """Add a user, as a guest of no group."""
        ids = self._ids(terms)
        order = np.argsort(ids)
        weights = np.array(list(terms.values()), np.float32)[order]
        self.connection.execute(
            "INSERT INTO user VALUES (?, NULL, 0, 0, ?, ?)", (user, ids[order].tobytes(), weights.tobytes())
        )

    def add_rows(self, rows: Iterable[tuple[str, int, NDArray[np.int32], NDArray[np.float32]]]) -> None:
        """Add members of groups by term ids."""
        self.connection.executemany(
            "INSERT INTO user VALUES (?, ?, 1, 0, ?, ?)",
            ((user, team, terms.tobytes(), weights.tobytes()) for user, team, terms, weights in rows),
        )

    def put(self, users: Iterable[str], group: int | None, *, member: bool) -> None:
        """Say where these users stand from now on."""
        self.connection.executemany(
            "UPDATE user SET team = ?, member = ? WHERE name = ?", ((group, member, user) for user in users)
        )

    def delete(self, user: str) -> None:
        """Remove a user, and the terms that nobody else holds or shows."""
        terms, _ = self.profile(user)
        self.connection.execute("DELETE FROM user WHERE name = ?", (user,))
        self.connection.executemany(
            "UPDATE term SET holders = holders - 1 WHERE id = ?", ((term,) for term in terms.tolist())
        )

    # Terms

    def add_terms(self, texts: Sequence[str], holders: NDArray[np.int64]) -> None:
        """A vocabulary, whose ids are the places in it."""
        self.connection.executemany(
            "INSERT INTO term VALUES (?, ?, ?)",
            (
                (number, text, int(count))
                for number, (text, count) in enumerate(zip(texts, holders, strict=True))
            ),
        )

    def _ids(self, terms: Mapping[str, float]) -> NDArray[np.int32]:
        self.connection.executemany(
            "INSERT INTO term (text, holders) VALUES (?, 1)"
            " ON CONFLICT (text) DO UPDATE SET holders = holders + 1",
            ((term,) for term in terms),
        )
        find = "SELECT id FROM term WHERE text = ?"
        return np.array([self._one(find, term)[0] for term in terms], np.int32)

    def texts(self, ids: Iterable[int]) -> dict[int, str]:
        find = "SELECT text FROM term WHERE id = ?"
        return {term: self._one(find, term)[0] for term in ids}

    def vocabulary(self) -> dict[int, str]:
        """All terms by id."""
        return dict(self.connection.execute("SELECT id, text FROM term"))

    def holders(self, ids: Iterable[int]) -> NDArray[np.int64]:
        """Count the users who hold each of these terms."""
        find = "SELECT holders FROM term WHERE id = ?"
        return np.array([self._one(find, term)[0] for term in ids], np.int64)

    def forget_unused_terms(self, candidates: Iterable[int], shown: Iterable[int]) -> None:
        """Delete those candidates that nobody holds, unless a group shows them."""
        keep = set(shown)
        self.connection.executemany(
            "DELETE FROM term WHERE id = ? AND holders = 0",
            ((term,) for term in candidates if term not in keep),
        )

    # Groups

    def count_groups(self) -> int:
        return int(self._one("SELECT count(*) FROM team")[0])

    def shown(self, group: int) -> Shown | None:
        """Read what a group shows; None where there is no such group."""
        return next((shown for _, shown in self._shown("WHERE id = ?", group)), None)

    def all_shown(self) -> Iterator[tuple[int, Shown]]:
        return self._shown("ORDER BY id")

    def _shown(self, which: str, *values: int) -> Iterator[tuple[int, Shown]]:
        rows = self.connection.execute(f"SELECT id, size, terms, shares FROM team {which}", values)
        for group, size, terms, shares in rows:
            yield group, Shown(size, np.frombuffer(terms, np.int32), np.frombuffer(shares, np.float32))

    def form(self, shown: Shown, group: int | None = None) -> int:
        """A new group; its number is never one that another group had before."""
        done = self.connection.execute(
            "INSERT INTO team VALUES (?, ?, ?, ?)",
            (group, shown.size, shown.terms.tobytes(), shown.shares.tobytes()),
        )
        return int(done.lastrowid or 0)

    def show(self, group: int, shown: Shown) -> None:
        self.connection.execute(
            "UPDATE team SET size = ?, terms = ?, shares = ? WHERE id = ?",
            (shown.size, shown.terms.tobytes(), shown.shares.tobytes(), group),
        )

    def dissolve(self, group: int) -> None:
        """Delete a group; its users must have been put elsewhere."""
        self.connection.execute("DELETE FROM team WHERE id = ?", (group,))


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=600, check_same_thread=False)
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


MARKS = ("representatives.jsonl", f"operator/{FILE}")
"""By these files a folder of groups is told from any other."""


def write_groups(
    bundling: Bundling, bundler: Bundler, measured: Mapping[str, Any], folder: Path, *, replace: bool = False
) -> None:
    """Write a bundling, and the parameters it was made with, into a folder.

    Args:
        folder: must not exist, or be a folder of groups that is to be replaced.
        replace: put the new groups in the place of those that are there. A service that runs on the old ones
            must be started again.
    """
    check_output_folder(folder, force=replace, marks=MARKS)
    with atomic_directory(folder, replace=replace) as temporary:
        text = json.dumps(measured, indent=2, allow_nan=False)
        (temporary / "report.json").write_text(text + "\n", encoding="utf-8")
        (temporary / "operator").mkdir(mode=0o700)
        settings = {"settings": asdict(bundler), "key": secrets.token_hex(32)}
        with GroupsStore.create(temporary / "operator" / FILE, settings) as store:
            with store.transaction():
                fill(store, bundling)
            write_files(store, temporary)


def fill(store: GroupsStore, bundling: Bundling) -> None:
    """Write a bundling into an empty store."""
    profiles, released = bundling.profiles, bundling.released
    store.add_terms(profiles.vocabulary, np.bincount(profiles.terms, minlength=len(profiles.vocabulary)))
    for group in range(len(released)):
        held = released.held(group)
        store.form(Shown(int(bundling.sizes[group]), released.terms[held], released.weights[held]), group)
    rows = (profiles.held(row) for row in range(len(profiles)))
    store.add_rows(
        (user, int(label), profiles.terms[held], profiles.weights[held])
        for user, label, held in zip(profiles.users, bundling.labels, rows, strict=True)
    )


def write_files(store: GroupsStore, folder: Path) -> None:
    """Write both files of lines anew, each whole or not at all."""
    vocabulary = store.vocabulary()
    groups = (
        {"group": group, "members": shown.size, "terms": named_terms(shown, vocabulary)}
        for group, shown in store.all_shown()
    )
    write_lines(folder / "representatives.jsonl", groups)
    # In the order of names: the order of the input, or of the bundling, is nobody's business.
    rows = ({"user": user, "group": at.group, "member": at.member} for user, at in store.everybody())
    write_lines(folder / "operator" / "membership.jsonl", rows, mode=0o600)


def named_terms(shown: Shown, vocabulary: Mapping[int, str]) -> dict[str, float]:
    """Name what a group shows, in alphabetical order, with six digits."""
    pairs = zip(shown.terms.tolist(), shown.shares.tolist(), strict=True)
    return dict(sorted((vocabulary[term], float(f"{share:.6g}")) for term, share in pairs))


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]], mode: int = 0o644) -> None:
    """Write a JSON object a line, all of them or nothing."""
    with atomic_file(path, mode=mode) as temporary, temporary.open("w", encoding="utf-8") as lines:
        for row in rows:
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
