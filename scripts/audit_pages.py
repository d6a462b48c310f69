"""Write the latest audit of each release mechanism into its guarantee page: ``make audit``.

The block between the two marks is replaced; a page without them gets one at its end.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tacit
from tacit.audit.release import ReleaseAudit, audit_release
from tacit.release.mechanism import Mechanism

PAGES = Path(__file__).parent.parent / "docs" / "guarantees"
BEGIN, END = "<!-- audit: begin, by make audit -->", "<!-- audit: end -->"
AUDITED: dict[str, list[tuple[str, Mechanism, int]]] = {
    "zealous": [
        ("zealous --epsilon 1", tacit.Zealous(epsilon=1), 400_000),
        ("zealous --epsilon 1 --per-user 10", tacit.Zealous(epsilon=1, per_user=10), 400_000),
    ],
    "session": [("session --epsilon 1", tacit.Session(epsilon=1), 100_000)],
    "topics": [("topics --epsilon 1", tacit.Topics(epsilon=1), 200_000)],
    "click": [("click --epsilon 1", tacit.Click(epsilon=1), 200_000)],
    "adaptive": [
        ("adaptive --epsilon 1 --per-user 1", tacit.Adaptive(epsilon=1, per_user=1), 200_000),
        ("adaptive --epsilon 1", tacit.Adaptive(epsilon=1), 1_000_000),
        ("adaptive --epsilon 4", tacit.Adaptive(epsilon=4), 400_000),
    ],
    "k-query": [("k-query --k 10", tacit.KQuery(k=10), 2_000)],
}


def row(command: str, found: ReleaseAudit, runs: int) -> str:
    """A line of the table."""
    claimed = (
        "none" if not found.plan.mechanism.private else f"{found.plan.epsilon:.3g}, {found.plan.delta:.2g}"
    )
    checks = f"{sum(check.holds for check in found.checks)} of {len(found.checks)}"
    said = f"tacit audit release {command} --runs {runs}"
    curve = "–" if not found.plan.mechanism.private else f"{found.curve:.3f}"
    return f"| `{said}` | {claimed} | {checks} | {found.epsilon:.3f} | {curve} | {found.verdict} |"


def block(lines: list[str], notes: list[str]) -> str:
    """What stands between the marks."""
    head = [
        "## The latest audit",
        "",
        "Exact checks on the real code, then lower bounds on ε from many runs on neighbouring logs, with 95% "
        "confidence ([`tacit audit`](../reference/commands/audit.md)); written by `make audit`.",
        "",
        "| command | claimed ε, δ | exact checks hold | ε at δ, at least | whole curve, at least | verdict |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([BEGIN, "", *head, *lines, "", *notes, *([""] if notes else []), END])


def main(names: list[str]) -> None:
    for name, audits in AUDITED.items():
        if names and name not in names:
            continue
        lines, notes = [], []
        for command, asked, runs in audits:
            print(command, file=sys.stderr, flush=True)
            found = audit_release(asked, runs=runs)
            lines.append(row(command, found, runs))
            notes += [note for note in found.notes if "out of reach" not in note and note not in notes]
        page = PAGES / f"{name}.md"
        text = page.read_text()
        before, _, rest = text.partition(BEGIN)
        after = rest.partition(END)[2]
        page.write_text(f"{before.rstrip()}\n\n{block(lines, notes[:1])}\n{after.lstrip()}")


if __name__ == "__main__":
    main(sys.argv[1:])
