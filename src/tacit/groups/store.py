"""A folder of groups: what may be shown, and apart from it the operator's file of who is in which group.

Its files are described in docs/reference/commands/group.md. All of it appears at once, or nothing does. The
two files of lines repeat what ``groups.sqlite`` holds; ``Groups.publish`` writes them again. Every change of
the database is one transaction, so the state is whole after a crash. Deleted rows are overwritten in the file
(``secure_delete``).
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from tacit.errors import InputError, IntegrityError
from tacit.files import atomic_file
from tacit.groups.bundling import MOST_USERS
from tacit.groups.cohorts import Standing
from tacit.groups.criterion import Representative

FILE = "groups.sqlite"
WAITING = -1
"""In place of a group's number: a newcomer to groups of words who waits for a batch."""
_FORMAT = 5


@dataclass(frozen=True)
class Place:
    """Where a user stands: the group whose profile serves the user, if there is one."""

    group: int | None
    places: tuple[int, ...] = ()
    """All cohorts of the user, the first of which is the group; empty for groups of words."""


class Store:
    """A file of settings and users in SQLite, without any rule about what may stand in it."""

    tables: ClassVar[Sequence[str]] = ()

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            problem = f"there is no groups file at {path}."
            raise InputError(problem, "Make the folder with `tacit group LOG -o DIR` first.")
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
        """Make all changes inside, or none; one writer at a time."""
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

    def membership(self) -> Iterator[dict[str, Any]]:
        """Say who is where, in the order of names: that of the input or the bundling is nobody's business."""
        raise NotImplementedError

    def delete(self, user: str) -> None:
        self.connection.execute("DELETE FROM user WHERE name = ?", (user,))

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

    def membership(self) -> Iterator[dict[str, Any]]:
        return ({"user": name, "places": list(person.places)} for name, person in self.people())


def _person(places: bytes, keys: bytes) -> Standing:
    pairs = np.frombuffer(keys, np.int32).reshape(-1, 2).tolist()
    return Standing(tuple(places), tuple((cohort, word) for cohort, word in pairs))


class GroupsStore(Store):
    """People in groups of words: their terms, and what each group shows."""

    tables = (
        "CREATE TABLE user (name TEXT PRIMARY KEY, team INTEGER, terms TEXT NOT NULL) WITHOUT ROWID",
        "CREATE INDEX user_by_team ON user (team)",  # NULL: no group, nor will there be one
        "CREATE TABLE team (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, terms TEXT NOT NULL)",
    )

    def add(self, people: Iterable[tuple[str, int, Iterable[str]]]) -> None:
        """Add people by name, group and terms."""
        rows = ((user, group, json.dumps([*terms])) for user, group, terms in people)
        self.connection.executemany("INSERT INTO user VALUES (?, ?, ?)", rows)

    def place(self, user: str) -> Place | None:
        row = self._one("SELECT nullif(team, ?) FROM user WHERE name = ?", WAITING, user)
        return Place(row[0]) if row else None

    def everybody(self) -> Iterator[tuple[str, Place, set[str]]]:
        every = "SELECT name, nullif(team, ?), terms FROM user ORDER BY name"
        for name, team, terms in self.connection.execute(every, (WAITING,)):
            yield name, Place(team), set(json.loads(terms))

    def membership(self) -> Iterator[dict[str, Any]]:
        return ({"user": name, "group": place.group} for name, place, _ in self.everybody())

    def members(self, group: int) -> dict[str, set[str]]:
        """The terms of a group's members."""
        rows = self.connection.execute("SELECT name, terms FROM user WHERE team = ? ORDER BY name", (group,))
        return {name: set(json.loads(terms)) for name, terms in rows}

    def count_groups(self) -> int:
        return int(self._one("SELECT count(*) FROM team")[0])

    def shown(self, group: int) -> Representative | None:
        """Read what a group shows; None where there is no such group."""
        return next(self._shown("WHERE id = ?", group), None)

    def all_shown(self) -> Iterator[Representative]:
        return self._shown("ORDER BY id")

    def _shown(self, which: str, *values: int) -> Iterator[Representative]:
        for group, size, terms in self.connection.execute(
            f"SELECT id, size, terms FROM team {which}", values
        ):
            yield Representative(group, size, json.loads(terms))

    def show(self, shown: Representative) -> None:
        """Let a group show this from now on."""
        row = (shown.group, shown.members, json.dumps(shown.terms))
        self.connection.execute("INSERT OR REPLACE INTO team VALUES (?, ?, ?)", row)

    def seat(self, users: Iterable[str]) -> int:
        """Seat a batch under a number that no group had; it is above those of groups of similar people."""
        number = self.meta("next batch") or MOST_USERS
        self.set_meta("next batch", number + 1)
        rows = ((number, user) for user in users)
        self.connection.executemany("UPDATE user SET team = ? WHERE name = ?", rows)
        return int(number)

    def dissolve(self, group: int) -> None:
        """Delete a group; nobody is in it any more."""
        self.connection.execute("UPDATE user SET team = NULL WHERE team = ?", (group,))
        self.connection.execute("DELETE FROM team WHERE id = ?", (group,))


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=600, check_same_thread=False)
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


MARKS = ("representatives.jsonl", f"operator/{FILE}")
"""By these files a folder of groups is told from any other."""


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]], mode: int = 0o644) -> None:
    """Write a JSON object a line, all of them or nothing."""
    with atomic_file(path, mode=mode) as temporary, temporary.open("w", encoding="utf-8") as lines:
        for row in rows:
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
