"""Every request that left the machine, byte for byte, as the exposure page shows it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import UTC, datetime

from tacit.web.state import PageState
from tacit.web.upstreams.wire import Outgoing
from tacit.web.write_behind import WriteBehind

__all__ = ["SentRequest", "SentRequests"]


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
