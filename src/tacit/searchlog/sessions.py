"""Sessions: a user's history, cut by pauses alone or by pauses and words.

**By time**, the default of every command and function: two consecutive records of one user belong to the same
session when no more than ``gap`` lies between them (30 minutes by default). This is what the papers use, it
runs on any engine, and so the sessions that statistics count are those that a release publishes.

**By words**: a pause alone cuts through tasks that somebody comes back to after lunch, and
joins tasks that follow each other within minutes. A search begins a session when it is the user's first;
after a pause of more than ``gap`` (90 minutes by default); or after a pause of more than a minute, if it
shares less than a quarter of its character trigrams (overlap coefficient) with each of the user's last three
different queries. Queries are compared in lower case and without ``http://``, ``www.``, ``.com`` and the
like, so that an address and the name typed for it are close. A query without words (empty, or ``-`` as in
AOL's log) begins no session before the long pause, and is not compared with.

Sessions partition a user's history in time order. Records of the same user and time always share a session,
so the order in which a log lists them cannot change a session number. Only the one user's records matter.

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

from tacit.errors import ParameterError
from tacit.searchlog.schema import WORDLESS
from tacit.validation import real, shown

if TYPE_CHECKING:
    import ibis.expr.types as ir

SESSION_GAP = timedelta(minutes=30)
"""By time: a longer pause ends a session."""
SHORT_PAUSE, LONG_PAUSE = timedelta(minutes=1), timedelta(minutes=90)
"""By words: up to the first a search always continues the session, beyond the second it always begins one."""
SHARED = 0.25
"""By words: the overlap coefficient from which on a search continues a session."""
LONGEST_GAP = timedelta(days=100 * 366)
"""Longer than any log."""

_EARLIEST, _LATEST = datetime.min, datetime.max.replace(microsecond=0)
_ROWS = 1 << 20
_ADDRESS_PARTS = r"https?://|\bwww\.|\.(?:com|net|org|edu|gov|mil|info|biz|us|ca|de|fr|it|es|nl|ru|jp|co\.[a-z]{2}|com\.[a-z]{2})\b"

Column: TypeAlias = pa.Array | pa.ChunkedArray | npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]
Numbers: TypeAlias = npt.NDArray[np.int64]


class SessionMethod(StrEnum):
    """What ends a session."""

    TIME = "time"
    """A pause longer than the gap, 30 minutes by default."""
    WORDS = "words"
    """A pause longer than the gap, 90 minutes by default; or a shorter one and other words."""


@dataclass(frozen=True)
class SessionCut:
    """How histories are cut into sessions: the one rule, for every command and function.

    Args:
        method: what ends a session.
        gap: the longest pause inside a session, from 0; the method's default when absent.
    """

    method: SessionMethod = SessionMethod.TIME
    gap: timedelta | None = None

    def __post_init__(self) -> None:
        if self.gap is not None and not timedelta(0) <= self.gap <= LONGEST_GAP:
            most = LONGEST_GAP // timedelta(minutes=1)
            raise ParameterError.outside("session_gap", self.gap, f"from 0 to {most} minutes")

    @classmethod
    def of(cls, method: str, gap_minutes: float | None = None) -> SessionCut:
        """Read the parameters ``sessions`` (time or words) and ``session_gap`` (minutes)."""
        if not isinstance(method, str) or method not in tuple(SessionMethod):
            raise ParameterError.outside("sessions", shown(method), f"one of {', '.join(SessionMethod)}")
        most = LONGEST_GAP // timedelta(minutes=1)
        rule = f"from 0 to {most} minutes"
        if gap_minutes is not None and not 0 <= real("session_gap", gap_minutes, rule) <= most:
            raise ParameterError.outside("session_gap", gap_minutes, rule)
        return cls(SessionMethod(method), None if gap_minutes is None else timedelta(minutes=gap_minutes))

    @property
    def longest_pause(self) -> timedelta:
        if self.gap is not None:
            return self.gap
        return SESSION_GAP if self.method is SessionMethod.TIME else LONG_PAUSE

    def settled(self) -> SessionCut:
        return SessionCut(self.method, self.longest_pause)

    def starts(self, user: Column, time: Column, query: Column) -> Mask:
        """Find the records that begin a session, in the order in which the log lists them.

        Args:
            user: the user of each record: an Arrow column, an array of strings or of whole numbers.
            time: an Arrow timestamp column or a ``datetime64`` array, in any order.
            query: an Arrow column or array of strings, without nulls; read only by words.
        """
        order, _, starts = self._cut(user, time, query)
        listed = np.empty(len(order), np.bool_)
        listed[order] = starts
        return listed

    def numbers(self, user: Column, time: Column, query: Column) -> Numbers:
        """Number the session of each record, from 0 within its user; takes what :meth:`starts` takes."""
        order, first, starts = self._cut(user, time, query)
        running = np.cumsum(starts)
        # Subtract from each record the running count at its user's first record: the user starts at 0.
        sizes = np.diff(np.append(np.flatnonzero(first), len(order)))
        listed = np.empty(len(order), np.int64)
        listed[order] = running - np.repeat(running[first], sizes)
        return listed

    def _cut(self, user: Column, time: Column, query: Column) -> tuple[Numbers, Mask, Mask]:
        """The order of the histories and, in that order, where a user and where a session begins."""
        codes, instants, longest = _user_codes(user), _instants(time), _microseconds(self.longest_pause)
        if self.method is SessionMethod.WORDS and len(codes):
            return _cut_by_words(codes, _sensible(instants), query, longest)
        order = np.lexsort((instants, codes)).astype(np.int64, copy=False)
        codes, instants = codes[order], _sensible(instants[order])
        first = _firsts(codes)
        starts = first.copy()
        starts[1:] |= instants[1:] - instants[:-1] > longest
        return order, first, starts

    def to_dict(self) -> dict[str, Any]:
        """Write the rule for a manifest or a result."""
        return {"method": str(self.method), "gap_seconds": self.longest_pause.total_seconds()}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> SessionCut:
        """Read what :meth:`to_dict` wrote."""
        return cls(SessionMethod(form["method"]), timedelta(seconds=form["gap_seconds"]))

    def __str__(self) -> str:
        minutes = f"{self.longest_pause / timedelta(minutes=1):g} minutes"
        if self.method is SessionMethod.TIME:
            return f"sessions end after a pause of more than {minutes}"
        return f"sessions end after a pause of more than {minutes}, or a shorter one and other words"


BY_PAUSES = SessionCut(SessionMethod.TIME, SESSION_GAP)
"""Sessions as the papers cut them, which an engine does by itself."""


def _microseconds(gap: timedelta) -> int:
    return gap // timedelta(microseconds=1)


def _user_codes(user: Column) -> npt.NDArray[Any]:
    """Users as numbers: equal exactly where the users are equal."""
    if isinstance(user, np.ndarray):
        return user if user.dtype.kind in "iu" else np.unique(user, return_inverse=True)[1]
    if isinstance(user, pa.ChunkedArray):
        user = user.combine_chunks()
    if not pa.types.is_dictionary(user.type):
        user = pc.dictionary_encode(user)
    return np.asarray(user.indices)


def _instants(time: Column) -> Numbers:
    if not isinstance(time, np.ndarray):
        return np.asarray(pc.cast(time, pa.timestamp("us")).cast(pa.int64()))
    return time.astype("datetime64[us]").astype(np.int64)


def _sensible(instants: Numbers) -> Numbers:
    bounds = np.array([_EARLIEST, _LATEST], "datetime64[us]").astype(np.int64)
    return np.clip(instants, *bounds)


def _firsts(codes: npt.NDArray[Any]) -> Mask:
    """Find which records are the first of their user, in records ordered by user."""
    first = np.ones(len(codes), np.bool_)
    first[1:] = codes[1:] != codes[:-1]
    return first


def _cut_by_words(
    codes: npt.NDArray[Any], instants: Numbers, query: Column, longest: int
) -> tuple[Numbers, Mask, Mask]:
    from tacit.searchlog.loops.sessions import starts_by_words, trigrams_of

    if isinstance(query, pa.ChunkedArray):
        query = query.combine_chunks()
    if isinstance(query, pa.ChunkedArray):  # the chunks of a very large column stay apart
        query = pa.concat_arrays(query.chunks)
    if isinstance(query, np.ndarray):
        query = pa.array(query, pa.string())
    written = query if pa.types.is_dictionary(query.type) else pc.dictionary_encode(query)
    alphabetical = np.asarray(pc.rank(written.dictionary, tiebreaker="dense")).astype(np.int64)
    compared = pc.dictionary_encode(compared_text(written.dictionary))
    grams = trigrams_of(compared.dictionary)
    searched = np.asarray(written.indices).astype(np.int64)
    order = np.lexsort((alphabetical[searched], instants, codes))
    text = np.asarray(compared.indices).astype(np.int64)[searched]
    codes = codes[order].astype(np.int64)
    pauses = _microseconds(SHORT_PAUSE), longest
    starts = starts_by_words(
        codes, instants[order], text[order], *pauses, SHARED, grams.values, grams.start, grams.size
    )
    return order, _firsts(codes), starts


def compared_text(queries: Any) -> Any:
    """A column of queries as they are compared with each other."""
    texts = pc.utf8_lower(queries)
    # Most queries hold no address and single spaces: only the others need a second look.
    addresses = pc.or_(pc.match_substring(texts, "."), pc.match_substring(texts, "://"))
    texts = _replaced(texts, addresses, _ADDRESS_PARTS, "")
    texts = _replaced(texts, pc.match_substring_regex(texts, r"[\t\r\n\v\f]|  "), r"\s+", " ")
    texts = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(texts, WORDLESS), "", texts)


def _replaced(texts: Any, where: Any, pattern: str, replacement: str) -> Any:
    """``texts`` with ``pattern`` replaced, searched only ``where`` it may be found."""
    some = pc.replace_substring_regex(texts.filter(where), pattern, replacement)
    return pc.replace_with_mask(texts, where, some)


def history_order(user: Column, time: Column) -> Numbers:
    """Find the positions that put a log in order: user by user, by time, ties as they stood."""
    return np.lexsort((_instants(time), _user_codes(user))).astype(np.int64, copy=False)


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

    longest = ibis.interval(microseconds=_microseconds(gap))
    before = table.time.lag().over(ibis.window(group_by=table.user, order_by=table.time))
    paused = sensible_time(before) + longest < sensible_time(table.time)
    # The first record has none before it; some engines take the other bound for a missing one.
    return table.mutate(paused=ibis.ifelse(before.notnull() & paused, 1, 0))


def by_whole_users(batches: Iterable[pa.RecordBatch], rows: int = _ROWS) -> Iterator[pa.Table]:
    """Regroup batches in which each ``user`` stands together into tables of about ``rows`` that split no
    user.
    """
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
    """Add a column ``session`` to records that come user by user: its number within the user, from 0."""
    for table in by_whole_users(batches):
        numbers = cut.numbers(table.column("user"), table.column("time"), table.column("query"))
        yield table.append_column("session", pa.array(numbers))


def with_begins(batches: Iterable[pa.RecordBatch], cut: SessionCut) -> Iterator[pa.Table]:
    """Add a column ``begins`` to searches that come user by user: whether a session begins."""
    for table in by_whole_users(batches):
        begins = cut.starts(table.column("user"), table.column("time"), table.column("query"))
        yield table.append_column("begins", pa.array(begins))
