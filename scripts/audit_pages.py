"""Write the latest audit of each guard into its guarantee page: ``make audit``.

The block between the two marks is replaced; a page without them gets one at its end.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

import tacit
from tacit.audit.device import audit_device
from tacit.audit.found import GuardAudit
from tacit.audit.groups import audit_groups
from tacit.audit.pool import audit_pool
from tacit.audit.release import audit_release
from tacit.commands import application
from tacit.device import Guard
from tacit.device.profile.repository import load_repository
from tacit.release.mechanism import Mechanism
from tacit.text.tokens import words

PAGES = Path(__file__).parent.parent / "docs" / "guarantees"
BEGIN, END = "<!-- audit: begin, by make audit -->", "<!-- audit: end -->"
AUDITED: dict[str, list[tuple[str, Mechanism, int]]] = {
    "zealous": [
        ("zealous --epsilon 1", tacit.Zealous(epsilon=1), 200_000),
        ("zealous --epsilon 1 --per-user 10", tacit.Zealous(epsilon=1, per_user=10), 400_000),
    ],
    "session": [("session --epsilon 1", tacit.Session(epsilon=1), 100_000)],
    "topics": [("topics --epsilon 1", tacit.Topics(epsilon=1), 100_000)],
    "click": [("click --epsilon 1", tacit.Click(epsilon=1), 100_000)],
    "adaptive": [
        ("adaptive --epsilon 1 --per-user 1", tacit.Adaptive(epsilon=1, per_user=1), 200_000),
        ("adaptive --epsilon 1", tacit.Adaptive(epsilon=1), 4_000_000),
        ("adaptive --epsilon 4", tacit.Adaptive(epsilon=4), 2_000_000),
    ],
    "k-query": [("k-query --k 10", tacit.KQuery(k=10), 2_000)],
    "series": [("series", tacit.Series(epsilon=4), 64)],
}
READ = {"music song": 40, "plant flower": 40, "ball game": 40, "disease treatment": 15, "church priest": 15}
"""How many glosses of WordNet that hold such words are pages of the profile that is attacked."""


def tacit_command(*said: str) -> str:
    """Run a command, and give it back as it is typed."""
    result = CliRunner().invoke(application(), list(said))
    if result.exit_code:
        raise SystemExit(f"tacit {' '.join(said)}: {result.output}")
    return "tacit " + " ".join(said)


def of_device() -> tuple[list[str], GuardAudit]:
    """A profile of public texts."""
    pages = [f"{page.title}. {page.text}" for page in load_repository().corpus]
    with Guard("me.profile") as guard:
        for about, number in READ.items():
            texts = [text for text in pages if set(about.split()) & set(words(text))][:number]
            found = [
                {"url": f"http://pages.example/{n}", "title": t, "snippet": ""} for n, t in enumerate(texts)
            ]
            guard.learn([(about, page, None) for page in found])
    said = "tacit audit device me.profile"
    return [said], audit_device("me.profile", synthetic=True)


def of_groups() -> tuple[list[str], GuardAudit]:
    """Cohorts of a synthetic log, with words."""
    made = [
        tacit_command("synth", "-o", "log.parquet", "--users", "2000", "--seed", "1"),
        tacit_command("group", "bundle", *"log.parquet --epsilon 2 --budget-epsilon 8 -o cohorts".split()),
    ]
    found = audit_groups("cohorts", synthetic=True, release=tacit.Zealous(epsilon=1))
    made.append("tacit release zealous log.parquet --epsilon 1 -o week-01")
    return [*made, "tacit audit groups cohorts --release week-01"], found


def of_pool() -> tuple[list[str], GuardAudit]:
    """A simulated pool."""
    shape = ["--k", "30", "--window", "120"]
    made = tacit_command("simulate", *shape, "--people", "1000", "--every", "600", "--log", "pool.parquet")
    return [made, "tacit audit pool pool.parquet --k 30 --window 120"], audit_pool(
        "pool.parquet", 30, 120, synthetic=True
    )


GUARDS: dict[str, Callable[[], tuple[list[str], GuardAudit]]] = {
    "device": of_device,
    "groups": of_groups,
    "pool": of_pool,
}


def guarded(commands: list[str], found: GuardAudit) -> list[str]:
    """What was claimed of a guard, and found."""
    held = [f"| {says} | {'holds' if holds else '**fails**'} | {said} |" for says, holds, said in found.held]
    return [
        "## The latest audit",
        "",
        f"Written by `make audit`: {', '.join(f'`{each}`' for each in commands)} "
        "([`tacit audit`](../reference/commands/audit.md)).",
        "",
        "| what must hold | | found |",
        "|---|---|---|",
        *held,
        "",
        found.sentence,
        "",
    ]


def row(command: str, found: GuardAudit, runs: int) -> str:
    """A line of the table."""
    claimed, measured, checks = (found.to_dict()[name] for name in ("claimed", "measured", "checks"))
    private, attacked = claimed["epsilon"] is not None, measured["runs"]
    promise = f"{claimed['epsilon']:.3g}, {claimed['delta']:.2g}" if private else "none"
    hold = f"{sum(check['holds'] for check in checks)} of {len(checks)}"
    epsilon = f"{measured['epsilon']:.3f}" if attacked else "–"
    curve = f"{measured['curve']:.3f}" if attacked and private else "–"
    said = f"tacit audit release {command} --runs {runs}" if attacked else "tacit audit release year"
    return f"| `{said}` | {promise} | {hold} | {epsilon} | {curve} | {found.verdict} |"


def block(lines: list[str], notes: list[str]) -> list[str]:
    """The audits of a mechanism as a table."""
    head = [
        "## The latest audit",
        "",
        "Exact checks on the real code, then lower bounds on ε from many runs on neighbouring logs, with 95% "
        "confidence ([`tacit audit`](../reference/commands/audit.md)); written by `make audit`.",
        "",
        "| command | claimed ε, δ | exact checks hold | ε at δ, at least | whole curve, at least | verdict |",
        "|---|---|---|---|---|---|",
    ]
    return [*head, *lines, "", *notes, *([""] if notes else [])]


def write(name: str, lines: list[str]) -> None:
    """Put these lines between the marks of a page."""
    page = PAGES / f"{name}.md"
    before, _, rest = page.read_text().partition(BEGIN)
    shown = "\n".join([BEGIN, "", *lines, END])
    page.write_text(f"{before.rstrip()}\n\n{shown}\n{rest.partition(END)[2].lstrip()}")


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
        write(name, block(lines, notes[:1]))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["TACIT_STATE"] = folder
        for name, audit in GUARDS.items():
            if not names or name in names:
                print(name, file=sys.stderr, flush=True)
                write(name, guarded(*audit()))


if __name__ == "__main__":
    main(sys.argv[1:])
