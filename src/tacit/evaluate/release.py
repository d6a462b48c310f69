"""Evaluate releases: what every way to release a log would cost in search quality.

Nothing is published and no ledger is charged: it is the owner's own look, and what that means for whoever may
see the results is in docs/reference/commands/evaluate.md.
"""

import multiprocessing
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tacit.engines import chosen_engine
from tacit.errors import ParameterError
from tacit.evaluate.judged import Judgments, is_session_file, load_judgments, log_of_sessions, read_sessions
from tacit.evaluate.report import figures, write_figures, write_page, write_results
from tacit.evaluate.results import Progress, Results, no_progress
from tacit.evaluate.sweep.measurements import Measurements
from tacit.evaluate.sweep.runs import sweep_folder
from tacit.evaluate.sweep.settings import BUDGETS, DELTA, KS, NOTHING, ORIGINAL, grid
from tacit.evaluate.sweep.sweeping import DRAWS, SweepPlan, run_sweep, unjudged_tasks
from tacit.evaluate.tasks import task_class, task_names
from tacit.release.preparation import Preparation
from tacit.searchlog import check_log
from tacit.searchlog.schema import ORIGIN
from tacit.searchlog.sessions import SessionCut

_UNITS = (
    "Releases are made from some users and judged on others who gave nothing to them, with public knowledge "
    "behind each release. A unit (a test query, session or search) that cannot be served counts as 0. The "
    "whole log is used as well as we know. Intervals include the noise of the release."
)


class Sensitivity(StrEnum):
    """Who may see a report."""

    AS_THE_LOG = "as sensitive as the log"
    SHAREABLE = "free to share"

    @property
    def mode(self) -> int:
        """Permission bits of its files."""
        return 0o600 if self is Sensitivity.AS_THE_LOG else 0o644

    @property
    def banner(self) -> str:
        """The sentence that the page begins with."""
        if self is Sensitivity.AS_THE_LOG:
            return (
                "As sensitive as the log itself. These figures are the owner's own look at a private log: "
                "exact, outside any guarantee. Do not publish this page; no ledger was charged for it."
            )
        return "Free to share: the log is synthetic or resampled, and holds nobody's records."


def sensitivity_of(log: str | Path, *, declared_synthetic: bool = False) -> Sensitivity:
    """Decide how sensitive a report is, by what the log's file says of its origin or by its owner's word."""
    metadata = pq.read_schema(log).metadata or {}
    marked = metadata.get(ORIGIN.encode()) in (b"synthetic", b"resampled")
    return Sensitivity.SHAREABLE if declared_synthetic or marked else Sensitivity.AS_THE_LOG


def evaluate_release(
    log: str | os.PathLike[str],
    to: str | Path | None = None,
    *,
    topics: str | Path | None = None,
    qrels: str | Path | None = None,
    run: str | Path | None = None,
    mechanisms: Sequence[str] = (),
    tasks: Sequence[str] = (),
    epsilons: Sequence[float] = BUDGETS,
    delta: float = DELTA,
    ks: Sequence[int] = KS,
    folds: int = 5,
    draws: int = DRAWS,
    seed: int = 0,
    since: datetime | None = None,
    until: datetime | None = None,
    scrub: bool = True,
    session_gap: float | None = None,
    synthetic: bool = False,
    workers: int | None = None,
    engine: str | None = None,
    force: bool = False,
    progress: Progress = no_progress,
) -> Results:
    """Measure what every way to release a log would cost in search quality, before anything is released.

    Every mechanism and budget is tried on some of the users and judged on the others, on retrieval tasks::

        costs = tacit.evaluate_release("log.parquet", "costs", mechanisms=["zealous"], epsilons=[2, 16])
        costs.to_pandas()

    Args:
        log: the search log, canonical Parquet; or a file of the TREC Session track.
        to: the folder of the report; one that was stopped is resumed. Without it no report is written.
        topics: topics that people judged: a file of the TREC Session track, a file with a number, a tab and a
            query in each line, or a name that ir_datasets knows. The log, if it is such a file, unless given.
        qrels: judgments of the topics in TREC's format; those of ir_datasets unless given.
        run: the engine's lists for the topics in TREC's format.
        mechanisms: names of mechanisms; all that publish queries unless given.
        tasks: names of tasks (:func:`tacit.evaluate.task_names`); all unless given.
        epsilons: the ε to try, each above 0.
        delta: δ of every release, between 0 and 1.
        ks: the k of k-query anonymity to try, each at least 2.
        folds: into how many folds the users are split, at least 2; each is tested once.
        draws: how often noise is drawn for each fold and setting, at least 2.
        seed: of the split into folds.
        since: only records from this time on (UTC).
        until: only records before this time (UTC).
        scrub: leave out records that look as if they named somebody.
        session_gap: minutes of pause that end a session; 30 if None.
        synthetic: you vouch that nobody real is in the log, so that the report may be shared.
        workers: processes; one per processor, two at most, unless given.
        engine: a Spark master that counts what is released; DuckDB on this machine unless given.
        force: replace the report of another log or of other parameters.
        progress: called with how many runs are done, and how many there are.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(1)  # a script without a guard of its main part, run again by a process it started
    settings = grid(mechanisms, epsilons, ks, delta)
    with _as_log(Path(log)) as (readable, track):
        if topics is None and track and qrels is not None:
            topics = Path(log)
        judgments = load_judgments(topics, qrels, run) if topics is not None else None
        if judgments is None and (qrels is not None or run is not None):
            raise ParameterError("judgments need topics: give `topics`.")
        named = _tasks_of(tasks, judgments)
        prepared = Preparation(since, until, scrub, SessionCut.of(session_gap))
        engine = chosen_engine(engine)
        plan = SweepPlan(settings, named, folds, draws, seed, prepared, judgments, engine)
        sensitivity = sensitivity_of(readable, declared_synthetic=synthetic)
        workers = workers or min(2, len(os.sched_getaffinity(0)))
        with sweep_folder(to, Path(log), force=force) as folder:
            found = run_sweep(readable, folder, plan, workers=workers, anew=force, progress=progress)
            results = results_of(found, _about(Path(log).name, readable, plan), sensitivity)
            if to is not None:
                write_results(results, folder, sensitivity.mode)
                write_figures(results, folder, sensitivity.mode)
                warns = sensitivity is Sensitivity.AS_THE_LOG
                write_page(
                    results,
                    folder / "report.html",
                    mode=sensitivity.mode,
                    banner=(sensitivity.banner, warns),
                    price=figures.protection(found),
                    note=_UNITS,
                    titles=figures.section_titles(found),
                )
    return results if to is None else replace(results, page=Path(to) / "report.html")


@contextmanager
def _as_log(log: Path) -> Iterator[tuple[Path, bool]]:
    """The log as canonical Parquet, and whether it was made of TREC's sessions."""
    if not is_session_file(log):
        yield check_log(log), False
        return
    with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
        made = Path(folder) / "sessions.parquet"
        log_of_sessions(read_sessions(log), made)
        yield check_log(made), True


