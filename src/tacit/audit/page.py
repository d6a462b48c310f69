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
    """Of 100 guesses about a coin, how many are right at most under this ε."""
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
    shown = _release(result) if result["audit"] == "release" else dict(result["page_parts"])
    kept = {"device": "profile", "groups": "groups"}.get(result["audit"], "log")
    free = ": this run was not charged" if result["audit"] == "log" else ""
    banner = f"As sensitive as the {kept}{free}. Keep it with the owner." if result.get("sensitive") else ""
    parts: dict[str, Any] = {"rows": [], "question": "", "tables": [], "begin": 40, "coin": 50, "about": ""}
    parts |= {"counted": "Of 100 guesses so many are right.", "measured": "measured, with its interval"}
    parts |= {"worst": "proved worst case: nobody can do better, about anybody"}
    parts |= {"banner": banner, "advice": result["sentence"], "notes": result.get("notes", ())}
    return render("tacit.audit", "audit.html.j2", **(parts | shown))


def _release(result: Mapping[str, Any]) -> dict[str, Any]:
    claimed, measured = result["claimed"], result["measured"]
    epsilon = claimed["epsilon"]
    worst = None if epsilon is None else share(epsilon)
    rows = []
    for each in result["attacks"]:
        shown = share(max(each["epsilon"] or 0.0, each["curve"] or 0.0))
        bad = epsilon is None or each["alarm"] > epsilon
        label = f"{each['pair']}, δ = {each['delta']:.2g}"
        row = {"label": label, "worst": worst, "bad": bad}
        rows.append(row | dict.fromkeys(("share", "low", "high"), shown))
    promise = "no ε" if epsilon is None else f"ε = {epsilon:.4g}, δ = {claimed['delta']:.3g}"
    columns = {"pair": "Neighbouring logs", "delta": "planned for δ", "event": "What is looked at"}
    columns |= {"epsilon": "ε at δ, at least", "curve": "whole curve, at least"}
    columns |= {"noticeable": "would notice ε above"}
    caption = (
        f"With {measured['confidence']:.0%} confidence; an audit fails at one in a million. One log has a "
    )
    caption += "person more, whose items all others have (crowd), none (alone), just too few to be shown "
    caption += "(straddler), or so many of them (holders)."
    return {
        "title": f"Audit of {result['mechanism']}",
        "about": f"Claimed: {promise}, {claimed['neighbours']}. Attacked through the real code, "
        f"{measured['runs']:,} measuring runs of each of two neighbouring logs.",
        "question": "Was this person in the log?",
        "measured": "at least, proved by this attack",
        "rows": rows,
        "tables": [
            table("Exact checks", result["checks"], HELD, (1, 2, 3)),
            table("Attacks", result["attacks"], columns, (1, 3), caption),
        ],
    }
