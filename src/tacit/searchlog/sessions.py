"""Sessions: a user's history cut wherever the user paused.

Two records of one user, next to each other in time, belong to the same **session** when no more than
``gap`` lies between them (30 minutes unless said otherwise). So the sessions of a user partition the
user's history, in time order; within a session no pause is longer than the gap, between two sessions
every pause is.

Records of the same user and time always share a session, so the order in which a log lists them cannot
change a session number. Both forms below, over arrays and as a query, give the same numbers.

A time outside the years 1 to 9999 counts as the nearest inside: one record with an absurd time, which any
user may cause, must neither overflow the arithmetic nor stop the work on everybody else's.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import ParameterError

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = [
    "SESSION_GAP",
    "Column",
    "history_order",
    "microseconds",
    "sensible_instants",
    "sensible_time",
    "session_numbers",
    "session_starts",
    "user_codes",
    "with_pauses",
    "with_sessions",
]

SESSION_GAP = timedelta(minutes=30)
"""The pause that ends a session when it is exceeded."""

_EARLIEST, _LATEST = datetime.min, datetime.max.replace(microsecond=0)

Column: TypeAlias = pa.Array | pa.ChunkedArray | npt.NDArray[Any]


def microseconds(gap: timedelta) -> int:
    """A pause in whole microseconds; refused below 0."""
    if gap < timedelta(0):
        raise ParameterError.outside("the session gap", gap, "at least 0")
    return gap // timedelta(microseconds=1)


def user_codes(user: Column) -> npt.NDArray[Any]:
    """Users as numbers: equal exactly where the users are equal."""
    if isinstance(user, np.ndarray):
        return user if user.dtype.kind in "iu" else np.unique(user, return_inverse=True)[1]
    if isinstance(user, pa.ChunkedArray):
        user = user.combine_chunks()
    if not pa.types.is_dictionary(user.type):
        user = pc.dictionary_encode(user)
    return np.asarray(user.indices)


def _instants(time: Column) -> npt.NDArray[np.int64]:
    """Times as whole microseconds."""
    if not isinstance(time, np.ndarray):
        return np.asarray(pc.cast(time, pa.timestamp("us")).cast(pa.int64()))
    return time.astype("datetime64[us]").astype(np.int64)


def _sensible(instants: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    bounds = np.array([_EARLIEST, _LATEST], "datetime64[us]").astype(np.int64)
    return np.clip(instants, *bounds)


def sensible_instants(time: Column) -> npt.NDArray[np.int64]:
    """Times as whole microseconds within the years 1 to 9999."""
    return _sensible(_instants(time))


def sensible_time(time: Any) -> Any:
    """A column of times within the years 1 to 9999, as an Ibis expression: safe to add a pause to."""
    import ibis

    earliest, latest = (ibis.literal(bound, "timestamp(6)") for bound in (_EARLIEST, _LATEST))
    return ibis.least(ibis.greatest(time, earliest), latest)


def history_order(user: Column, time: Column) -> npt.NDArray[np.int64]:
    """The positions that put a log in order: user by user, by time, ties as they stood."""
    return np.lexsort((_instants(time), user_codes(user))).astype(np.int64, copy=False)


def _cut(
    user: Column, time: Column, gap: timedelta
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """The order of the histories and, in that order, where a user and where a session begins."""
    codes, instants, widest = user_codes(user), _instants(time), microseconds(gap)
    order = np.lexsort((instants, codes)).astype(np.int64, copy=False)
    codes, instants = codes[order], _sensible(instants[order])
    first = np.ones(len(order), np.bool_)
    first[1:] = codes[1:] != codes[:-1]
    starts = first.copy()
    starts[1:] |= instants[1:] - instants[:-1] > widest
    return order, first, starts


def session_starts(user: Column, time: Column, gap: timedelta = SESSION_GAP) -> npt.NDArray[np.bool_]:
    """Which records begin a session, in the order in which the log lists them.

    Args:
        user: who asked, a record each: an Arrow column, an array of strings or of whole numbers.
        time: when: an Arrow timestamp column or a ``datetime64`` array, in any order.
        gap: the longest pause inside a session.
    """
    order, _, starts = _cut(user, time, gap)
    listed = np.empty(len(order), np.bool_)
    listed[order] = starts
    return listed


def session_numbers(user: Column, time: Column, gap: timedelta = SESSION_GAP) -> npt.NDArray[np.int64]:
    """The session of each record: 0, 1, 2, … within its user, in the order in which the log lists them.

    Takes what :func:`session_starts` takes.
    """
    order, first, starts = _cut(user, time, gap)
    running = np.cumsum(starts)
    # Subtract from each record the running count at its user's first record: the user starts at 0.
    offsets = running[first]
    within: npt.NDArray[np.int64] = running - np.repeat(
        offsets, np.diff(np.append(np.flatnonzero(first), len(order)))
    )
    listed = np.empty(len(order), np.int64)
    listed[order] = within
    return listed


def with_pauses(table: ir.Table, gap: timedelta = SESSION_GAP) -> ir.Table:
    """``table`` with a column ``paused``: 1 where the user paused for longer than ``gap`` before, else 0.

    So a user has one session more than pauses. An Ibis expression over the columns ``user`` and ``time``.
    """
    import ibis

    longest = ibis.interval(microseconds=microseconds(gap))
    before = table.time.lag().over(ibis.window(group_by=table.user, order_by=table.time))
    paused = sensible_time(before) + longest < sensible_time(table.time)
    # The first record has none before it; some engines take the other bound for a missing one.
    return table.mutate(paused=ibis.ifelse(before.notnull() & paused, 1, 0))


def with_sessions(table: ir.Table, gap: timedelta = SESSION_GAP) -> ir.Table:
    """``table`` with a column ``session``: the session's number within its user, from 0.

    An Ibis expression over the columns ``user`` and ``time``; nothing runs until it is executed.
    """
    import ibis

    cut = with_pauses(table, gap)
    # A range frame takes in all records of the same time at once, so ties cannot be torn apart.
    up_to_now = ibis.range_window(group_by=cut.user, order_by=cut.time, preceding=None, following=0)
    return cut.mutate(session=cut.paused.sum().over(up_to_now)).drop("paused")
