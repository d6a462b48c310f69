"""Sessions: two consecutive records of one user belong together when no long pause lies between them.

The longest pause inside a session is 30 minutes unless another is asked for, as in the papers. Records of the
same user and time always share a session, so the order in which a log lists them changes no session number.

A time outside the years 1 to 9999 counts as the nearest inside: one absurd record must not stop the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import ParameterError
from tacit.validation import real

if TYPE_CHECKING:
    import ibis.expr.types as ir

SESSION_GAP = timedelta(minutes=30)
"""A longer pause ends a session."""
LONGEST_GAP = timedelta(days=100 * 366)
"""Longer than any log."""
_MOST_MINUTES = LONGEST_GAP // timedelta(minutes=1)
_GAPS = f"from 0 to {_MOST_MINUTES} minutes"

_EARLIEST, _LATEST = datetime.min, datetime.max.replace(microsecond=0)
_MICROSECOND = timedelta(microseconds=1)
_METHOD = "time"
"""How stored forms call the one rule there is."""

Column: TypeAlias = pa.Array | pa.ChunkedArray | npt.NDArray[Any]
Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SessionCut:
    """How histories are cut into sessions: the one rule, for every command and function.

    Args:
        gap: the longest pause inside a session.
    """

    gap: timedelta = SESSION_GAP

    def __post_init__(self) -> None:
        if not timedelta(0) <= self.gap <= LONGEST_GAP:
            raise ParameterError.outside("session_gap", self.gap, _GAPS)

    @classmethod
    def of(cls, minutes: float | None) -> SessionCut:
        """Read the parameter ``session_gap``, in minutes."""
        if minutes is not None and not 0 <= real("session_gap", minutes, _GAPS) <= _MOST_MINUTES:
            raise ParameterError.outside("session_gap", minutes, _GAPS)
        return cls() if minutes is None else cls(timedelta(minutes=minutes))

    def numbers(self, user: Column, time: Column) -> Numbers:
        """Number the session of each record, from 0 within its user, as the log lists them.

        Args:
            user: the user of each record: an Arrow column, an array of strings or of whole numbers.
            time: an Arrow timestamp column or a ``datetime64`` array, in any order.
        """
        codes, instants = _user_codes(user), _instants(time)
        order = np.lexsort((instants, codes))
        codes, instants = codes[order], np.clip(instants[order], *_instants(np.array([_EARLIEST, _LATEST])))
        first = np.ones(len(codes), np.bool_)
        first[1:] = codes[1:] != codes[:-1]
        starts = first.copy()
        starts[1:] |= instants[1:] - instants[:-1] > self.gap // _MICROSECOND
        running = np.cumsum(starts)
        # Subtract from each record the running count at its user's first record: the user starts at 0.
        sizes = np.diff(np.append(np.flatnonzero(first), len(order)))
        listed = np.empty(len(order), np.int64)
        listed[order] = running - np.repeat(running[first], sizes)
        return listed

    def numbered(self, log: ir.Table) -> ir.Table:
        """Add a column ``session`` to a log on an engine: what :meth:`numbers` says."""
        import ibis

        moments = with_pauses(log.select("user", "time").distinct(), self.gap)
        so_far = ibis.cumulative_window(group_by=moments.user, order_by=moments.time)
        numbers = moments.mutate(session=moments.paused.sum().over(so_far)).drop("paused")
        return log.inner_join(numbers, ["user", "time"])

    def to_dict(self) -> dict[str, Any]:
        """Write the rule for a manifest or a result."""
        return {"method": _METHOD, "gap_seconds": self.gap.total_seconds()}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> SessionCut:
        """Read what :meth:`to_dict` wrote."""
        if form["method"] != _METHOD:
            raise ParameterError.outside("the method of sessions", form["method"], _METHOD)
        return cls(timedelta(seconds=form["gap_seconds"]))

    def __str__(self) -> str:
        return f"sessions end after a pause of more than {self.gap / timedelta(minutes=1):g} minutes"


BY_PAUSES = SessionCut()
"""Sessions as the papers cut them, which needs no numbers."""


def _user_codes(user: Column) -> npt.NDArray[Any]:
    """Users as numbers: equal exactly where the users are equal."""
    column = pa.array(user) if isinstance(user, np.ndarray) else user
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    coded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
    return np.asarray(coded.indices)


def _instants(time: Column) -> Numbers:
    return np.asarray(time).astype("datetime64[us]").astype(np.int64)


def sensible_time(time: Any) -> Any:
    """Bound a column of times, an Ibis expression, to the years 1 to 9999: a pause can be added safely."""
    import ibis

    earliest, latest = (ibis.literal(bound, "timestamp(6)") for bound in (_EARLIEST, _LATEST))
    return ibis.least(ibis.greatest(time, earliest), latest)


def with_pauses(table: ir.Table, gap: timedelta = SESSION_GAP) -> ir.Table:
    """Add a column ``paused``: 1 where the user paused for longer than ``gap`` before the record, else 0.

    So a user has one session more than pauses. An Ibis expression over the columns ``user`` and ``time``.
    """
    import ibis

    longest = ibis.interval(microseconds=gap // _MICROSECOND)
    before = table.time.lag().over(ibis.window(group_by=table.user, order_by=table.time))
    paused = sensible_time(before) + longest < sensible_time(table.time)
    # The first record has none before it; some engines take the other bound for a missing one.
    return table.mutate(paused=ibis.ifelse(before.notnull() & paused, 1, 0))
