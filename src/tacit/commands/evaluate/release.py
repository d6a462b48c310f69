"""``tacit evaluate release``: what every way to release a log would cost in search quality."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from tacit.commands.evaluate.extra import require_report_extra
from tacit.commands.options import JsonFlag, LogFile
from tacit.terminal import emit, progress

if TYPE_CHECKING:
    from tacit.evaluate.sweep import Results

__all__ = ["release"]

_WHAT = "What to try"
_HOW = "How to try it"


def release(
    log: LogFile,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The folder of the report; an unfinished one is gone on with."),
    ],
    mechanisms: Annotated[
        list[str] | None,
        typer.Option("--mechanism", "-m", help="Only this mechanism; repeat it.", rich_help_panel=_WHAT),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option("--task", "-t", help="Only this task; repeat it.", rich_help_panel=_WHAT),
    ] = None,
    epsilons: Annotated[
        list[float] | None,
        typer.Option(
            "--epsilon", help="An ε to try (default: 1, 2, 4, 8, 16); repeat it.", rich_help_panel=_WHAT
        ),
    ] = None,
    delta: Annotated[float, typer.Option(help="δ of every release.", rich_help_panel=_WHAT)] = 1e-6,
    ks: Annotated[
        list[int] | None,
        typer.Option("--k", help="A k of k-query anonymity (default: 5, 10, 20, 50).", rich_help_panel=_WHAT),
    ] = None,
    impact: Annotated[
        bool,
        typer.Option(
            "--impact/--no-impact", help="Also the impact of K, b, q_f and m.", rich_help_panel=_WHAT
        ),
    ] = True,
    folds: Annotated[
        int, typer.Option(help="Cut the users into so many parts, test on each.", rich_help_panel=_HOW)
    ] = 5,
    draws: Annotated[
        int, typer.Option(help="Draws of noise for each fold and setting.", rich_help_panel=_HOW)
    ] = 1,
    seed: Annotated[int, typer.Option(help="Of the cut into folds.", rich_help_panel=_HOW)] = 0,
    scrub: Annotated[
        bool,
        typer.Option("--scrub/--no-scrub", help="Drop records as a release does.", rich_help_panel=_HOW),
    ] = True,
    synthetic: Annotated[
        bool,
        typer.Option(
            "--synthetic", help="You vouch that nobody real is in the log: the report may be shared."
        ),
    ] = False,
    workers: Annotated[
        int | None, typer.Option(help="Processes (default: one a processor, two at most).", min=1)
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure what every way to release a log would cost in search quality, before anything is released.

    Every mechanism and budget is tried on part of the users and judged on the others, on retrieval tasks. It
    is the owner's own look at the log: no ledger is charged, nothing is published, and the report is as
    sensitive as the log. Stopped, it goes on where it was.
    """
    require_report_extra()
    import os

    from tacit.evaluate.report import sensitivity_of, write_report
    from tacit.evaluate.sweep import BUDGETS, KS, SweepPlan, evaluate_release, grid
    from tacit.evaluate.tasks import TASKS
    from tacit.searchlog import check_log

    check_log(log)
    settings = grid(mechanisms or (), epsilons or BUDGETS, ks or KS, delta, impact=impact)
    plan = SweepPlan(settings, tuple(tasks or TASKS), folds, draws, seed=seed, scrub=scrub)
    processes = workers or min(2, len(os.sched_getaffinity(0)))
    with progress("Releasing and judging", total=plan.total, unit="runs") as shown:
        results = evaluate_release(log, output, plan, workers=processes, advance=shown.advance)
    sensitivity = sensitivity_of(log, declared_synthetic=synthetic)
    about = _about(log, plan)
    page = write_report(results, output, sensitivity, about)
    from tacit.evaluate.report import summarise

    sentences = summarise(results)
    form = {
        "report": str(page),
        "about": about,
        "sensitivity": sensitivity.value,
        "summary": sentences,
        **results.as_dict(),
    }
    emit(form, as_json=as_json, render=lambda c: _render(c, results, sentences, page, sensitivity.banner))


def _about(log: Path, plan: Any) -> dict[str, Any]:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    users = pq.read_table(log, columns=["user"]).column("user")
    return {
        "log": log.name,
        "records": len(users),
        "users": int(pc.count_distinct(users).as_py()),
        "folds": plan.folds,
        "draws": plan.draws,
    }


def _render(console: Console, results: Results, sentences: list[str], page: Path, banner: str) -> None:
    from rich.table import Table

    from tacit.evaluate.report.figure import cell
    from tacit.evaluate.report.figures import headlines

    for task, measure in headlines(results).items():
        table = Table("release", "ε", "rows", "mean where answered", "answered", "mean over all", "p")
        for column in table.columns[1:]:
            column.justify = "right"
        for key, found in results.of(task, measure).items():
            about = results.settings[key]
            if about["series"] in ("budget", "k"):
                table.add_row(
                    about["label"],
                    cell(about["epsilon"]),
                    cell(round(sum(results.rows[key].values()))),
                    cell(found.mean),
                    f"{found.answered:.1%}" if found.answered == found.answered else "–",
                    cell(found.mean_of_all),
                    cell(found.p_corrected),
                )
        console.print(f"\n[bold]{task}[/] {measure}")
        console.print(table)
    console.print()
    for sentence in sentences:
        console.print(f"• {sentence}", markup=False, soft_wrap=True)
    console.print(f"\n{banner}", markup=False, soft_wrap=True)
    console.print(f"report: {page}", markup=False, soft_wrap=True)
