"""Inspect a delimited file: what each of its columns seems to hold, and what to say when that is no log.

Everything said is about columns and kinds of values, in words of our own: no value of the file is ever
repeated.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa

from tacit.searchlog.readers.protocol import Reading, Reason
from tacit.searchlog.readers.source import Opening
from tacit.searchlog.readers.times import USUAL_LENGTHS, compact_instants, iso_instants

NUMBER = r"^-?[0-9]+(\.[0-9]*)?$"
"""What a rank looks like, sound or not."""
ADDRESS = r"[./:]"
"""What every address of a web page holds."""

_WHOLE = re.compile(rb"\d+")
_WHOLE_DECIMAL = re.compile(rb"\d+\.0*")
_DECIMAL = re.compile(rb"-?\d*\.\d+(e[+-]?\d+)?")
_SLASHED = re.compile(rb"(\d{1,2})([/.-])(\d{1,2})\2\d{4}(?:[ T,].*)?", re.DOTALL)
_ADDRESS = re.compile(rb"(?:[a-z]+://\S+|(?:[\w-]+\.)+[a-z]{2,}(?:[:/]\S*)?)", re.IGNORECASE)


class ColumnKind(StrEnum):
    """What the values of a column look like; its text is how a message says so."""

    NOTHING = "nothing"
    DATES = "times such as 2006-03-01 07:17:12"
    DAY_FIRST = "dates with the day first, such as 31/12/2006"
    MONTH_FIRST = "dates with the month first, such as 12/31/2006"
    EITHER_ORDER = "dates such as 03/04/2006, in which day and month are ambiguous"
    COMPACT = "times of twelve digits such as 970916105432"
    SECONDS = "seconds since 1970 such as 1141197432, or other long numbers"
    MILLISECONDS = "milliseconds since 1970 such as 1141197432000, or other long numbers"
    MICROSECONDS = "microseconds since 1970 such as 1141197432000000, or other long numbers"
    NANOSECONDS = "nanoseconds since 1970 such as 1141197432000000000, or other long numbers"
    WHOLE = "whole numbers"
    WHOLE_DECIMALS = "decimals such as 1.0"
    DECIMALS = "decimals such as 1.5"
    ADDRESSES = "web addresses"
    TEXT = "text"


DATES = (ColumnKind.DATES, ColumnKind.DAY_FIRST, ColumnKind.MONTH_FIRST, ColumnKind.EITHER_ORDER)
"""What can only be times."""


def _slashed(values: Sequence[bytes]) -> ColumnKind | None:
    found = [match for value in values if (match := _SLASHED.fullmatch(value))]
    if len(found) * 2 <= len(values):
        return None
    day_first = any(int(match[1]) > 12 for match in found)
    month_first = any(int(match[3]) > 12 for match in found)
    if day_first == month_first:
        return ColumnKind.EITHER_ORDER
    return ColumnKind.DAY_FIRST if day_first else ColumnKind.MONTH_FIRST


_SINCE_1970 = (ColumnKind.SECONDS, ColumnKind.MILLISECONDS, ColumnKind.MICROSECONDS, ColumnKind.NANOSECONDS)
_EPOCHS = dict(zip(USUAL_LENGTHS, _SINCE_1970, strict=True))
"""Numbers since 1970 by their digits."""


def _numbers(values: Sequence[bytes]) -> ColumnKind | None:
    whole = [value for value in values if _WHOLE.fullmatch(value)]
    decimals = [value for value in values if _WHOLE_DECIMAL.fullmatch(value)]
    if len(whole) * 2 > len(values):
        for digits, kind in _EPOCHS.items():
            if all(len(value) == digits for value in whole):
                return kind
        compact = compact_instants(pa.array(whole, pa.binary()))[1]
        return ColumnKind.COMPACT if compact.all() else ColumnKind.WHOLE
    if (len(whole) + len(decimals)) * 2 > len(values):
        return ColumnKind.WHOLE_DECIMALS
    fractions = sum(bool(_DECIMAL.fullmatch(value)) for value in values)
    return ColumnKind.DECIMALS if (len(whole) + fractions) * 2 > len(values) else None


def kind_of(sample: Sequence[bytes]) -> ColumnKind:
    """Classify what most of the values that are not empty look like."""
    values = [stripped for value in sample if (stripped := value.strip().strip(b'"'))]
    if not values:
        return ColumnKind.NOTHING
    if found := _numbers(values) or _slashed(values):
        return found
    if int(iso_instants(pa.array(values, pa.binary()))[1].sum()) * 2 > len(values):
        return ColumnKind.DATES
    if sum(bool(_ADDRESS.fullmatch(value)) for value in values) * 2 > len(values):
        return ColumnKind.ADDRESSES
    return ColumnKind.TEXT


DELIMITERS_IN_WORDS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "spaces"}

_SAMPLE = 200
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_NUMBERS_AS_TIMES = (ColumnKind.COMPACT, *_EPOCHS.values())
_RANKS = (ColumnKind.WHOLE, ColumnKind.WHOLE_DECIMALS)
_LARGEST_LIKELY_RANK = 500
_ALWAYS = 0.95
"""The share of values from which on a column is nearly always filled."""
_FEWEST_VALUES = 20
"""Values of a column that it takes to say what they are."""
_COLUMN_OF = {Reason.USER: "user", Reason.QUERY: "query", Reason.TIME: "time", Reason.RANK: "rank"}


def ordinal(place: int) -> str:
    """The place of a column, from 0, in words."""
    return _ORDINALS[place] if place < len(_ORDINALS) else f"{place + 1}th"


@dataclass(frozen=True)
class Values:
    """What the values of a column at the beginning of a file have in common."""

    kind: ColumnKind
    filled: float = 0.0  # share of the values that are not empty
    phrases: float | None = None  # share of those that are several words; None where there are too few to say
    differing: float = 0.0  # distinct values per value
    ranks: bool = False  # whether all of them could be ranks
    numbers_of_users: bool = False
    """Whether such ranks are always there and go beyond ten, so that people could be numbered by them."""
    days: bool = False  # whether they are days, without a time of the day

    @classmethod
    def of(cls, sample: Sequence[bytes]) -> Values:
        kind = kind_of(sample)
        values = [stripped for value in sample if (stripped := value.strip().strip(b'"'))]
        if len(values) < _FEWEST_VALUES:
            return cls(kind)
        phrases = sum(b" " in value and not value.replace(b" ", b"").isdigit() for value in values)
        differing = len(set(values)) / len(values)
        large = sum(_rank(value) > _LARGEST_LIKELY_RANK for value in values)
        small = kind in _RANKS and large <= 1 and differing < 0.9  # the name of the column may stand above
        share = len(values) / len(sample)
        beyond = small and share > _ALWAYS and sum(_rank(value) > 10 for value in values) > 1
        days = kind in DATES and 2 * sum(b":" in value for value in values) < len(values)
        return cls(kind, share, phrases / len(values), differing, small, beyond, days)

    @property
    def could_be_users(self) -> bool:
        """Whether people could be told apart by it: nearly always there, no phrase, neither a number of the
        line nor one of a few classes, and no rank.
        """
        return (
            self.kind in (ColumnKind.TEXT, ColumnKind.WHOLE, *_EPOCHS.values())
            and self.filled > _ALWAYS
            and (self.phrases or 0) < 0.02
            and 0.04 < self.differing < 0.9
            and not self.ranks
        )


def _rank(value: bytes) -> float:
    try:
        return float(value)
    except ValueError:
        return float("inf")


@dataclass(frozen=True)
class Look:
    """What the beginning of a delimited file looks like."""

    delimiter: str | None  # what separates its columns, or None when it has but one
    values: tuple[Values, ...]
    widths: Counter[int]  # how many lines have how many columns

    @property
    def columns(self) -> list[ColumnKind]:
        return [held.kind for held in self.values]

    @property
    def _times(self) -> list[int]:
        """The columns that seem to hold times: dates or, where there are none, numbers as long as times."""
        dates = [n for n, kind in enumerate(self.columns) if kind in DATES]
        return dates or [n for n, kind in enumerate(self.columns) if kind in _NUMBERS_AS_TIMES]

    @property
    def guess(self) -> dict[str, int] | None:
        """Guess which columns are which, where only one can be the user, one the query and one the time.

        A wrong user would make a person of every line, so nothing is proposed where two columns could be it,
        or none.
        """
        times = self._times
        users = [n for n, held in enumerate(self.values) if held.could_be_users and n not in times]
        if any(self.values[n].days for n in times):  # a number beside a day and a query is how many asked it
            users = [n for n in users if self.columns[n] is ColumnKind.TEXT]
        texts = [(n, held) for n, held in enumerate(self.values) if held.kind is ColumnKind.TEXT]
        queries = [n for n, held in texts if (held.phrases or 0) > 0.15 and held.differing > 0.1]
        doubtful = any(held.numbers_of_users for held in self.values)
        if doubtful or not len(times) == len(users) == len(queries) == 1:
            return None
        found = {"user": users[0], "query": queries[0], "time": times[0]}
        ranks = [n for n, held in enumerate(self.values) if held.ranks]
        urls = [n for n, kind in enumerate(self.columns) if kind is ColumnKind.ADDRESSES]
        if len(ranks) == 1:
            found["rank"] = ranks[0]
        if len(urls) == 1:
            found["url"] = urls[0]
        return found

    @property
    def complaint(self) -> str:
        """Explain why this is no log that is understood, to follow a statement; empty if it may be one."""
        if not self.columns:
            return ": it holds no line"
        if self.delimiter is None:
            return ": its lines have a single column, between tabs, commas, semicolons and bars alike"
        if not self._times:
            held = "; ".join(f"the {ordinal(n)} holds {kind}" for n, kind in enumerate(self.columns[:5]))
            return f": no column holds times ({held})"
        time = self._times[0]
        return f": the {ordinal(time)} column, of {len(self.columns)}, holds {self.columns[time]}"

    @property
    def remedy(self) -> str:
        """Suggest what would probably help; empty, or a sentence that ends with a space."""
        if not self.columns:
            return ""
        if self.delimiter is None:
            return "Say what stands between its columns with `delimiter`. "
        order = ""
        if self._times and self.columns[self._times[0]] is ColumnKind.EITHER_ORDER:
            order = " `time_format=day-first` (or month-first)"
        if self.guess is None:
            return f"Say{order}. " if order else ""
        columns = ",".join(f"{column}={place + 1}" for column, place in self.guess.items())
        name = "tsv" if self.delimiter == "\t" else "csv"
        return f"Perhaps `format={name}` `columns={columns}`{order} is right. "

    def about(self, reason: Reason, placed: dict[str, int]) -> str:
        """Find which column brought so many bad lines, and what it holds; empty when nothing can be said."""
        if reason is Reason.COLUMNS and self.widths:
            ((width, _),) = self.widths.most_common(1)
            return f" Most lines at its beginning have {width} column{'s' if width != 1 else ''}."
        place = placed.get(_COLUMN_OF.get(reason, ""))
        if place is None or place >= len(self.columns):
            return ""
        said = f" Its {ordinal(place)} column, read as the {_COLUMN_OF[reason]}, holds {self.columns[place]}"
        either = self.columns[place] is ColumnKind.EITHER_ORDER
        return f"{said}: say `time_format=day-first` or `time_format=month-first`." if either else f"{said}."


def split_line(line: bytes, delimiter: str, strict: bool = True) -> list[bytes] | None:
    """Cut a line into fields; None when its quotes do not close, or where it has none."""
    if delimiter == "\t":
        return line.split(b"\t")
    # Latin-1 maps bytes to characters one to one, so the bytes come through unchanged.
    try:
        fields = next(csv.reader((line.decode("latin-1"),), delimiter=delimiter, strict=strict))
    except (csv.Error, StopIteration):
        return None
    return [field.encode("latin-1") for field in fields]


def looked_at(opening: Opening, reading: Reading) -> Look:
    lines = [line for line in opening.lines[:_SAMPLE] if line.strip()]
    candidates = (reading.delimiter,) if reading.delimiter else tuple("\t,;|")
    best: tuple[int, str, list[list[bytes]]] = (0, "", [])
    for delimiter in candidates:
        rows = [row for line in lines if (row := split_line(line, delimiter, strict=False)) is not None]
        agreeing = max((n for width, n in Counter(map(len, rows)).items() if width > 1), default=0)
        if agreeing > best[0]:
            best = (agreeing, delimiter, rows)
    _, delimiter, rows = best
    if not rows:
        return Look(None, (Values(kind_of(lines)),) if lines else (), Counter())
    widths = Counter(map(len, rows))
    width = widths.most_common(1)[0][0]
    columns = [[row[place] for row in rows if len(row) > place] for place in range(width)]
    return Look(delimiter, tuple(map(Values.of, columns)), widths)
