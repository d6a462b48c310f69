"""The exposure ledger: a record, in the profile file, of every query that was sent and the topics with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from tacit.device.profile.store import ProfileStore, utc_text
from tacit.errors import InputError

_ENTRY = "number, upstream, time, query, risk"


@dataclass(frozen=True)
class Exposure:
    """One query that was sent, and the topics that went with it."""

    number: int
    """The entry's number in the ledger."""
    upstream: str
    time: datetime
    query: str
    risk: float
    """risk(q, G) of equation 15; 0 for the query alone."""
    labels: tuple[str, ...]
    """The paths of the topics that were sent, in alphabetical order."""


@dataclass(frozen=True)
class Disclosed:
    """A summary of what one upstream was sent."""

    upstream: str
    queries: int
    with_topics: int
    """How many of the queries took topics along."""
    first: datetime
    labels: tuple[str, ...]
    """All topics that were ever sent."""


class ExposureLedger:
    """The exposures recorded in a profile file."""

    def __init__(self, store: ProfileStore) -> None:
        self._store = store

    def record(self, upstream: str, query: str, labels: Iterable[str] = (), risk: float = 0.0) -> int:
        """Record what is about to be sent; it is on the disk when this (or the transaction around it) ends.

        Returns:
            The number of the entry.
        """
        if not upstream.strip():
            raise InputError("an upstream needs a name.", "Give its address, or any word.")
        with self._store.transaction() as connection:
            number = connection.execute(
                "INSERT INTO exposure (upstream, time, query, risk) VALUES (?, ?, ?, ?)",
                (upstream.strip(), utc_text(datetime.now(UTC)), query, risk),
            ).lastrowid
            assert number is not None
            connection.executemany("INSERT INTO exposed VALUES (?, ?)", [(number, one) for one in labels])
        return number

    def history(self, upstream: str | None = None) -> list[Exposure]:
        """List everything that was sent (to one upstream), oldest first."""
        rows = self._store.connection.execute(
            f"SELECT {_ENTRY} FROM exposure WHERE ?1 IS NULL OR upstream = ?1 ORDER BY time, number",
            (upstream,),
        ).fetchall()
        return [self._entry(*row) for row in rows]

    def entries(self, numbers: Iterable[int]) -> dict[int, Exposure]:
        """Look entries up by their numbers; those that are gone are left out."""
        connection = self._store.connection
        selection = f"SELECT {_ENTRY} FROM exposure WHERE number = ?"
        rows = (connection.execute(selection, (number,)).fetchone() for number in numbers)
        return {row[0]: self._entry(*row) for row in rows if row is not None}

    def _entry(self, number: int, upstream: str, time: str, query: str, risk: float) -> Exposure:
        rows = self._store.connection.execute(
            "SELECT label FROM exposed WHERE exposure = ? ORDER BY label", (number,)
        )
        labels = tuple(label for (label,) in rows)
        return Exposure(number, upstream, datetime.fromisoformat(time), query, risk, labels)

    def disclosed(self) -> list[Disclosed]:
        """Sum up what each upstream was sent, by name."""
        connection = self._store.connection
        labels: dict[str, list[str]] = {}
        for upstream, label in connection.execute(
            "SELECT DISTINCT upstream, label FROM exposed JOIN exposure ON exposure = number ORDER BY label"
        ):
            labels.setdefault(upstream, []).append(label)
        rows = connection.execute(
            "SELECT upstream, count(*), min(time), "
            "sum(EXISTS (SELECT 1 FROM exposed WHERE exposure = number)) FROM exposure "
            "GROUP BY upstream ORDER BY upstream"
        )
        return [
            Disclosed(name, queries, told, datetime.fromisoformat(first), tuple(labels.get(name, ())))
            for name, queries, first, told in rows
        ]

    def forget(self, numbers: Iterable[int] = (), upstream: str | None = None) -> int:
        """Remove entries, or all of one upstream, and count them. What was sent stays sent."""
        with self._store.transaction() as connection:
            removal = "DELETE FROM exposure WHERE number = ? OR upstream = ?"
            asked = [(one, None) for one in numbers] if upstream is None else [(None, upstream)]
            return sum(connection.execute(removal, one).rowcount for one in asked)
