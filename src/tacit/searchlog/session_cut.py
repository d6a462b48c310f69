"""How a log's histories are cut into sessions: by pauses alone, or by pauses and words.

Chosen per log and stated wherever sessions are counted. Words are the usual choice: a pause alone cuts
through tasks that somebody comes back to after lunch and glues together tasks that follow each other within
minutes (:mod:`tacit.searchlog.session_words`). Pauses alone are what the papers use, and run on any engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import ParameterError
from tacit.searchlog.session_words import LONG_PAUSE, session_numbers_by_words, session_starts_by_words
from tacit.searchlog.sessions import SESSION_GAP, Column, session_numbers, session_starts

__all__ = [
    "BY_PAUSES",
    "LONGEST_GAP",
    "SessionCut",
    "SessionMethod",
    "by_whole_users",
    "with_begins",
    "with_session_numbers",
]

_ROWS = 1 << 20
LONGEST_GAP = timedelta(days=100 * 366)
"""Longer than any log."""


class SessionMethod(StrEnum):
    """What ends a session."""

    TIME = "time"
    """A pause longer than the gap, 30 minutes unless said otherwise."""
    WORDS = "words"
    """A pause longer than the gap, 90 minutes unless said otherwise; or a shorter one and other words."""


@dataclass(frozen=True)
class SessionCut:
    """How histories are cut into sessions.

    Args:
        method: what ends a session.
        gap: the longest pause inside a session; the method's usual one when absent.
    """

    method: SessionMethod = SessionMethod.WORDS
    gap: timedelta | None = None

    def __post_init__(self) -> None:
        if self.gap is not None and not timedelta(0) <= self.gap <= LONGEST_GAP:
            most = LONGEST_GAP // timedelta(minutes=1)
            raise ParameterError.outside("session_gap", self.gap, f"from 0 to {most} minutes")

    @classmethod
    def of(cls, method: str, gap_minutes: float | None = None) -> SessionCut:
        """As ``--sessions`` and ``--session-gap`` say it."""
        if method not in tuple(SessionMethod):
            raise ParameterError.outside("sessions", repr(method), f"one of {', '.join(SessionMethod)}")
        most = LONGEST_GAP // timedelta(minutes=1)
        if gap_minutes is not None and not 0 <= gap_minutes <= most:
            raise ParameterError.outside("session_gap", gap_minutes, f"from 0 to {most} minutes")
        return cls(SessionMethod(method), None if gap_minutes is None else timedelta(minutes=gap_minutes))

    @property
    def longest_pause(self) -> timedelta:
        """The longest pause inside a session."""
        if self.gap is not None:
            return self.gap
        return SESSION_GAP if self.method is SessionMethod.TIME else LONG_PAUSE

    def settled(self) -> SessionCut:
        """The same with the gap stated."""
        return SessionCut(self.method, self.longest_pause)

    def starts(self, user: Column, time: Column, query: Column) -> npt.NDArray[np.bool_]:
        """Which records begin a session, in the order in which they are listed."""
        if self.method is SessionMethod.TIME:
            return session_starts(user, time, self.longest_pause)
        return session_starts_by_words(user, time, query, self.longest_pause)

    def numbers(self, user: Column, time: Column, query: Column) -> npt.NDArray[np.int64]:
        """The session of each record, from 0 within its user, in the order in which they are listed."""
        if self.method is SessionMethod.TIME:
            return session_numbers(user, time, self.longest_pause)
        return session_numbers_by_words(user, time, query, self.longest_pause)

    def to_dict(self) -> dict[str, Any]:
        """For a manifest or a result."""
        return {"method": str(self.method), "gap_seconds": self.longest_pause.total_seconds()}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> SessionCut:
        """What ``to_dict`` wrote."""
        return cls(SessionMethod(form["method"]), timedelta(seconds=form["gap_seconds"]))

    def __str__(self) -> str:
        minutes = f"{self.longest_pause / timedelta(minutes=1):g} minutes"
        if self.method is SessionMethod.TIME:
            return f"sessions end after a pause of more than {minutes}"
        return f"sessions end after a pause of more than {minutes}, or a shorter one and other words"


BY_PAUSES = SessionCut(SessionMethod.TIME, SESSION_GAP)
"""Sessions as the papers cut them, which an engine does by itself."""


def by_whole_users(batches: Iterable[pa.RecordBatch], rows: int = _ROWS) -> Iterator[pa.Table]:
    """Batches in which each ``user`` stands together, as tables of about ``rows`` that split no user."""
    waiting: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        waiting.append(batch)
        held += batch.num_rows
        if held < rows:
            continue
        table = pa.Table.from_batches(waiting)
        users = table.column("user")
        last = pc.index(users, users[-1]).as_py()  # where the last user begins, who may go on
        if last:
            yield table.slice(0, last)
            table = table.slice(last)
        waiting, held = table.to_batches(), table.num_rows
    if held:
        yield pa.Table.from_batches(waiting)


def with_session_numbers(batches: Iterable[pa.RecordBatch], cut: SessionCut) -> Iterator[pa.Table]:
    """Records, user by user, with a column ``session``: the session's number within its user, from 0."""
    for table in by_whole_users(batches):
        numbers = cut.numbers(table.column("user"), table.column("time"), table.column("query"))
        yield table.append_column("session", pa.array(numbers))


def with_begins(batches: Iterable[pa.RecordBatch], cut: SessionCut) -> Iterator[pa.Table]:
    """The searches (user, time, query), user by user, with a column ``begins``: whether a session begins."""
    for table in by_whole_users(batches):
        begins = cut.starts(table.column("user"), table.column("time"), table.column("query"))
        yield table.append_column("begins", pa.array(begins))
