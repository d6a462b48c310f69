"""``tacit evaluate release``: what every way to release a log would cost in search quality."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from tacit.commands.evaluate import release_options as o
from tacit.commands.evaluate.extra import require_report_extra
from tacit.commands.options import ForceFlag, JsonFlag, LogFile, ScrubFlag, SessionGap, Sessions, Since, Until
from tacit.terminal import emit, progress, stderr

if TYPE_CHECKING:
    from tacit.evaluate.report import Sensitivity
    from tacit.evaluate.sweep import Results, SweepPlan


def release(
    log: LogFile,
    output: o.ReportFolder,
    mechanisms: o.MechanismNames = None,
    tasks: o.TaskNames = None,
    epsilons: o.Budgets = None,
    delta: o.Delta = 1e-6,
    ks: o.Ks = None,
    impact: o.Impact = True,
    resampled: o.ResampledFlag = False,
    folds: o.Folds = 5,
    draws: o.Draws = 1,
    seed: o.FoldSeed = 0,
    show_queries: o.ShownQueries = 0,
    since: Since = None,
    until: Until = None,
    scrub: ScrubFlag = True,
    sessions: Sessions = "time",
    session_gap: SessionGap = None,
    synthetic: o.SyntheticFlag = False,
    workers: o.Workers = None,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Measure what every way to release a log would cost in search quality, before anything is released.

    Every mechanism and budget is tried on part of the users and judged on the others, on retrieval tasks. It
    is the owner's own look at the log: no ledger is charged, nothing is published, and the report is as
    sensitive as the log. Stopped, it goes on where it was.
    """
    require_report_extra()
    from tacit.evaluate.report import sensitivity_of
    from tacit.evaluate.sweep import BUDGETS, KS, SweepPlan, grid
    from tacit.evaluate.tasks import TASKS
    from tacit.release.preparation import Preparation
    from tacit.searchlog import check_log
    from tacit.searchlog.sessions import SessionCut

    check_log(log)
    settings = grid(
        mechanisms or (), epsilons or BUDGETS, ks or KS, delta, impact=impact, resampled=resampled
    )
    prepared = Preparation(since, until, scrub, SessionCut.of(sessions, session_gap).settled())
    plan = SweepPlan(settings, tuple(tasks or TASKS), folds, draws, seed=seed, preparation=prepared)
    _require_named_task(plan, show_queries)
    sensitivity = sensitivity_of(log, declared_synthetic=synthetic)
    _measure(_Sweep(log, output, plan, sensitivity, show_queries), _processes(workers), force, as_json)


@dataclass(frozen=True)
class _Sweep:
    """What is measured, of which log, and where the report goes."""

    log: Path
    output: Path
    plan: SweepPlan
    sensitivity: Sensitivity
    show_queries: int


def _require_named_task(plan: SweepPlan, show_queries: int) -> None:
    """Said before the work, not after it."""
    from tacit.errors import ParameterError

    if show_queries and "adhoc" not in plan.tasks:
        raise ParameterError("--show-queries needs the task adhoc.", "Add --task adhoc, or name no task.")


def _measure(sweep: _Sweep, workers: int, force: bool, as_json: bool) -> None:
    """Carry the sweep out, write its report and say what it found."""
    from tacit.evaluate.report import summarise, write_report
    from tacit.evaluate.sweep import evaluate_release, named_queries, sweep_folder

    log, plan, sensitivity = sweep.log, sweep.plan, sweep.sensitivity
    with sweep_folder(sweep.output, log, force=force) as folder:
        with (
            _said_when_stopped(folder),
            progress("Releasing and judging", total=plan.total, unit="runs") as shown,
        ):
            results = evaluate_release(log, folder, plan, workers=workers, anew=force, advance=shown.advance)
        about = _about(log, plan)
        named = named_queries(log, folder, plan, sweep.show_queries) if sweep.show_queries else None
        page = sweep.output / write_report(results, folder, sensitivity, about, named).name
    sentences = summarise(results)
    form = {
        "report": str(page),
        "about": about,
        "sensitivity": sensitivity.value,
        "summary": sentences,
        **results.as_dict(),
    }
    emit(form, as_json=as_json, render=lambda c: _render(c, results, sentences, page, sensitivity.banner))


@contextmanager
def _said_when_stopped(folder: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        kept = sum(1 for _ in folder.glob("runs/*.npz"))
        stderr().print(f"{kept:,} runs are kept; the same command goes on with the others", soft_wrap=True)
        raise


def _processes(asked: int | None) -> int:
    import os

    return asked or min(2, len(os.sched_getaffinity(0)))


def _about(log: Path, plan: SweepPlan) -> dict[str, Any]:
    import pyarrow.compute as pc

    users = plan.records(log, columns=["user", "time"]).column("user")
    prepared = plan.preparation.to_dict()
    return {
        "log": log.name,
        "records": len(users),
        "users": int(pc.count_distinct(users).as_py()),
        "since": prepared["since"],
        "until": prepared["until"],
        "sessions": str(plan.preparation.sessions),
        "folds": plan.folds,
        "draws": plan.draws,
    }


def _render(console: Console, results: Results, sentences: list[str], page: Path, banner: str) -> None:
    from rich.table import Table

    from tacit.evaluate.charts import cell
    from tacit.evaluate.report.figures import headlines, without_units

    empty = without_units(results)  # the sentences say so
    for task, measure in headlines(results).items():
        if task in empty:
            continue
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
