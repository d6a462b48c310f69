"""Run a sweep: every setting on every fold, with fresh noise, resumable, on several processes.

Nothing is published and no ledger is charged: noise is drawn to see what a release would be good for, and
only the owner of the log sees the outcome. Parameters chosen this way depend on the log; the documentation
says what follows from that.
"""

import multiprocessing.connection
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engines import Engine, memory_for, open_engine
from tacit.errors import InputError, ParameterError
from tacit.evaluate.data import CountedLog, ReleasedData, released_whole
from tacit.evaluate.judged import Judgments
from tacit.evaluate.results import Progress, no_progress
from tacit.evaluate.sweep.measurements import Measurements, gather
from tacit.evaluate.sweep.parts import SpilledLog, spill
from tacit.evaluate.sweep.runs import RunStore, SweepRun, file_digest
from tacit.evaluate.sweep.settings import LEAST, ORIGINAL, ReleaseSetting
from tacit.evaluate.task import Measures, Task, Trial
from tacit.evaluate.tasks import task_class, task_names
from tacit.release.mechanism import Counting, Plan
from tacit.release.preparation import Preparation
from tacit.searchlog import check_log
from tacit.searchlog.sessions import BY_PAUSES

_COUNTING = 500 << 20
_MEMORY = 1_500_000_000
"""Bytes of the engine of a fold, at most; beyond that it spills."""
DRAWS = 3
"""How often noise is drawn for each fold and setting: from draws its own spread is seen."""


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep runs.

    Args:
        settings: the anchors first, see :func:`tacit.evaluate.sweep.settings.grid`.
        folds: into how many folds the users are split; each fold is tested once.
        draws: how often the noise of a setting is drawn for each fold.
        preparation: which records take part, and how histories are split into sessions, as in a release.
        judgments: of topics, for the tasks that people judged.
        engine: a Spark master that counts releases; DuckDB on this machine unless given.
    """

    settings: tuple[ReleaseSetting, ...]
    tasks: tuple[str, ...] = field(default_factory=lambda: unjudged_tasks())
    folds: int = 5
    draws: int = DRAWS
    seed: int = 0
    preparation: Preparation = field(default_factory=Preparation)
    judgments: Judgments | None = None
    engine: str | None = None

    def __post_init__(self) -> None:
        for name, value, least in (("folds", self.folds, 2), ("draws", self.draws, 2)):
            if value < least:
                raise ParameterError.outside(name, value, f"at least {least}")
        for task in self.tasks:
            if task_class(task).judged and self.judgments is None:
                raise ParameterError(f"the task {task} needs judgments: give `topics` and `qrels`.")
        if not self.tasks:
            raise ParameterError("a sweep needs a task.")

    def extent(self, log: Path) -> tuple[int, int]:
        """Count the records of the period, and their users."""
        with open_engine(memory=_COUNTING) as engine:
            table = replace(self.preparation, scrub=False, sessions=BY_PAUSES).apply(engine.log(log))
            found = engine.table(table.aggregate(records=table.count(), users=table.user.nunique()))
        return found.column("records")[0].as_py(), found.column("users")[0].as_py()

    def draws_of(self, setting: ReleaseSetting) -> range:
        """The draws of a setting on each fold; what draws no noise is run once."""
        return range(1 if setting.exact else self.draws)

    def made(self, task: str, fold: int) -> Task:
        """A task, with the judgments of a fold where it needs some."""
        made: Callable[..., Task] = task_class(task)
        if self.judgments is None or not task_class(task).judged:
            return made()
        return made(self.judgments.of_fold(fold, self.folds, self.seed))

    @property
    def ks(self) -> set[int]:
        """List every k of k-query anonymity among the settings."""
        return {setting.options["k"] for setting in self.settings if "k" in setting.options}

    @property
    def total(self) -> int:
        """The number of runs."""
        return self.folds * sum(len(self.draws_of(setting)) for setting in self.settings)


def unjudged_tasks() -> tuple[str, ...]:
    """Names of the tasks that need no judgments."""
    return tuple(name for name in task_names() if not task_class(name).judged)


def run_sweep(
    log: str | Path,
    folder: str | Path,
    plan: SweepPlan,
    *,
    workers: int = 1,
    anew: bool = False,
    progress: Progress = no_progress,
) -> Measurements:
    """Run every setting of a plan on a log; an earlier call with the same folder that was stopped is resumed.

    Args:
        log: the search log, canonical Parquet.
        folder: where the runs are kept, and a report may be written.
        workers: processes; each holds a fold's test users in memory.
        anew: start over where the folder holds runs of another log or plan; otherwise that is refused.
        progress: called with how many runs are done, and how many there are.
    """
    log, folder = check_log(log), Path(folder)
    records, users = plan.extent(log)
    if not records:
        period = " of that period" * bool(plan.preparation.since or plan.preparation.until)
        raise InputError(f"the log has no searches with words{period}, so there is nothing to evaluate.")
    if users < plan.folds:
        problem = f"{plan.folds} folds of users need as many users; the log has {users}."
        raise InputError(problem, f"Use {'fewer `folds`, or ' * (users > 1)}a log of more people.")
    shared: dict[str, Any] = {"log": file_digest(log), "folds": plan.folds, "seed": plan.seed}
    shared["tasks"] = sorted(plan.tasks)
    if plan.judgments is not None:
        shared["judgments"] = plan.judgments.digest
    store = RunStore(folder, shared | plan.preparation.to_dict(), anew=anew)
    pending = [fold for fold in range(plan.folds) if any(_missing(store, plan, fold))]

    def report() -> None:
        left = sum(len(draws) for fold in pending for _, draws in _missing(store, plan, fold))
        progress(plan.total - left, plan.total)

    report()
    try:
        if workers > 1 and len(pending) > 1:
            _in_processes(log, store, plan, pending, min(workers, len(pending)), report)
    except BrokenProcessPool:  # a script without the usual guard of its main part can start none
        report()
    for fold in pending:
        if any(_missing(store, plan, fold)):
            run_fold(log, store, plan, fold, report)
    done = {
        setting.key: [(fold, draw) for fold in range(plan.folds) for draw in plan.draws_of(setting)]
        for setting in plan.settings
    }
    return gather(store, plan.settings, plan.tasks, done)


def _missing(store: RunStore, plan: SweepPlan, fold: int) -> Iterator[tuple[ReleaseSetting, list[int]]]:
    for setting in plan.settings:
        left = [draw for draw in plan.draws_of(setting) if not store.has(setting, fold, draw)]
        if left:
            yield setting, left


def _in_processes(
    log: Path,
    store: RunStore,
    plan: SweepPlan,
    pending: Sequence[int],
    workers: int,
    report: Callable[[], None],
) -> None:
    """Run a fold a process; progress is read off the disk.

    Raises:
        BrokenProcessPool: the processes ended before their work did.
    """
    context = multiprocessing.get_context("spawn")  # a fork would copy the engine's threads
    pool = ProcessPoolExecutor(workers, mp_context=context)
    try:
        running = {pool.submit(_run_fold_in_child, log, store, plan, fold) for fold in pending}
        while running:
            finished, running = wait(running, timeout=0.5)
            report()
            for future in finished:
                future.result()
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()  # at once: what it was writing is absent, not half there
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        report()


def _run_fold_in_child(log: Path, store: RunStore, plan: SweepPlan, fold: int) -> None:
    """Run a fold in a process that does not outlive the one that started it, even if that is killed."""
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
    """Run what is missing of a fold."""
    prepared = plan.preparation
    period, where = (prepared.since, prepared.until), (fold, plan.folds, plan.seed)
    trials: dict[str, Trial] = {}
    with open_engine(memory=min(memory_for(log), _MEMORY), threads=1, master=plan.engine) as engine:
        original, test = spill(log, period, where, prepared.sessions, engine)
        loaded, releases = None, _Releases(engine)
        for setting, draws in _missing(store, plan, fold):
            if loaded is None and not setting.is_anchor:
                loaded = prepared.apply(original.log())
                loaded = engine.keep(loaded) if len(original.files) == 1 else loaded
            begun = time.process_time()
            for draw, released in releases.of(setting, loaded, draws):
                seconds = {"release": time.process_time() - begun}
                values: dict[str, NDArray[np.floating]] = {}
                for task in plan.tasks:
                    begun = time.process_time()
                    if task not in trials:
                        trials[task] = plan.made(task, fold).against(original, test)
                    measured = (
                        _best_use(trials[task], task_class(task), original, plan.ks)
                        if setting == ORIGINAL
                        else trials[task].measure(released)
                    )
                    for name, found in measured.items():
                        exact = task_class(task).judged  # few units, which others compare to the last digit
                        values[f"{task}/{name}"] = found.values.astype(np.float64 if exact else np.float32)
                    seconds[task] = time.process_time() - begun
                tables = original.tables if setting == ORIGINAL else released.tables
                rows = {kind: table.num_rows for kind, table in tables.items()}
                having = {task: trial for task, trial in trials.items() if hasattr(trial, "owners")}
                owners = {
                    task: np.asarray(trial.owners) for task, trial in having.items() if setting.is_anchor
                }
                store.save(setting, SweepRun(fold, draw, values, rows, seconds, owners))
                done()
                begun = time.process_time()


def _best_use(trial: Trial, task: type[Task], original: SpilledLog, ks: Iterable[int]) -> Measures:
    """Measure the whole log: the headline by the best use of it, all else from all of it."""
    headline = task.headline
    found = dict(trial.measure(released_whole(original).only(task.reads)))
    for other in uses_of(original, ks, task.reads):
        if found[headline].mean_of_all == 1:  # no measure has more
            break
        tried = trial.measure(other)[headline]
        if tried.mean_of_all > found[headline].mean_of_all:
            found[headline] = tried
    return found


def uses_of(original: CountedLog, ks: Iterable[int], reads: Collection[str]) -> Iterator[ReleasedData]:
    """Ways to use a whole log beside all of it with public knowledge behind it.

    All of it alone; without what fewer than so many users had (:data:`LEAST`, and every k that is swept, so
    that no k-query release is a better use); without one of the tables that the task reads; not at all.
    """
    whole = replace(released_whole(original).only(reads), whole=True)
    yield whole
    before = whole.rows
    for least in sorted({*LEAST[1:], *ks}):
        filtered = released_whole(original, least).only(reads)
        if 0 < filtered.rows < before:  # else it is the use before, or nothing
            yield filtered
        before = filtered.rows
    for left_out in whole.tables if len(whole.tables) > 1 else ():
        yield released_whole(original).only(set(reads) - {left_out})
    yield ReleasedData({})


class _Releases:
    """Makes releases in memory; settings that differ in ε alone are counted once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._key: Any = None
        self._counting: Counting = {}

    def of(
        self, setting: ReleaseSetting, log: object, draws: Sequence[int]
    ) -> Iterator[tuple[int, ReleasedData]]:
        """A draw after another; of an anchor nothing."""
        if setting.is_anchor:
            yield 0, ReleasedData({})
            return
        plan = setting.make()
        key = counted_alike(setting, plan)
        if key != self._key:
            for kept in self._counting.values():
                if hasattr(kept, "get_name"):  # a table of the engine, not an array of a mechanism
                    self._engine.drop(kept)
            self._key, self._counting = key, plan.count(self._engine, log)
        for draw in draws:
            tables = plan.publish(self._engine, self._counting, self._engine.randomness(f"draw {draw}"))
            yield draw, ReleasedData.from_tables(tables.values())


def counted_alike(setting: ReleaseSetting, plan: Plan[Any]) -> Any:
    """Identify what a mechanism's counting depends on: its options but ε and δ, and its bounds."""
    options = sorted((n, v) for n, v in setting.options.items() if n not in ("epsilon", "delta"))
    bounds = [(part.table, part.columns, part.contribution) for part in plan.schedule.parts]
    return setting.mechanism, options, bounds
