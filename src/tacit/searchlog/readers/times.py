"""Parse times: columns of text to microseconds since 1970, with a mask of those that could be parsed.

Times with a zone are converted to UTC. Times without one are taken as they are or, where the log's zone is
given, as local times of that zone.

Dates such as ``3/4/2006`` are the third of April or the fourth of March. Where the beginning of a file
holds one that can only be read one way (``31/12/2006``), that way is taken; otherwise nobody guesses.
"""

import contextlib
import itertools
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import ParameterError

_EARLIEST = int(np.datetime64("0001-01-03", "us").astype(np.int64))
_LATEST = int(np.datetime64("9999-12-29", "us").astype(np.int64))
"""Zones are at most a day and a bit from UTC: within these bounds no shift leaves the calendar."""


@dataclass(frozen=True)
class Clock:
    """The clock that a log's times were read from: in a zone (``Europe/Berlin``), or in an unknown one."""

    zone: str | None = None

    def __post_init__(self) -> None:
        if self.zone is None:
            return
        try:
            ZoneInfo(self.zone)
        except (ValueError, OSError, LookupError) as error:
            raise ParameterError.outside(
                "time_zone", repr(self.zone), "a zone of the tz database", "Examples: UTC, Europe/Berlin."
            ) from error

    def to_utc(self, instants: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Convert what the clock showed, in microseconds since 1970, to UTC.

        An hour that comes twice, when a clock is set back, is taken as its first coming; one that never
        comes, when it is set forward, as the moment of the change.
        """
        if self.zone is None or not len(instants):
            return instants
        shown = pa.array(np.clip(instants, _EARLIEST, _LATEST)).view(pa.timestamp("us"))
        zoned = pc.assume_timezone(shown, self.zone, ambiguous="earliest", nonexistent="latest")
        found: npt.NDArray[np.int64] = np.array(zoned.cast(pa.int64()))  # a copy, to be written to
        return found

    def set_one(self, instant: int) -> int:
        return int(self.to_utc(np.array([instant], np.int64))[0])


Instants: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]

AS_WRITTEN = Clock()
"""Times without a zone stand as they are."""

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_UNITS = ((10**17, Fraction(1, 1000)), (10**14, Fraction(1)), (10**11, Fraction(1000)))
"""Microseconds a step of epoch numbers from a size on, which as seconds would lie after the year 5138."""
_LONGEST_EPOCH = 20
_COMMON_LOG = re.compile(r"(\d{2})/([A-Z][a-z]{2})/(\d{4}):(\d{2}:\d{2}):(\d{2}) ([+-]\d{4})")
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_PLAIN = "YYYY-MM-DD hh:mm:ss"
_FREQUENT_ISO = tuple(_PLAIN + more for more in ("", "Z", ".fff", ".fffZ", ".ffffff", ".ffffffZ"))
"""The ways of ISO 8601 that are common enough to be read a column at a time. ``Z`` stands for itself."""
_DIGIT_LETTERS = "YMDhmsf"


def _fixed_width(column: pa.BinaryArray, width: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The values of exactly ``width`` bytes as a matrix, and where they stand."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    fitting = np.flatnonzero(np.diff(offsets) == width)
    if not len(fitting):
        return np.empty((0, width), np.uint8), fitting
    data = np.frombuffer(column.buffers()[2], np.uint8)
    if len(fitting) == len(column):
        return data[offsets[0] : offsets[-1]].reshape(-1, width), fitting
    return data[offsets[:-1][fitting, None] + np.arange(width)], fitting


def _number(digits: npt.NDArray[np.uint8], pattern: str, letter: str) -> npt.NDArray[np.int64]:
    """The number spelt at the places where ``pattern`` has ``letter``."""
    value = np.zeros(len(digits), np.int64)
    for place in (n for n, found in enumerate(pattern) if found == letter):
        value = value * 10 + digits[:, place]
    return value


def _calendar(matrix: npt.NDArray[np.uint8], pattern: str) -> Instants:
    """Read rows of text laid out as ``pattern``; the mask leaves out what is no date of the calendar."""
    digits = matrix - np.uint8(ord("0"))  # wraps around, so anything below "0" is above 9 too
    places = [n for n, found in enumerate(pattern) if found in _DIGIT_LETTERS]
    good = (digits[:, places] <= 9).all(axis=1)
    for place, found in enumerate(pattern):
        if found == " ":
            good &= (matrix[:, place] == ord(" ")) | (matrix[:, place] == ord("T"))
        elif found not in _DIGIT_LETTERS:
            good &= matrix[:, place] == ord(found)
    year, month, day, hour, minute, second = (_number(digits, pattern, letter) for letter in "YMDhms")
    if "YYYY" not in pattern:  # POSIX: 69 to 99 lie in the 1900s, 00 to 68 in the 2000s
        year += np.where(year >= 69, 1900, 2000)
    good &= (year >= 1) & (month >= 1) & (month <= 12) & (hour <= 23) & (minute <= 59) & (second <= 59)
    months = (np.where(good, year, 1970) - 1970) * 12 + np.where(good, month, 1) - 1
    first_day = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    next_month = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    good &= (day >= 1) & (day <= next_month - first_day)
    seconds = ((first_day + day - 1) * 24 + hour) * 3600 + minute * 60 + second
    fraction = _number(digits, pattern, "f") * 10 ** (6 - pattern.count("f"))
    return np.where(good, seconds * 1_000_000 + fraction, 0), good


def spread(column: pa.BinaryArray, pattern: str, clock: Clock) -> Instants:
    """The values laid out as ``pattern``, such as ``YYYY-MM-DD hh:mm:ss``; the mask leaves out the others."""
    matrix, fitting = _fixed_width(column, len(pattern))
    values, good = _calendar(matrix, pattern)
    if len(fitting) < len(column):
        found = values, good
        values, good = np.zeros(len(column), np.int64), np.zeros(len(column), np.bool_)
        values[fitting], good[fitting] = found
    return (values if "Z" in pattern else clock.to_utc(values)), good


def compact_instants(column: pa.BinaryArray, clock: Clock = AS_WRITTEN) -> Instants:
    """``970916105432``, as in Excite's log: a year of two digits, from 1969 to 2068."""
    return spread(column, "YYMMDDhhmmss", clock)


def _laid_out(column: pa.BinaryArray, patterns: Iterable[str], clock: Clock) -> Instants:
    """The values laid out as one of ``patterns``, which are tried in turn while some are left."""
    first, *others = patterns
    values, good = spread(column, first, clock)
    for pattern in others:
        if not good.all():
            more, read = spread(column, pattern, clock)
            values, good = np.where(read, more, values), good | read
    return values, good


def one_by_one(
    column: pa.BinaryArray,
    values: npt.NDArray[np.int64],
    good: npt.NDArray[np.bool_],
    read: Callable[[str], int],
) -> Instants:
    """A second look, value by value, at those not yet read."""
    for place in np.flatnonzero(~good):
        try:
            values[place] = read(column[place].as_py().decode("ascii"))
        except (ValueError, OverflowError):
            continue
        good[place] = True
    return values, good


def _iso(text: str, clock: Clock) -> int:
    found = datetime.fromisoformat(text.strip())
    if found.tzinfo is not None:
        return (found.astimezone(UTC).replace(tzinfo=None) - _EPOCH) // _MICROSECOND
    return clock.set_one((found - _EPOCH) // _MICROSECOND)


def _epoch(text: str, unit: Fraction | None) -> int:
    text = text.strip()
    if len(text) > _LONGEST_EPOCH or not text.replace(".", "", 1).removeprefix("-").isdigit():
        raise ValueError
    if unit is None:
        size = abs(int(text.partition(".")[0] or 0))
        unit = next((step for first, step in _UNITS if size >= first), Fraction(1_000_000))
    return math.floor(Fraction(text) * unit)


def _common_log(text: str) -> int:
    """``10/Oct/2000:13:55:36 -0700``, as web servers write it, whatever the locale's months are called."""
    found = _COMMON_LOG.fullmatch(text.strip())
    if found is None:
        raise ValueError
    day, month, year, clock, second, zone = found.groups()
    number = f"{_MONTHS.index(month) + 1:02}"
    return _iso(f"{year}-{number}-{day}T{clock}:{min(int(second), 59):02}{zone}", AS_WRITTEN)


def iso_instants(column: pa.BinaryArray, clock: Clock = AS_WRITTEN) -> Instants:
    """ISO 8601, with or without fractions of a second and a zone."""
    return one_by_one(column, *_laid_out(column, _FREQUENT_ISO, clock), lambda text: _iso(text, clock))


USUAL_LENGTHS = {10: Fraction(1_000_000), 13: Fraction(1_000), 16: Fraction(1), 19: Fraction(1, 1_000)}
"""Digits of the years 2001 to 2286 and microseconds a step, from seconds to nanoseconds."""


def _epoch_of_usual_length(column: pa.BinaryArray, unit: Fraction | None) -> Instants:
    """Epoch numbers as long as those of our time are, in ``unit`` or in any of the usual ones."""
    values, good = np.zeros(len(column), np.int64), np.zeros(len(column), np.bool_)
    for width, usual in USUAL_LENGTHS.items():
        if unit not in (None, usual):
            continue
        matrix, fitting = _fixed_width(column, width)
        digits = matrix - np.uint8(ord("0"))
        good[fitting] = (digits <= 9).all(axis=1)
        values[fitting] = _number(digits, "n" * width, "n") * usual.numerator // usual.denominator
    return values, good


def epoch_instants(column: pa.BinaryArray, unit: Fraction | None = None) -> Instants:
    """Numbers since 1970; ``unit`` is microseconds a step, inferred from each number's size if absent."""
    return one_by_one(column, *_epoch_of_usual_length(column, unit), lambda text: _epoch(text, unit))


def any_instants(column: pa.BinaryArray, clock: Clock = AS_WRITTEN) -> Instants:
    """Epoch numbers where the value is a number, otherwise ISO 8601, or as web servers write times."""

    def read(text: str) -> int:
        with contextlib.suppress(ValueError):
            return _epoch(text, None)
        with contextlib.suppress(ValueError):
            return _iso(text, clock)
        return _common_log(text)

    values, good = _laid_out(column, _FREQUENT_ISO, clock)
    if not good.any():
        values, good = _epoch_of_usual_length(column, None)
    return one_by_one(column, values, good, read)


TimeReader: TypeAlias = Callable[[pa.BinaryArray], Instants]

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


def order_of_dates(head: bytes) -> str:
    """``day-first`` or ``month-first``, when dates at the beginning of a file can only be read that way.

    Empty when it has none, or they can be read either way.
    """
    found = [(int(first), int(second)) for first, _, second in _DATE_IN_TEXT.findall(head)]
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
    ordered = [layout if day_first else layout.translate(str.maketrans("DM", "MD")) for layout in _LAYOUTS]
    patterns = [*_FREQUENT_ISO, *(each.replace("/", mark) for mark in "/.-" for each in ordered)]
    found = _laid_out(column, patterns, clock)
    return one_by_one(column, *found, lambda text: _ordered(text, day_first, clock))


_READERS: dict[str, Callable[[pa.BinaryArray, Clock], Instants]] = {
    "compact": compact_instants,
    "auto": any_instants,
    "iso": iso_instants,
    "day-first": lambda column, clock: _ordered_instants(column, clock, day_first=True),
    "month-first": lambda column, clock: _ordered_instants(column, clock, day_first=False),
    "epoch": lambda column, _: epoch_instants(column, Fraction(1_000_000)),
    "epoch-ms": lambda column, _: epoch_instants(column, Fraction(1_000)),
    "epoch-us": lambda column, _: epoch_instants(column, Fraction(1)),
    "epoch-ns": lambda column, _: epoch_instants(column, Fraction(1, 1_000)),
}

TIME_FORMATS = tuple(_READERS)[1:]
"""Those that can be asked for; the compact one is Excite's alone."""


def time_reader(time_format: str, clock: Clock) -> TimeReader:
    """Return what reads a column of times in ``time_format``."""
    read = _READERS[time_format]
    return lambda column: read(column, clock)
