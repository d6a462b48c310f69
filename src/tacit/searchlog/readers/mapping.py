"""Which columns of somebody's file are the user, the query, the time, the rank and the url."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tacit.errors import ParameterError
from tacit.searchlog.schema import COLUMNS

__all__ = ["REQUIRED", "ColumnMapping"]

REQUIRED = ("user", "query", "time")

_ALSO_CALLED: Mapping[str, tuple[str, ...]] = {
    "user": ("anonid", "userid", "user_id"),
    "query": ("querytext", "query_text"),
    "time": ("querytime", "query_time", "timestamp"),
    "rank": ("itemrank", "item_rank"),
    "url": ("clickurl", "click_url"),
}
"""Names in headers that need no mapping, in any case of letters: the log's own, AOL's and close relatives."""


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
        """Where each column stands among the names of ``header``, of those that are there."""
        found = {column: header.index(name) for column, name in self.names.items() if name in header}
        if self.given:
            return found
        folded = [name.strip().lower() for name in header]
        for column, others in _ALSO_CALLED.items():
            place = next((folded.index(name) for name in (column, *others) if name in folded), None)
            if place is not None:
                found.setdefault(column, place)
        return found

    def missing_from(self, found: Mapping[str, int]) -> list[str]:
        """The file's names of the columns that are needed and not among those ``found``.

        Rank and url are needed when the user named them.
        """
        needed = self.names if self.given else REQUIRED
        return [self.names[column] for column in needed if column not in found]

    def missing(self, header: Sequence[str]) -> list[str]:
        """Which of the file's columns that are needed are not among the names of ``header``."""
        return self.missing_from(self.found_in(header))
