"""What goes out with a query and why; and the record, in the profile file, of every query that was sent."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tacit.device.profile.store import ProfileStore, utc_text
from tacit.device.sending.decision import OnlineProfiler, RuntimeProfile
from tacit.device.sending.interests import Chosen
from tacit.display import Displayed
from tacit.errors import InputError
from tacit.taxonomy import TopicTree


@dataclass(frozen=True, repr=False)
class Protection(Displayed):
    """What was decided for one query: what goes out with it, and why."""

    query: str
    upstream: str
    sent: bool
    reason: str
    delta: float
    topics: tuple[str, ...] = ()
    """The labels of the topics that are sent, from the root down; none where the query goes out alone."""
    hidden: tuple[str, ...] = ()
    """The labels of the topics that the query touches and that stay on the device."""
    risk: float = 0.0
    """The risk of what is sent (equation 15); 0 where nothing is."""
    utility: float = 0.0
    """The predicted gain in discriminating power (section 5.1.1); 0 where nothing is sent."""
    exposure: int | None = None
    """The entry's number in the exposure ledger; None for a preview, which is not recorded."""

    @property
    def message(self) -> dict[str, Any]:
        """Exactly what may leave the device, ready for JSON: the query, and the topics if any."""
        return {"query": self.query, "topics": list(self.topics)}

    @property
    def names(self) -> tuple[str, ...]:
        """The readable names of the most specific topics that are sent."""
        inner = {label.rpartition("/")[0] for label in self.topics}
        leaves = [label for label in self.topics if label not in inner]
        return tuple(label.rpartition("/")[2].replace("%2F", "/").replace("%25", "%") for label in leaves)

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("sent with it", ", ".join(self.topics) if self.topics else "nothing: the query goes alone"),
            ("why", self.reason),
            ("risk", f"{self.risk:.3g} of at most {self.delta:g}"),
            ("recorded", "no: a preview" if self.exposure is None else f"as exposure {self.exposure}"),
        ]

    def _summary(self) -> str:
        return f"Query to {self.upstream}, sent with {', '.join(self.names) or 'no topic'}"


def paper_protection(
    query: str, upstream: str, profiler: OnlineProfiler, found: RuntimeProfile
) -> Protection:
    """Explain to the owner what was decided by the paper's algorithm."""
    tree, general = profiler.profile.tree, found.generalisation
    touched = general.seed.node.tolist() if general is not None else []
    return Protection(
        query=query,
        upstream=upstream,
        sent=found.personalised,
        reason=str(found.decision),
        delta=profiler.delta,
        topics=tuple(tree.label(topic) for topic in found.exposed),
        hidden=tuple(tree.label(topic) for topic in touched if topic not in found.exposed),
        risk=general.risk if general is not None and found.personalised else 0.0,
        utility=general.utility if general is not None and found.personalised else 0.0,
    )


def interest_protection(
    query: str, upstream: str, tree: TopicTree, chosen: Chosen, delta: float
) -> Protection:
    """Explain to the owner which interests were chosen. Nothing marked is sent, so the risk is 0."""
    topics = sorted({one for topic in chosen.topics for one in (*tree.ancestors(topic), topic)})
    return Protection(
        query=query,
        upstream=upstream,
        sent=bool(topics),
        reason=str(chosen.decision),
        delta=delta,
        topics=tuple(tree.label(topic) for topic in topics),
    )


_ENTRY = "number, upstream, time, query, risk"


@dataclass(frozen=True)
class Exposure:
    """One query that was sent, and the topics that went with it."""

    number: int
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
    first: datetime
    labels: tuple[str, ...]


class ExposureLedger:
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
