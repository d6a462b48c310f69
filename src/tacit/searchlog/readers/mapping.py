"""Which columns of somebody's file are the user, the query, the time, the rank and the url."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tacit.errors import ParameterError
from tacit.searchlog.schema import COLUMNS

__all__ = ["REQUIRED", "ColumnMapping"]

REQUIRED = ("user", "query", "time")


@dataclass(frozen=True)
class ColumnMapping:
    """For each column of the log its name in the file, or its position where a file names no columns."""

    names: Mapping[str, str] = field(default_factory=lambda: {name: name for name in COLUMNS})
    given: bool = False
    """Said by the user; otherwise the columns are looked for under the log's own names."""

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
                    "--columns", repr(text), f"a list like user=uid,query=q,time=ts over {', '.join(COLUMNS)}"
                )
            names[column] = name
        if missing := [column for column in REQUIRED if column not in names]:
            raise ParameterError(f"--columns leaves out {', '.join(missing)}.", "Name a column for each.")
        if ("rank" in names) != ("url" in names):
            raise ParameterError(
                "--columns names only one of rank and url.", "A click has both: name both or none."
            )
        return cls(names, given=True)

    @property
    def positions(self) -> dict[str, int] | None:
        """Positions from 0, when the mapping is by position (numbers from 1) and not by name."""
        if not all(name.isdigit() and int(name) for name in self.names.values()):
            return None
        return {column: int(name) - 1 for column, name in self.names.items()}

    def missing(self, found: list[str]) -> list[str]:
        """Which of the file's columns that are needed are not among ``found``.

        Rank and url are needed when the user named them.
        """
        needed = self.names if self.given else REQUIRED
        return [self.names[column] for column in needed if self.names[column] not in found]
