"""Run a sweep: every setting on every fold, with fresh noise, resumable, on several processes.

Nothing is published and no ledger is charged: noise is drawn to see what a release would be good for, and
only the owner of the log sees the outcome. Parameters chosen this way depend on the log; the documentation
says what follows from that.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tacit.errors import InfeasibleError, InputError, ParameterError
from tacit.evaluate.data import LogPart, ReleasedData, released_whole, split
from tacit.evaluate.sweep.results import Results, gather
from tacit.evaluate.sweep.runs import RunStore, SweepRun, file_digest
from tacit.evaluate.sweep.settings import ReleaseSetting
from tacit.evaluate.task import Trial
from tacit.evaluate.tasks import TASKS, Adhoc
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.engines import Engine, open_engine
from tacit.release.mechanism import Plan
from tacit.release.preparation import Preparation
from tacit.release.resampling import released_counts, resample_counts
from tacit.searchlog import check_log

_MEGABYTES = 1000


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep tries.

    Args:
        settings: the original first, see :func:`tacit.evaluate.sweep.settings.grid`.
        tasks: names of tasks.
        folds: into how many parts the users are cut; each part is tested once.
        draws: how often the noise of a setting is drawn for each fold.
        impact_folds: on how many folds the impact of parameters is tried.
        seed: of the cut into folds.
        preparation: which records take part, and how histories are cut into sessions, as in a release.
    """

    settings: tuple[ReleaseSetting, ...]
    tasks: tuple[str, ...] = tuple(TASKS)
    folds: int = 5
    draws: int = 1
    impact_folds: int = 1
    seed: int = 0
    preparation: Preparation = field(default_factory=Preparation)

    def __post_init__(self) -> None:
        for name, value, least in (("folds", self.folds, 2), ("draws", self.draws, 1)):
            if value < least:
                raise ParameterError.outside(name, value, f"at least {least}")
        for task in self.tasks:
            if task not in TASKS:
                raise ParameterError.outside("the task", task, "one of " + ", ".join(TASKS))
        if not self.tasks:
            raise ParameterError("a sweep needs a task.")

    def records(self, log: Path, columns: Sequence[str] | None = None) -> pa.Table:
        """The log's records of the period."""
        since, until = self.preparation.since, self.preparation.until
        kept = [("time", ">=", since)] if since else []
        kept += [("time", "<", until)] if until else []
        return pq.read_table(log, columns=columns, filters=kept or None)

    def runs(self, fold: int) -> Iterator[tuple[ReleaseSetting, list[int]]]:
        """Each setting to try on a fold, with its draws. What draws no noise is run once."""
        for setting in self.settings:
            if setting.series.startswith("impact") and fold >= self.impact_folds:
                continue
            yield setting, list(range(1 if setting.exact else self.draws))

    @property
    def total(self) -> int:
        """How many runs there are."""
        return sum(len(draws) for fold in range(self.folds) for _, draws in self.runs(fold))


def evaluate_release(
    log: str | Path,
    folder: str | Path,
    plan: SweepPlan,
    *,
    workers: int = 1,
    anew: bool = False,
    advance: Callable[[int], None] = lambda _runs: None,
) -> Results:
    """Try every setting of a plan on a log; go on where an earlier call with the same folder was stopped.

    Args:
        log: the search log, canonical Parquet.
        folder: where the runs are kept, and a report may be written.
        plan: what to try.
        workers: processes; each holds a fold of the log in memory.
        anew: where the folder holds runs of another log or plan, begin anew; otherwise that is refused.
        advance: told how many runs more are done.
    """
    log, folder = check_log(log), Path(folder)
    if not plan.records(log, columns=["time"]).num_rows:
        raise InputError("the log has no records of that period, so there is nothing to evaluate.")
    store = RunStore(folder, identity_of(log, plan), anew=anew)
    pending = [fold for fold in range(plan.folds) if any(_missing(store, plan, fold))]
    present = sum(
        1
        for fold in range(plan.folds)
        for s, draws in plan.runs(fold)
        for d in draws
        if store.has(s, fold, d)
    )
    advance(present)
    if workers <= 1 or len(pending) <= 1:
        for fold in pending:
            run_fold(log, store, plan, fold, lambda: advance(1))
    else:
        _in_processes(log, store, plan, pending, min(workers, len(pending)), advance)
    return gather(store, plan.settings, plan.tasks, _done(plan))


def identity_of(log: Path, plan: SweepPlan) -> dict[str, Any]:
    """What all runs of a sweep share."""
    return {
        "log": file_digest(log),
        "folds": plan.folds,
        "seed": plan.seed,
        **plan.preparation.to_dict(),
        "tasks": sorted(plan.tasks),
    }


def _done(plan: SweepPlan) -> dict[str, list[tuple[int, int]]]:
    """Fold and draw of every run, by setting."""
    found: dict[str, list[tuple[int, int]]] = {}
    for fold in range(plan.folds):
        for setting, draws in plan.runs(fold):
            found.setdefault(setting.key, []).extend((fold, draw) for draw in draws)
    return found


def _missing(store: RunStore, plan: SweepPlan, fold: int) -> Iterator[tuple[ReleaseSetting, list[int]]]:
    for setting, draws in plan.runs(fold):
        left = [draw for draw in draws if not store.has(setting, fold, draw)]
        if left:
            yield setting, left


