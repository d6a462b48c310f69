"""``tacit evaluate``: what privacy costs in search quality (release, personalised)."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from tacit.commands import options as o
from tacit.commands.verbs import Panel, given, library, verb, verb_group
from tacit.evaluate.tasks import task_names
from tacit.release.registry import MECHANISMS, mechanism_class
from tacit.terminal import emit, progress, stderr, table

PANEL = Panel.EVALUATE

if TYPE_CHECKING:
    from tacit.evaluate.results import Results

    MechanismName = str
    TaskName = str
else:
    MechanismName = StrEnum(
        "MechanismName", {name: name for name in MECHANISMS if mechanism_class(name).publishes_queries}
    )
    TaskName = StrEnum("TaskName", {name: name for name in task_names()})


def release(
    log: o.LogFile,
    to: o.OutputFolder,
    topics: str | None = None,
    qrels: Path | None = None,
    run: Path | None = None,
    mechanisms: Annotated[list[MechanismName] | None, typer.Option("--mechanism", "-m")] = None,
    tasks: Annotated[list[TaskName] | None, typer.Option("--task", "-t")] = None,
    epsilons: Annotated[list[float] | None, typer.Option("--epsilon")] = None,
    delta: float = 1e-6,
    ks: Annotated[list[int] | None, typer.Option("--k")] = None,
    folds: int = 5,
    draws: int = 3,
    seed: int = 0,
    since: o.Since = None,
    until: o.Until = None,
    scrub: o.ScrubFlag = True,
    session_gap: o.SessionGap = None,
    synthetic: Annotated[bool, typer.Option("--synthetic")] = False,
    workers: int | None = None,
    engine: str | None = None,
    force: o.ForceFlag = False,
) -> None:
    """Measure what every way to release a log would cost in search quality, before anything is released.

    Every mechanism and budget is tried on part of the users and judged on the others, on retrieval tasks. It
    is the owner's own look at the log: no ledger is charged, nothing is published, and the report is as
    sensitive as the log. A stopped evaluation is resumed.
    """
    _measure("evaluate_release", "Releasing and judging", "runs", **locals())


def personalised(
    to: o.OutputFolder,
    users: int = 40,
    population: int = 3_000,
    ambient: Path | None = None,
    seed: o.Seed = 5,
    force: o.ForceFlag = False,
) -> None:
    """Measure search with no profile, on the device, by a cohort, and with topics that are sent.

    Every way ranks the same results of the same queries of the same people, of a synthetic log or reading
    AMBIENT's results; average precision says what each guard leaves of personalisation, beside the same
    ranking with another person's evidence.
    """
    _measure("evaluate_personalised", "Personalising", "ways", **locals())


def series(
    log: o.LogFile,
    to: Annotated[Path | None, typer.Option("--output", "-o")] = None,
    weeks: int = 13,
    length: float = 168,
    epsilons: Annotated[list[float] | None, typer.Option("--epsilon")] = None,
    delta: float = 1e-6,
    count_every: int = 4,
    new: int = 32,
    seed: o.Seed = 0,
    force: o.ForceFlag = False,
) -> None:
    """Measure what a series would publish of a log of the past, week by week, before one is opened.

    Beside it stand a release a week and one at the end under the same budget, how far off counts and changes
    are, and how soon a new query is found. Nothing is charged or published; the figures are as sensitive as
    the log.
    """
    _measure("evaluate_series", "Publishing week by week", "ways", **locals())


_HEADINGS = {
    "Judged by people": "topics qrels run",
    "What to try": "mechanisms tasks epsilons delta ks",
    "How to try it": "folds draws seed",
    o.WORK: "workers",
}
register = verb_group(
    "evaluate",
    "Measure what privacy costs in search quality.",
    [
        verb(release, "log.parquet -o report", by="tacit.evaluate:evaluate_release", headings=_HEADINGS),
        verb(series, "log.parquet --weeks 13 --epsilon 1", by="tacit.evaluate:evaluate_series"),
        verb(personalised, "-o ways --users 12", by="tacit.evaluate:evaluate_personalised"),
    ],
)


def _measure(evaluate: str, doing: str, unit: str, **options: Any) -> None:
    """Call the library with the options that were given, show progress, and print what it found."""
    with progress(doing, unit=unit) as shown:
        try:
            found: Results = library(f"tacit.evaluate:{evaluate}")(**given(options), progress=shown.reach)
        except KeyboardInterrupt:
            if unit == "runs":
                stderr().print(f"{shown.done:,} runs are kept; the same command resumes with the others")
            raise
    where = {}
    if found.page:
        where = {"report": found.page} if found.evaluation == "release" else {"output": found.page.parent}
    result = {name: str(path) for name, path in where.items()} | found.as_dict()
    emit(result, *_shown(found))


def _shown(found: Results) -> Iterator[str | Text | Table]:
    yield from filter(None, (found.about, found.advice))
    for figure in found.tables or found.figures:
        yield Text(f"\n{figure.title}", "bold")
        yield table(figure.headings, figure.cells, right=True)
    yield ""
    yield from (f"• {sentence}" for sentence in found.summary)
    yield from (f"\n{note}" for note in found.notes)
    if found.page:
        yield f"report: {found.page}"
