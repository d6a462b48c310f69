"""How the lines of a delimited file are laid out: by named columns, by given positions, or in AOL's order.

Files made from AOL's circulate between other delimiters, with or without a header, with a rank but no url or
a url but no rank. Where nobody says which column is which and no header does, the order of AOL's columns is
recognised by the times in the third; whether a rank or a url follows is told from what the columns hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from tacit.searchlog.readers.kinds import ColumnKind, kind_of
from tacit.searchlog.readers.mapping import ColumnMapping
from tacit.searchlog.readers.time_formats import TimeReader

__all__ = ["HEADER", "Layout", "Row", "by_name", "by_position", "in_aol_order", "readable_share"]

HEADER = ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL")
"""The names of AOL's columns."""

Row = list[bytes]

_NUMBERS = (ColumnKind.WHOLE, ColumnKind.WHOLE_DECIMALS, ColumnKind.DECIMALS)
_NEEDED = 3


@dataclass(frozen=True)
class Layout:
    """Where a line keeps what."""

    delimiter: str
    positions: dict[str, int]
    """Column of the log → place in the line, from 0."""
    widths: frozenset[int]
    """How many fields a line has."""
    header: tuple[bytes, ...] | None = None
    """The names in the first line, which may come again."""
    least_width: int | None = None
    """With this many fields, or more, a line will do: what is missing are clicks, what is over is not
    needed.
    """

    @property
    def shifts_show(self) -> bool:
        """Whether a delimiter inside a query would move the time out of its place, and so be noticed."""
        return self.positions["time"] > self.positions["query"]

    def takes(self, row: Row) -> bool:
        """Whether a line of these fields has as many as it should, or more that hold nothing."""
        if len(row) in self.widths or (self.least_width is not None and len(row) >= self.least_width):
            return True
        return self.shifts_show and len(row) > min(self.widths) and not any(row[min(self.widths) :])


def _usual_width(rows: Sequence[Row]) -> int:
    return Counter(len(row) for row in rows).most_common(1)[0][0]


def by_name(rows: Sequence[Row], mapping: ColumnMapping, delimiter: str) -> Layout | None:
    """The layout of a file whose first row names its columns; None when what is needed is not named."""
    names = [name.decode("utf-8", "replace") for name in rows[0]] if rows else []
    positions = mapping.found_in(names)
    if mapping.missing_from(positions):
        return None
    widths = {len(names)}
    if len(rows) > 1 and (usual := _usual_width(rows[1:])) > len(names):
        widths.add(usual)  # columns that the header has no names for
    # A tab inside a query would move the time out of its place, and be noticed: then more columns do no harm.
    loose = delimiter == "\t" and positions["time"] > positions["query"]
    return Layout(delimiter, positions, frozenset(widths), tuple(rows[0]), len(names) if loose else None)


def by_position(rows: Sequence[Row], positions: dict[str, int], delimiter: str) -> Layout | None:
    """The layout of a file without a header; None when its first row is too short for ``positions``."""
    if not rows or max(positions.values()) >= len(rows[0]):
        return None
    loose = delimiter == "\t" and positions["time"] > positions["query"]
    width = max(positions.values()) + 1
    return Layout(delimiter, positions, frozenset({len(rows[0])}), None, width if loose else None)


def readable_share(values: Sequence[bytes], read_times: TimeReader) -> float:
    """Which share of ``values`` can be read as times and are no plain short numbers."""
    sure = [value for value in values if not value.strip().isdigit() or len(value.strip()) >= 9]
    _, readable = read_times(pa.array(sure, pa.binary()))
    return int(readable.sum()) / max(len(values), 1)


def _clicks(rows: Sequence[Row]) -> dict[str, int]:
    """Where the rank and the url stand, after user, query and time."""
    kinds = [kind_of([row[place] for row in rows if len(row) > place]) for place in (3, 4)]
    if _usual_width(rows) == _NEEDED + 1:
        return {"url" if kinds[0] is ColumnKind.ADDRESSES else "rank": 3}
    if kinds[0] in (ColumnKind.ADDRESSES, ColumnKind.TEXT) or kinds[1] in _NUMBERS:
        return {"url": 3} | ({"rank": 4} if kinds[1] in _NUMBERS else {})
    return {"rank": 3, "url": 4}


def in_aol_order(rows: Sequence[Row], read_times: TimeReader, delimiter: str) -> Layout | None:
    """The layout of lines whose third column holds times; None when it does not."""
    lines = [row for row in rows if any(row)]
    third = [row[2] for row in lines if len(row) >= _NEEDED]
    if len(third) * readable_share(third, read_times) * 2 <= len(lines):
        return None
    kept = [row for row in lines if len(row) >= _NEEDED]
    positions = {"user": 0, "query": 1, "time": 2} | _clicks(kept)
    header = tuple(kept[0]) if kept[0][0].decode("utf-8", "replace").strip('"') == HEADER[0] else None
    return Layout(delimiter, positions, frozenset({_usual_width(kept)}), header, _NEEDED)
