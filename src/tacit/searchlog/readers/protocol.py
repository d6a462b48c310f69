"""What every reader of a log format shares: its options, its blocks, and how bad lines are counted.

A reader cuts a file into blocks in order, a few at a time, and turns each into records by a pure function,
so that blocks are parsed in parallel. **Bad lines** are counted by reason and located by line number: a
defective line is somebody's search too, and its content is never shown.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.errors import LogError, ParameterError
from tacit.searchlog.readers.source import Opening, Source
from tacit.searchlog.readers.times import TIME_FORMATS, Clock, TimeReader, order_of_dates, time_reader
from tacit.searchlog.schema import COLUMNS

FIRST_LINES_KEPT = 3
"""How many line numbers are remembered for each reason and file."""

USUAL_BAD_SHARE = 0.05
"""The share of bad lines that an import accepts by default."""

FEWEST_LINES_TO_JUDGE = 100
"""The default share applies from this many lines on: it says nothing about a file of a few lines."""


class Reason(StrEnum):
    """Why a line is no record. A line with several defects counts under the first of this list."""

    SYNTAX = "syntax"
    COLUMNS = "columns"
    ENCODING = "encoding"
    USER = "user"
    QUERY = "query"
    TIME = "time"
    RANK = "rank"


_EXPLANATIONS: Mapping[Reason, str] = {
    Reason.SYNTAX: "not well-formed in its format",
    Reason.COLUMNS: "wrong number of columns",
    Reason.ENCODING: "bytes that are not UTF-8",
    Reason.USER: "no user",
    Reason.QUERY: "no query",
    Reason.TIME: "no time, or one that cannot be parsed",
    Reason.RANK: "a rank that is not a positive integer",
}


Explain: TypeAlias = Callable[[Reason], str]
"""Says of the column that brought the bad lines of a reason what it holds."""


@dataclass
class BadLines:
    """The bad lines of one file, so far."""

    counts: Counter[Reason] = field(default_factory=Counter)
    first: dict[Reason, list[int]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.counts.total()

    def add(self, reason: Reason, lines: npt.NDArray[np.int64]) -> None:
        """Count ``lines`` (numbers from 1, ascending, after those already counted) under ``reason``."""
        if not len(lines):
            return
        self.counts[reason] += len(lines)
        kept = self.first.setdefault(reason, [])
        kept.extend(int(line) for line in lines[: FIRST_LINES_KEPT - len(kept)])

    def described(self) -> dict[str, dict[str, object]]:
        """List count and first line numbers by reason, in the order of the reasons."""
        return {
            str(reason): {"count": self.counts[reason], "first_lines": self.first[reason]}
            for reason in Reason
            if reason in self.counts
        }

    def refuse_any(self, file: str, found: Iterable[tuple[Reason, npt.NDArray[np.int64]]]) -> None:
        """In strict reading: raise for the earliest of ``found``, if there is one."""
        for line, reason in sorted((int(lines[0]), reason) for reason, lines in found if len(lines)):
            raise LogError(
                f"{file}, line {line:,} is a bad line ({reason}: {_EXPLANATIONS[reason]}), and strict reading"
                " accepts none.",
                "Correct the line, or import without `strict` to leave bad lines out and count them.",
            )

    def by_reason(self) -> str:
        """Describe the counts in words, the most frequent reason first."""
        return ", ".join(
            f"{count:,} {reason} (first in line {self.first[reason][0]:,})"
            for reason, count in self.counts.most_common()
        )

    @property
    def hint(self) -> str:
        return "Try `encoding='latin-1'`. " if Reason.ENCODING in self.counts else ""

    @property
    def usual(self) -> Reason:
        return self.counts.most_common(1)[0][0]

    def refuse_too_many(self, file: str, lines: int, largest: float | None, explain: Explain) -> None:
        """Raise when more than the ``largest`` share of the ``lines`` read so far were bad.

        A share that was given holds from the first line on, the default (None) only from
        :data:`FEWEST_LINES_TO_JUDGE` lines on. ``explain`` says more about the most frequent reason.
        """
        if largest is None:
            largest = USUAL_BAD_SHARE
            if lines < FEWEST_LINES_TO_JUDGE:
                return
        if self.total <= largest * lines:
            return
        raise LogError(
            f"{file} has {self.total:,} bad lines among the first {lines:,}, more than the"
            f" {largest:.2%} that an import accepts: {self.by_reason()}.{explain(self.usual)}",
            f"{self.hint}Name the right `format` and `columns`, correct the file, or raise `max_bad` if so "
            "many are to be expected.",
        )


REQUIRED = ("user", "query", "time")

_ALSO_CALLED: Mapping[str, Sequence[str]] = {
    "user": "anonid userid user_id uid visitorid visitor_id clientid client_id user.id".split(),
    "query": "querytext query_text q search_query search_term searchterm keywords query.text".split(),
    "time": "querytime query_time timestamp ts datetime event_time searched_at created_at @timestamp".split(),
    "rank": ("itemrank", "item_rank", "position"),
    "url": ("clickurl", "click_url", "clicked_url"),
}
"""Names in headers that need no mapping, in any case of letters: the log's own, AOL's and usual ones."""


@dataclass(frozen=True)
class ColumnMapping:
    """For each column of the log its name in the file, or its position where a file names no columns."""

    names: Mapping[str, str] = field(default_factory=lambda: {name: name for name in COLUMNS})
    given: bool = False
    """Said by the user; otherwise the columns are looked for under the log's own names, and AOL's."""

    @classmethod
    def parse(cls, text: str | None) -> ColumnMapping:
        """Read ``user=uid,query=q,time=ts``, or ``user=1,query=2,time=3`` for a file without a header.

        >>> ColumnMapping.parse("user=3,query=1,time=2").positions
        {'user': 2, 'query': 0, 'time': 1}
        """
        if not text:
            return cls()
        names: dict[str, str] = {}
        for part in text.split(","):
            column, equals, name = (piece.strip() for piece in part.partition("="))
            if column not in COLUMNS or not equals or not name or column in names:
                raise ParameterError.outside(
                    "columns", repr(text), f"a list like user=uid,query=q,time=ts over {', '.join(COLUMNS)}"
                )
            names[column] = name
        if missing := [column for column in REQUIRED if column not in names]:
            raise ParameterError(f"`columns` leaves out {', '.join(missing)}.", "Name a column for each.")
        return cls(names, given=True)

    @property
    def positions(self) -> dict[str, int] | None:
        """Positions from 0, when the mapping is by position (numbers from 1) and not by name."""
        if not all(name.isdigit() and int(name) for name in self.names.values()):
            return None
        return {column: int(name) - 1 for column, name in self.names.items()}

    def found_in(self, header: Sequence[str]) -> dict[str, int]:
        """Find where each column stands among the names of ``header``, of those that are there."""
        found = {column: header.index(name) for column, name in self.names.items() if name in header}
        if self.given:
            return found
        folded = [re.sub("[ -]", "_", name.strip().lower()) for name in header]
        for column, others in _ALSO_CALLED.items():
            place = next((folded.index(name) for name in (column, *others) if name in folded), None)
            if place is not None:
                found.setdefault(column, place)
        return found

    def missing(self, header: Sequence[str]) -> list[str]:
        """List the needed columns that ``header`` lacks, by the file's names; rank and url only if named."""
        found, needed = self.found_in(header), self.names if self.given else REQUIRED
        return [self.names[column] for column in needed if column not in found]


DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


def compiled_pattern(text: str) -> re.Pattern[str]:
    """Compile ``pattern``, which finds a user, a query and a time in a line."""
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ParameterError(f"`pattern` is no regular expression: {error}.", "Correct it.") from None
    names = {"query" if name == "encoded_query" else name for name in pattern.groupindex}
    if missing := [name for name in REQUIRED if name not in names]:
        remedy = "Name groups like (?P<user>…), (?P<query>…) or (?P<encoded_query>…), (?P<time>…)."
        raise ParameterError(f"`pattern` has no group for {', '.join(missing)}.", remedy)
    return pattern


@dataclass(frozen=True)
class Reading:
    """How a file is to be read.

    Attributes:
        mapping: where the file keeps what.
        time_format: how times are written.
        time_zone: the zone of times that state none, such as Europe/Berlin; if absent, as they stand.
        delimiter: what separates columns: one character, or tab, comma, semicolon, pipe, space; inferred if
            absent.
        first_rank: the rank of a first result: 1, or 0 where ranks count from 0.
        pattern: a regular expression for a line of any log, with groups such as (?P<user>…), (?P<query>…) or
            (?P<encoded_query>…), (?P<time>…).
        query_parameter: in a web server's log, the parameter that holds the query; found out if absent.
        table: the table of a SQLite or DuckDB file; the only one with a log's columns if absent.
    """

    mapping: ColumnMapping = field(default_factory=ColumnMapping)
    time_format: str = "auto"
    time_zone: str | None = None
    delimiter: str | None = None
    first_rank: int = 1
    pattern: str | None = None
    query_parameter: str | None = None
    table: str | None = None
    clock: Clock = field(init=False, repr=False, compare=False)
    read_times: TimeReader = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.time_format not in (*TIME_FORMATS, "compact"):
            raise ParameterError.outside(
                "time_format", repr(self.time_format), f"one of {', '.join(TIME_FORMATS)}"
            )
        if self.first_rank not in (0, 1):
            raise ParameterError.outside("first_rank", self.first_rank, "0 or 1")
        if self.pattern is not None:
            compiled_pattern(self.pattern)
        if (mark := self.delimiter) is not None:
            mark = DELIMITER_NAMES.get(mark, mark)
            if len(mark) != 1 or not mark.isascii() or mark in '"\r\n\0' or mark.isalnum():
                rule = "one character such as ';', or tab, comma, semicolon, pipe or space"
                raise ParameterError.outside("delimiter", repr(mark), rule)
            object.__setattr__(self, "delimiter", mark)
        object.__setattr__(self, "clock", Clock(self.time_zone))
        object.__setattr__(self, "read_times", time_reader(self.time_format, self.clock))

    def told_from(self, opening: Opening) -> Self:
        """Settle the order of day and month where the file's beginning leaves only one."""
        order = order_of_dates(opening.head) if self.time_format == "auto" else None
        return replace(self, time_format=order) if order else self