def _tasks_of(tasks: Sequence[str], judgments: Judgments | None) -> tuple[str, ...]:
    """Select the tasks that were named, or all that have something to judge."""
    if tasks:
        return tuple(tasks)
    judged = [name for name in task_names() if task_class(name).judged] if judgments is not None else []
    if judgments is not None and not any(unit.session for unit in judgments.units):
        judged.remove("judged-sessions")
    return (*judged, *unjudged_tasks())


def _about(name: str, log: Path, plan: SweepPlan) -> dict[str, Any]:
    """Describe the sweep for the report."""
    records, users = plan.extent(log)
    prepared = plan.preparation.to_dict()
    about = {"log": name, "records": records, "users": users}
    about |= {bound: prepared[bound] for bound in ("since", "until")}
    return about | {"sessions": str(plan.preparation.sessions), "folds": plan.folds, "draws": plan.draws}


def results_of(found: Measurements, about: dict[str, Any], sensitivity: Sensitivity) -> Results:
    """The results of a sweep: figures, tables and sentences."""
    people = about["users"] * (about["folds"] - 1) / about["folds"]
    summary, advised = figures.summarise(found, people), figures.advice(found, about["users"], people)
    document = {"about": about, "sensitivity": sensitivity.value, "advice": advised, "summary": summary}
    document["tasks"] = {name: _on_scale(found, name, people) for name in found.tasks}
    document |= {each.name: getattr(found, each.name) for each in fields(found)}
    return Results(
        "release",
        "What privacy costs",
        f"{about['log']}: {about['records']:,} records of {figures.counted(about['users'])}, "
        f"{about['folds']} folds by user, {about['draws']} draws of noise for each fold.",
        document,
        [figures.table_row(found, result) for result in found.results],
        figures.all_figures(found, about["users"]),
        figures.task_tables(found),
        summary,
        advised,
        [each for each in (figures.protection(found), sensitivity.banner) if each],
    )


def _on_scale(found: Measurements, task: str, people: float) -> dict[str, Any]:
    """A task's headline measure of every release, between nothing released and the whole log."""
    judged, results = found.tasks[task], found.headline(task)
    nothing, original = (results.get(each.key) for each in (NOTHING, ORIGINAL))
    releases = []
    for key, result in results.items():
        if key not in (NOTHING.key, ORIGINAL.key):
            about = found.settings[key]
            named = {name: about[name] for name in ("label", "mechanism", "epsilon", "delta", "k")}
            named |= {"asked_epsilon": about["asked_epsilon"], "rows": found.released_rows(key)}
            told = ("value", "low", "high", "gain", "share", "share_low", "share_high", "answered")
            releases.append(named | {name: getattr(result, name) for name in told})
    return {
        "title": judged.title,
        "measure": judged.headline,
        "units": max((result.units for result in results.values()), default=0),
        "nothing": nothing.value if nothing else None,
        "original": original.value if original else None,
        "releases": releases,
        "verdict": figures.verdict(found, task, people) if nothing and original else None,
    }
