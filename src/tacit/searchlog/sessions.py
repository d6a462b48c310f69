"""Sessions: a user's history, cut by pauses alone or by pauses and words.

**By time**: two consecutive records of one user belong to the same session when no more than ``gap`` lies
between them (30 minutes by default). This is what the papers use, and it runs on any engine.

**By words** (the default): a pause alone cuts through tasks that somebody comes back to after lunch, and
  joins
tasks that follow each other within minutes. A search begins a session when it is the user's first; after a
pause of more than ``gap`` (90 minutes by default); or after a pause of more than a minute, if it shares
less than a quarter of its character trigrams (overlap coefficient) with each of the user's last three
different queries. Queries are compared in lower case and without ``http://``, ``www.``, ``.com`` and the
like,
so that an address and the name typed for it are close. A query without words (empty, or ``-`` as in AOL's
log)
begins no session before the long pause, and is not compared with.

Sessions partition a user's history in time order. Records of the same user and time always share a session,
so the order in which a log lists them cannot change a session number. Only the one user's records are
looked at.

A time outside the years 1 to 9999 counts as the nearest inside: one record with an absurd time, which any
user may cause, must neither overflow the arithmetic nor stop the work on everybody else's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.compiled import compiled
from tacit.errors import ParameterError
from tacit.searchlog.loops.trigrams import overlap, trigrams_of

if TYPE_CHECKING:
    import ibis.expr.types as ir


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


SHORT_PAUSE = timedelta(minutes=1)
"""Up to this pause a search always goes on with the session."""
LONG_PAUSE = timedelta(minutes=90)
"""Beyond this pause it always begins one."""
SHARED = 0.25
"""The overlap coefficient from which on a search goes on with what was asked before."""
_REMEMBERED = 3

_ADDRESS_PARTS = r"https?://|\bwww\.|\.(?:com|net|org|edu|gov|mil|info|biz|us|ca|de|fr|it|es|nl|ru|jp|co\.[a-z]{2}|com\.[a-z]{2})\b"


def compared_text(queries: Any) -> Any:
    """A column of queries as they are compared with each other."""
    texts = pc.utf8_lower(queries)
    # Most queries hold no address and single spaces: only the others need a second look.
    addresses = pc.or_(pc.match_substring(texts, "."), pc.match_substring(texts, "://"))
    texts = _replaced(texts, addresses, _ADDRESS_PARTS, "")
    texts = _replaced(texts, pc.match_substring_regex(texts, r"[\t\r\n\v\f]|  "), r"\s+", " ")
    texts = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(texts, "-"), "", texts)


def _replaced(texts: Any, where: Any, pattern: str, replacement: str) -> Any:
    """``texts`` with ``pattern`` replaced, looked for only ``where`` it may be found."""
    some = pc.replace_substring_regex(texts.filter(where), pattern, replacement)
    return pc.replace_with_mask(texts, where, some)


@compiled
def _starts(
    user: npt.NDArray[np.int64],
    instants: npt.NDArray[np.int64],
    text: npt.NDArray[np.int64],
    short: int,
    long: int,
    shared: float,
    values: npt.NDArray[np.uint64],
    start: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Which records, user by user in order of time, begin a session."""
    begins = np.zeros(user.size, np.bool_)
    recent = np.full(_REMEMBERED, -1, np.int64)
    for n in range(user.size):
        if n == 0 or user[n] != user[n - 1]:
            begins[n] = True
            recent[:] = -1
        else:
            pause = instants[n] - instants[n - 1]
            if pause > long:
                begins[n] = True
            elif pause > short and size[text[n]] > 0:
                new = True
                for before in recent:
                    if before >= 0 and (
                        before == text[n] or overlap(int(text[n]), int(before), values, start, size) >= shared
                    ):
                        new = False
                        break
                begins[n] = new
        if size[text[n]] > 0 and recent[0] != text[n]:
            # The latest of the different queries first; one asked again moves to the front.
            place = _REMEMBERED - 1
            for at in range(_REMEMBERED):
                if recent[at] == text[n]:
                    place = at
                    break
            for at in range(place, 0, -1):
                recent[at] = recent[at - 1]
            recent[0] = text[n]
    return begins


def _cut_session_words(
    user: Column, time: Column, query: Column, gap: timedelta
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """The order of the histories and, in that order, the users and where a session begins."""
    if isinstance(query, np.ndarray):
        query = pa.array(query, pa.string())
    if isinstance(query, pa.ChunkedArray):
        query = query.combine_chunks()
    if isinstance(query, pa.ChunkedArray):  # several chunks of an empty or very large column stay apart
        query = pa.concat_arrays(query.chunks) if query.num_chunks else pa.array([], pa.string())
    if not len(query):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_)
    written = query if pa.types.is_dictionary(query.type) else pc.dictionary_encode(query)
    in_order = np.asarray(pc.rank(written.dictionary, tiebreaker="dense")).astype(np.int64)
    compared = pc.dictionary_encode(compared_text(written.dictionary))
    grams = trigrams_of(compared.dictionary)
    asked = np.asarray(written.indices).astype(np.int64)
    codes, instants = user_codes(user), sensible_instants(time)
    order = np.lexsort((in_order[asked], instants, codes))
    text = np.asarray(compared.indices).astype(np.int64)[asked]
    begins = _starts(
        codes[order].astype(np.int64),
        instants[order],
        text[order],
        microseconds(SHORT_PAUSE),
        microseconds(gap),
        SHARED,
        grams.values,
        grams.start,
        grams.size,
    )
    return order, codes[order], begins


def session_starts_by_words(
    user: Column, time: Column, query: Column, gap: timedelta = LONG_PAUSE
) -> npt.NDArray[np.bool_]:
    """Which records begin a session, in the order in which the log lists them.

    Args:
        user: who asked, a record each: an Arrow column, an array of strings or of whole numbers.
        time: when: an Arrow timestamp column or a ``datetime64`` array, in any order.
        query: what was asked: an Arrow column of strings, without nulls, or an array of them.
        gap: the pause beyond which a session ends, whatever is asked next.
    """
    order, _, begins = _cut_session_words(user, time, query, gap)
    listed = np.empty(len(order), np.bool_)
    listed[order] = begins
    return listed


def session_numbers_by_words(
    user: Column, time: Column, query: Column, gap: timedelta = LONG_PAUSE
) -> npt.NDArray[np.int64]:
    """The session of each record: 0, 1, 2, … within its user, in the order in which the log lists them.

    Takes what :func:`session_starts_by_words` takes.
    """
    order, codes, begins = _cut_session_words(user, time, query, gap)
    running = np.cumsum(begins) - 1
    first = np.ones(len(order), np.bool_)
    first[1:] = codes[1:] != codes[:-1]
    sizes = np.diff(np.append(np.flatnonzero(first), len(order)))
    listed = np.empty(len(order), np.int64)
    listed[order] = running - np.repeat(running[first], sizes)
    return listed


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