@dataclass(frozen=True)
class Block:
    """A piece of a file that can be parsed alone."""

    content: Any  # bytes that end with a line end, or whatever else the reader's own ``parse`` takes
    first_line: int  # the number of the block's first line in its file, from 1
    lines: int  # how many lines the block holds


@dataclass(frozen=True)
class Parsed:
    """What a block held: records, and lines that gave none."""

    records: pa.RecordBatch  # in the log's schema, queries as written
    normalised: pa.StringArray
    """The queries of the records, normalised. None is empty: such a line has no query."""
    bad: tuple[tuple[Reason, npt.NDArray[np.int64]], ...] = ()
    """Reason and ascending numbers of the lines that are no records."""
    passed_over: dict[str, int] = field(default_factory=dict)
    """Lines that are rightly no records: ``headers``, ``blank`` ones, requests that are no searches."""
    remarks: dict[str, int] = field(default_factory=dict)
    """What the owner of the log should know about records that were read, and of how many."""


class Reader(ABC):
    """A log format: how to know it, cut it and parse it."""

    name: str  # what ``--format`` calls it

    def __init__(self, reading: Reading | None = None) -> None:
        self.reading = reading or Reading()

    @abstractmethod
    def recognises(self, opening: Opening) -> bool:
        """Tell whether a file that opens like this can only sensibly be in this format."""

    def placed(self, opening: Opening, /) -> dict[str, int]:
        """Find where a file keeps which column of the log, from 0; empty where columns have names."""
        del opening
        return {}

    def blocks(self, source: Source) -> Iterator[Block]:
        """Cut the file into blocks, in order: of whole lines, unless a format has others."""
        line = 1
        for content in source.blocks_of_lines():
            lines = content.count(b"\n")
            yield Block(content, line, lines)
            line += lines

    @abstractmethod
    def parse(self, block: Block) -> Parsed:
        """Read the records of a block. Pure: blocks may be parsed in any order, and side by side."""
