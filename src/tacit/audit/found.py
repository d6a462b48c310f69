"""What an audit of a guard found: claims that were checked, what was measured, and a page of it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.audit.page import HELD, table
from tacit.display import Displayed
from tacit.validation import real


@dataclass(frozen=True)
class Deadline:
    """When an audit is to end: what there is no time for is left out, and the result says so."""

    ends: float

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """So many seconds from now, or never."""
        return cls(math.inf if seconds is None else time.monotonic() + real("seconds", seconds))

    @property
    def left(self) -> float:
        """Return how many seconds are left."""
        return self.ends - time.monotonic()

    @property
    def passed(self) -> bool:
        return self.left <= 0


FOREVER = Deadline(math.inf)


@dataclass(frozen=True, repr=False)
class GuardAudit(Displayed):
    """A guard under attack.

    Attributes:
        held: what must hold, whether it does, and what was found; one that fails breaks the claim.
        sentence: what was found, where all holds; else which does not.
        figure: its question, and how it counts where that is not by guesses about a coin.
        not_claimed: what the guard does not promise, whatever was measured.
        notes: what a reader must know about the figures.
        more: further entries of its JSON form.
    """

    audit: str
    about: str
    claim: str
    held: Sequence[tuple[str, bool, str]]
    sentence: str
    measured: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]] = ()
    tables: Sequence[Mapping[str, Any]] = ()
    not_claimed: Sequence[str] = ()
    notes: Sequence[str] = ()
    sensitive: bool = True
    figure: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        failed = " ".join(f"{says} Found: {found}." for says, holds, found in self.held if not holds)
        if failed:
            object.__setattr__(self, "sentence", f"Broken. This does not hold: {failed}")

    @property
    def verdict(self) -> str:
        """``held``, or ``broken`` where a leak exceeds the claim."""
        return "held" if all(holds for _, holds, _ in self.held) else "broken"

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON has it."""
        checks = [dict(zip(HELD, each, strict=True)) for each in self.held]
        names = ("audit", "claim", "measured", "rows", "not_claimed", "verdict", "sentence", "sensitive")
        tables = [table("What is claimed", checks, HELD, (1, 2, 3))] if checks else []
        parts = {
            "title": f"Audit of {self.audit} ({self.verdict})",
            "about": f"Claimed: {self.claim} {self.about}",
        } | dict(self.figure)
        parts |= {"rows": self.rows, "tables": [*tables, *self.tables], "notes": self._notes()[1:]}
        found = {name: getattr(self, name) for name in names}
        return {**found, "checks": checks, **self.more, "page_parts": parts}

    def _summary(self) -> str:
        kept = ", as sensitive as what it is about" if self.sensitive else ""
        return f"Audit of {self.more.get('mechanism', self.audit)}: {self.verdict}{kept}"

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [
            (says, "holds" if holds else "FAILS", found) for says, holds, found in self.held
        ]
        for each in self.rows:
            worst = "" if each["worst"] is None else f"at worst {each['worst']:.1f}"
            rows.append((each["label"], f"{each['share']:.1f} of 100", worst))
        return rows

    def _notes(self) -> list[str]:
        return [self.sentence, *self.notes, *(f"Not claimed: {each}" for each in self.not_claimed)]
