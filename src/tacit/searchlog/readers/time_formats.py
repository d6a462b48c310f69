"""The ways to write times that ``--time-format`` names, and how each is read.

Dates such as ``3/4/2006`` are the third of April or the fourth of March. Where the beginning of a file holds
one that can only be read one way (``31/12/2006``), that way is taken; otherwise nobody guesses.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeAlias

import pyarrow as pa

from tacit.errors import ParameterError
from tacit.searchlog.readers.instants import (
    Instants,
    any_instants,
    epoch_instants,
    frequent_iso,
    iso_instants,
    one_by_one,
    spread,
)
from tacit.searchlog.readers.time_zone import Clock

__all__ = ["TIME_FORMATS", "TimeReader", "order_of_dates", "time_reader"]

TimeReader: TypeAlias = Callable[[pa.BinaryArray], Instants]

TIME_FORMATS = ("auto", "iso", "day-first", "month-first", "epoch", "epoch-ms")

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_LAYOUTS = tuple(
    f"{day}/{month}/YYYY {hour}:mm{seconds}"
    for seconds, day, month, hour in itertools.product((":ss", ""), ("DD", "D"), ("MM", "M"), ("hh", "h"))
)
"""Days before months, between slashes; the same hold for dots and dashes, and for months before days."""
_ORDERED = re.compile(
    r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})(?:,? +|T|,)"
    r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?(?: ?([AaPp])[Mm])?"
)
_DATE_IN_TEXT = re.compile(rb'(?:^|[\t,;|"\n])(\d{1,2})([/.-])(\d{1,2})\2\d{4}(?=[ T,])')


def order_of_dates(head: bytes) -> str | None:
    """``day-first`` or ``month-first``, when dates at the beginning of a file can only be read that way.

    Empty when it has such dates but they can be read either way; None when it has none.
    """
    found = [(int(first), int(second)) for first, _, second in _DATE_IN_TEXT.findall(head)]
    if not found:
        return None
    day_first = any(first > 12 for first, _ in found)
    month_first = any(second > 12 for _, second in found)
    return "" if day_first == month_first else "day-first" if day_first else "month-first"


def _ordered(text: str, day_first: bool, clock: Clock) -> int:
    found = _ORDERED.fullmatch(text.strip())
    if found is None:
        raise ValueError
    first, _, second, year, hour, minute, seconds, fraction, half = found.groups()
    day, month = (first, second) if day_first else (second, first)
    hours = int(hour)
    if half is not None:
        if not 1 <= hours <= 12:
            raise ValueError
        hours = hours % 12 + (12 if half in "pP" else 0)
    micro = int((fraction or "0").ljust(6, "0"))
    shown = datetime(int(year), int(month), int(day), hours, int(minute), int(seconds or 0), micro)
    return clock.set_one((shown - _EPOCH) // _MICROSECOND)


def _ordered_instants(column: pa.BinaryArray, clock: Clock, *, day_first: bool) -> Instants:
    """``31/12/2006 23:59:59`` or ``12/31/2006 11:59 pm``, with dots or dashes as well; and ISO 8601."""
    values, good = frequent_iso(column, clock)
    for separator, layout in itertools.product("/.-", _LAYOUTS):
        if good.all():
            break
        written = layout if day_first else layout.translate(str.maketrans("DM", "MD"))
        more, readable = clock.set(spread(column, written.replace("/", separator)))
        values[readable] = more[readable]
        good |= readable
    return one_by_one(column, values, good, lambda text: _ordered(text, day_first, clock))


_READERS: dict[str, Callable[[pa.BinaryArray, Clock], Instants]] = {
    "auto": any_instants,
    "iso": iso_instants,
    "day-first": lambda column, clock: _ordered_instants(column, clock, day_first=True),
    "month-first": lambda column, clock: _ordered_instants(column, clock, day_first=False),
    "epoch": lambda column, _: epoch_instants(column, 1_000_000),
    "epoch-ms": lambda column, _: epoch_instants(column, 1_000),
}


def time_reader(time_format: str, clock: Clock) -> TimeReader:
    """How a column of times in ``time_format`` is read."""
    if time_format not in TIME_FORMATS:
        raise ParameterError.outside("time_format", repr(time_format), f"one of {', '.join(TIME_FORMATS)}")
    read = _READERS[time_format]
    return lambda column: read(column, clock)
