"""Bad lines: counted by reason, found again by line number, their content never shown.

A line of a log is somebody's search, and a defective line no less so. What may be said about it is why
it cannot be a record and where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from tacit.errors import LogError

__all__ = ["FEWEST_LINES_TO_JUDGE", "FIRST_LINES_KEPT", "USUAL_BAD_SHARE", "BadLines", "Reason"]

FIRST_LINES_KEPT = 3
"""How many line numbers are remembered for each reason and file."""

USUAL_BAD_SHARE = 0.05
"""The share of bad lines that an import bears when nobody says otherwise."""

FEWEST_LINES_TO_JUDGE = 100
"""That share says nothing about a file of a few lines: below this many it stops nothing."""


class Reason(StrEnum):
    """Why a line is no record. A line with several defects counts under the first of this list."""

    SYNTAX = "syntax"
    COLUMNS = "columns"
    ENCODING = "encoding"
    USER = "user"
    QUERY = "query"
    TIME = "time"
    RANK = "rank"

    @property
    def explanation(self) -> str:
        """The reason in words."""
        return _EXPLANATIONS[self]


_EXPLANATIONS: Mapping[Reason, str] = {
    Reason.SYNTAX: "not written as its format demands",
    Reason.COLUMNS: "wrong number of columns",
    Reason.ENCODING: "bytes that are not UTF-8",
    Reason.USER: "no user",
    Reason.QUERY: "no query",
    Reason.TIME: "no time, or one that cannot be read",
    Reason.RANK: "a rank that is no whole number from 1",
}


@dataclass
class BadLines:
    """The bad lines of one file, so far."""

    counts: dict[Reason, int] = field(default_factory=dict)
    first: dict[Reason, list[int]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many lines were bad, whatever the reason."""
        return sum(self.counts.values())

    def add(self, reason: Reason, lines: npt.NDArray[np.int64]) -> None:
        """Count ``lines`` (numbers from 1, ascending, after those already counted) under ``reason``."""
        if not len(lines):
            return
        self.counts[reason] = self.counts.get(reason, 0) + len(lines)
        kept = self.first.setdefault(reason, [])
        kept.extend(int(line) for line in lines[: FIRST_LINES_KEPT - len(kept)])

    def described(self) -> dict[str, dict[str, object]]:
        """Reason → count and first line numbers, in the order of the reasons."""
        return {
            str(reason): {"count": self.counts[reason], "first_lines": self.first[reason]}
            for reason in Reason
            if reason in self.counts
        }

    def refuse_any(self, file: str, found: Iterable[tuple[Reason, npt.NDArray[np.int64]]]) -> None:
        """In strict reading: raise for the earliest of ``found``, if there is one."""
        earliest = min(
            ((int(lines[0]), reason) for reason, lines in found if len(lines)),
            default=None,
            key=lambda pair: pair[0],
        )
        if earliest is not None:
            line, reason = earliest
            raise LogError(
                f"{file}, line {line:,} is a bad line ({reason}: {reason.explanation}), and strict reading"
                " takes none.",
                "Mend the line, or import without `strict` to leave bad lines out and count them.",
            )

    def by_reason(self) -> str:
        """The counts in words, the most frequent reason first."""
        return ", ".join(
            f"{count:,} {reason} (first in line {self.first[reason][0]:,})"
            for reason, count in sorted(self.counts.items(), key=lambda pair: -pair[1])
        )

    @property
    def hint(self) -> str:
        """What helps against a reason with one cause; empty otherwise."""
        return "Try `encoding='latin-1'`. " if Reason.ENCODING in self.counts else ""

    @property
    def usual(self) -> Reason:
        """The most frequent reason."""
        return max(self.counts, key=lambda reason: self.counts[reason])

    def refuse_too_many(
        self,
        file: str,
        lines: int,
        largest_share: float | None,
        explain: Callable[[Reason], str] = lambda _: "",
    ) -> None:
        """Raise when more than ``largest_share`` of the ``lines`` read so far were bad.

        A share that somebody asked for holds from the first line on, the usual one (None) only from
        :data:`FEWEST_LINES_TO_JUDGE` lines on. ``explain`` says more about the most frequent reason.
        """
        if largest_share is None:
            largest_share = USUAL_BAD_SHARE
            if lines < FEWEST_LINES_TO_JUDGE:
                return
        if self.total <= largest_share * lines:
            return
        raise LogError(
            f"{file} has {self.total:,} bad lines among the first {lines:,}, more than the"
            f" {largest_share:.2%} that an import bears: {self.by_reason()}.{explain(self.usual)}",
            f"{self.hint}Name the right `format` and `columns`, mend the file, or raise `max_bad` if so many "
            "are due.",
        )
