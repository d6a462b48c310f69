"""``audit.html``: what was attacked and what leaked, on a page in the look of the evaluation's report.

On top stands the figure that needs five seconds: a bar from the coin's line to the share of right guesses,
and a tick at the proved worst case, so that nobody reads "nothing was found" as "nothing can be".
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.audit.bounds import SHOWN, at_least, at_most
from tacit.files import atomic_file, check_output
from tacit.pages import render

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