def _in_processes(
    log: Path,
    store: RunStore,
    plan: SweepPlan,
    pending: Sequence[int],
    workers: int,
    advance: Callable[[int], None],
) -> None:
    """A fold a process; progress is read off the disk."""
    context = multiprocessing.get_context("spawn")  # a fork would copy the engine's threads
    counted = store.done()
    pool = ProcessPoolExecutor(workers, mp_context=context)
    try:
        running = {pool.submit(_run_fold_in_child, log, store, plan, fold) for fold in pending}
        while running:
            finished, running = wait(running, timeout=0.5)
            now = store.done()
            advance(now - counted)
            counted = now
            for future in finished:
                future.result()
    except BaseException:
        _kill(pool)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _kill(pool: ProcessPoolExecutor) -> None:
    """End the processes of a pool at once; what they were writing is absent, not half there."""
    for process in list((pool._processes or {}).values()):
        process.terminate()


def _run_fold_in_child(log: Path, store: RunStore, plan: SweepPlan, fold: int) -> None:
    """A fold in a process that does not outlive the one that started it, even if that is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def end_with_parent() -> None:
            multiprocessing.connection.wait([parent.sentinel])
            os._exit(1)

        threading.Thread(target=end_with_parent, daemon=True).start()
    run_fold(log, store, plan, fold)


def run_fold(
    log: Path, store: RunStore, plan: SweepPlan, fold: int, done: Callable[[], None] = lambda: None
) -> None:
    """All missing runs of a fold."""
    prepared = plan.preparation
    original, test = split(plan.records(log), fold, plan.folds, plan.seed, prepared.sessions)
    trials: dict[str, Trial] = {}
    with open_engine(memory=_MEGABYTES << 20, threads=1) as engine:
        loaded = None
        for setting, draws in _missing(store, plan, fold):
            if loaded is None and not setting.is_original:
                loaded = engine.keep(prepared.apply(engine, engine.load(original.records)))
            begun = time.process_time()
            for draw, released in _releases(setting, engine, loaded, original, draws):
                seconds = {"release": time.process_time() - begun}
                values: dict[str, NDArray[np.float32]] = {}
                for task in plan.tasks:
                    begun = time.process_time()
                    if task not in trials:
                        trials[task] = TASKS[task]().against(original, test)
                    for name, measured in trials[task].measure(released).items():
                        values[f"{task}/{name}"] = measured.values.astype(np.float32)
                    seconds[task] = time.process_time() - begun
                rows = {kind: table.num_rows for kind, table in released.tables.items()}
                store.save(setting, SweepRun(fold, draw, values, rows, seconds))
                done()
                begun = time.process_time()


def _resampled(mechanism: Plan[Any], tables: Sequence[pa.Table]) -> ReleasedData:
    """The log that is made from a release, read as any log is; nothing where nothing was published."""
    try:
        counts = released_counts(tables, mechanism.name, mechanism.schedule.to_dict())
    except InfeasibleError:
        return ReleasedData({})
    with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
        made = resample_counts(counts, Path(folder) / "log.parquet")
        return released_whole(LogPart(pq.read_table(made.path)))


def _releases(
    setting: ReleaseSetting, engine: Engine, log: object, original: LogPart, draws: Sequence[int]
) -> Iterator[tuple[int, ReleasedData]]:
    """What would be released, a draw after another; counted once."""
    if setting.is_original:
        yield 0, released_whole(original)
        return
    mechanism = setting.make()
    counting = mechanism.count(engine, log)
    for draw in draws:
        tables = mechanism.publish(engine, counting, OperatingSystemRandomness())
        used = [table for name, table in tables.items() if not setting.only or name in setting.only]
        yield draw, _resampled(mechanism, used) if setting.resampled else ReleasedData.from_tables(used)
    for kept in counting.values():
        if hasattr(kept, "get_name"):  # a table of the engine; a mechanism may count in arrays of its own
            engine.drop(kept)


_MEASURE = f"adhoc/{Adhoc().headline}"


@dataclass(frozen=True)
class NamedQueries:
    """Queries with what each release makes of them.

    Args:
        measure: what the figures are.
        releases: the columns: the original, then each mechanism at the middle ε, or the middle k.
        rows: a query and its figures, None where the release has no answer; the greatest losses first.
    """

    measure: str
    releases: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]


def named_queries(log: Path, folder: Path, plan: SweepPlan, number: int) -> NamedQueries:
    """The ``number`` queries of the first fold that lose most, the mean over releases, unanswered as 0."""
    if "adhoc" not in plan.tasks:
        raise ParameterError("naming queries needs the task adhoc.", "Plan it with that task.")
    store = RunStore(folder, identity_of(log, plan))
    chosen = _middle(plan)
    values = np.stack([store.load(setting, 0, 0).values[_MEASURE] for setting in chosen.values()])
    _, test = split(plan.records(log), 0, plan.folds, plan.seed, plan.preparation.sessions)
    units = np.unique(test.clicks.query)  # the units of ad-hoc search: different queries with a click
    found = np.nan_to_num(values)
    lost = found[0] - found[1:].mean(axis=0) if len(found) > 1 else found[0]
    order = np.argsort(-lost, kind="stable")[:number]
    texts = test.queries.take(units[order]).to_pylist()
    columns = [[None if np.isnan(value) else float(value) for value in row[order]] for row in values]
    rows = tuple(zip(texts, zip(*columns, strict=True), strict=True))
    return NamedQueries(_MEASURE.partition("/")[2], tuple(chosen), rows)


def _middle(plan: SweepPlan) -> Mapping[str, ReleaseSetting]:
    """By label: the original, and the middle one of each mechanism's budgets."""
    mine: dict[str, list[ReleaseSetting]] = {}
    for setting in plan.settings:
        if setting.series in ("budget", "k"):
            mine.setdefault(setting.name, []).append(setting)
    middle = [listed[len(listed) // 2] for listed in mine.values()]
    return {setting.label(): setting for setting in middle}
