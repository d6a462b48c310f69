"""What an audit of a guard found: claims that were checked, what was measured, and a page of it.

On top of ``audit.html`` stands the figure that needs five seconds: a bar from the coin's line to the share of
right guesses, and a tick at the proved worst case, so that nobody reads "nothing was found" as "nothing can
be".
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.audit.bounds import SHOWN, at_least, at_most
from tacit.display import Displayed
from tacit.files import atomic_file, check_output
from tacit.pages import render
from tacit.validation import real

PAGE = "audit.html"
HELD = {"says": "What must hold", "holds": "", "found": "Found"}


def share(epsilon: float | None) -> float:
    """Compute how many of 100 guesses about a coin are right at most under this ε."""
    return 100.0 if epsilon is None else 100 / (1 + math.exp(-epsilon))


def bar(label: str, right: int, guesses: int, epsilon: float | None, *, bad: bool = False) -> dict[str, Any]:
    """A row of the figure: right guesses, their interval, and the worst case that ε proves."""
    low, high = (100 * each(right, guesses, SHOWN / 2) for each in (at_least, at_most))
    worst = None if epsilon is None else share(epsilon)
    measured = 100 * right / guesses
    return {"label": label, "share": measured, "low": low, "high": high, "worst": worst, "bad": bad}


def table(
    title: str,
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str],
    text: Sequence[int] = (1,),
    caption: str = "",
) -> dict[str, Any]:
    """A table of the page: ``columns`` from keys to headings, ``text`` the places that are not numbers."""
    cells = [[_cell(row.get(key)) for key in columns] for row in rows]
    shown = {"title": title, "headings": list(columns.values()), "cells": cells}
    return shown | {"text": text, "caption": caption}


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "holds" if value else "fails"
    if isinstance(value, float):
        return f"{value:.3g}"
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def write_page(result: Mapping[str, Any], to: Path, *, force: bool = False) -> Path:
    """Write the page of an audit to a file, or as ``audit.html`` into a folder; give back where it is."""
    path = to if to.suffix == ".html" else to / PAGE
    check_output(path, force=force)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path, mode=0o600 if result.get("sensitive") else 0o644) as temporary:
        temporary.write_text(page_of(result), encoding="utf-8")
    return path


def page_of(result: Mapping[str, Any]) -> str:
    """The page of what an audit's ``to_dict`` holds."""
    kept = {"device": "profile", "groups": "groups"}.get(result["audit"], "log")
    free = ": this run was not charged" if result["audit"] == "log" else ""
    banner = f"As sensitive as the {kept}{free}. Keep it with the owner." if result.get("sensitive") else ""
    parts: dict[str, Any] = {"rows": [], "question": "", "tables": [], "begin": 40, "coin": 50, "about": ""}
    parts |= {"counted": "Of 100 guesses so many are right.", "measured": "measured, with its interval"}
    parts |= {"worst": "proved worst case: nobody can do better, about anybody"}
    parts |= {"banner": banner, "advice": result["sentence"]} | result["page_parts"]
    return render("tacit.audit", "audit.html.j2", **parts)


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
