"""Measurements of a sweep: each measure of each setting, with confidence intervals and significance tests.

Two releases are judged on the same units. Their difference, unit by unit, is tested with a two-sided paired
t-test, as the thesis does; units that only one of them answers are left out. The tests of one measure are
corrected together by Holm's method. With many units a tiny difference is significant: the interval of the
difference says how large it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tacit.evaluate.sweep.runs import RunStore, SweepRun
from tacit.evaluate.sweep.settings import ReleaseSetting
from tacit.evaluate.task import Measured, Task
from tacit.evaluate.tasks import task_class

_LEVEL = 0.95
_SAME = 1e-6
"""Differences whose spread is so small a share of their mean are equal but for rounding."""


@dataclass(frozen=True)
class Difference:
    """Between two means over the same units.

    Args:
        units: answered by both.
        mean: of the differences.
        low, high: its 95% confidence interval.
        p: of the two-sided paired t-test (of the sign test where all differences are equal); NaN below two.
    """

    units: int
    mean: float
    low: float
    high: float
    p: float


def paired(first: NDArray[np.floating], second: NDArray[np.floating]) -> Difference:
    """First minus second, over units that have a value in both."""
    both = ~np.isnan(first) & ~np.isnan(second)
    differences = (first[both] - second[both]).astype(np.float64)
    units = len(differences)
    if units == 0:
        return Difference(0, np.nan, np.nan, np.nan, np.nan)
    mean = float(differences.mean())
    if units == 1:
        return Difference(1, mean, np.nan, np.nan, np.nan)
    error = float(differences.std(ddof=1) / np.sqrt(units))
    if error <= _SAME * abs(mean):
        # All differ by the same: the t statistic has no denominator, the sign test still counts units.
        return Difference(units, mean, mean, mean, 1.0 if mean == 0 else 2 * 0.5**units)
    half = error * float(stats.t.ppf((1 + _LEVEL) / 2, units - 1))
    p = 2 * float(stats.t.sf(abs(mean) / error, units - 1))
    return Difference(units, mean, mean - half, mean + half, p)


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean of repetitions with its 95% interval (Student's); no interval for a single one."""
    listed = np.array([value for value in values if not np.isnan(value)])
    if not len(listed):
        return np.nan, np.nan, np.nan
    mean = float(listed.mean())
    if len(listed) == 1:
        return mean, np.nan, np.nan
    half = float(listed.std(ddof=1) / np.sqrt(len(listed)) * stats.t.ppf((1 + _LEVEL) / 2, len(listed) - 1))
    return mean, mean - half, mean + half


def holm(p: Sequence[float]) -> list[float]:
    """p-values corrected for their number, step down; NaN stays, and does not count."""
    values = np.array(p, np.float64)
    there = np.flatnonzero(~np.isnan(values))
    order = there[np.argsort(values[there], kind="stable")]
    corrected = np.full(len(values), np.nan)
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - place) * values[index]))
        corrected[index] = largest
    return [float(value) for value in corrected]


@dataclass(frozen=True)
class Measurement:
    """One measure of one setting.

    Args:
        setting: the key of the setting.
        task, measure: what was measured.
        mean: over answered units, the mean over repetitions (folds and draws).
        low, high: its 95% interval over repetitions.
        mean_of_all: over all units, unanswered ones as 0.
        low_of_all, high_of_all: its 95% interval over repetitions.
        answered: the share of units that the release could serve.
        units: test units over all folds.
        to_original: the difference from the original on the units that both answer.
        p_corrected: of that difference, corrected over the settings of the sweep.
    """

    setting: str
    task: str
    measure: str
    mean: float
    low: float
    high: float
    mean_of_all: float
    low_of_all: float
    high_of_all: float
    answered: float
    units: int
    to_original: Difference | None = None
    p_corrected: float = math.nan


@dataclass(frozen=True)
class Contrast:
    """Two mechanisms at the same ε, unit by unit."""

    task: str
    measure: str
    epsilon: float
    first: str
    second: str
    difference: Difference
    p_corrected: float


@dataclass(frozen=True, repr=False)
class Measurements:
    """All of a sweep.

    Args:
        settings: by key, what each setting is and guarantees.
        results: setting by setting, measure by measure.
        contrasts: mechanisms against each other at equal ε, for each task's headline measure.
        rows: by setting and table, how many rows a release had on average.
        seconds: by setting, processor time of the release and of each task, on average.
        repetitions: by setting, folds times draws.
    """

    settings: Mapping[str, Mapping[str, Any]]
    results: tuple[Measurement, ...]
    contrasts: tuple[Contrast, ...]
    rows: Mapping[str, Mapping[str, float]]
    seconds: Mapping[str, Mapping[str, float]]
    repetitions: Mapping[str, int]

    def __repr__(self) -> str:
        return f"Measurements({len(self.results):,} of {len(self.settings):,} settings)"

    def of(self, task: str, measure: str) -> dict[str, Measurement]:
        """One measure by setting."""
        return {r.setting: r for r in self.results if (r.task, r.measure) == (task, measure)}

    @cached_property
    def tasks(self) -> dict[str, type[Task]]:
        """The tasks that were run, by name."""
        return {name: task_class(name) for name in dict.fromkeys(result.task for result in self.results)}

    def headline(self, task: str) -> dict[str, Measurement]:
        """A task's headline measure by setting."""
        return self.of(task, self.tasks[task].headline)

    def has_units(self, task: str) -> bool:
        """Whether the test parts hold anything for a task to judge; a log without clicks may not."""
        return any(result.units for result in self.headline(task).values())

    def released_rows(self, setting: str) -> int:
        """How many rows all tables of a release had, on average."""
        return round(sum(self.rows[setting].values()))

    def original(self, task: str) -> Measurement:
        """A task's headline measure of the original log."""
        found = self.headline(task).items()
        return next(r for key, r in found if self.settings[key]["mechanism"] == "original")


def gather(
    store: RunStore,
    settings: Sequence[ReleaseSetting],
    tasks: Sequence[str],
    runs: Mapping[str, Sequence[tuple[int, int]]],
) -> Measurements:
    """Summarise the runs of a sweep."""
    original = next((setting for setting in settings if setting.is_original), None)
    baseline = _by_fold(_load(store, original, runs)) if original else {}
    unit_values: dict[tuple[str, str], dict[str, NDArray[np.float32]]] = {}
    results: list[Measurement] = []
    rows, seconds, repetitions = {}, {}, {}
    listed = {setting.key: setting for setting in settings}
    for key, setting in listed.items():
        found = _load(store, setting, runs)
        rows[key] = _means(run.rows for run in found)
        seconds[key] = _means(run.seconds for run in found)
        repetitions[key] = len(found)
        by_fold = _by_fold(found)
        for name in found[0].values:
            task, _, measure = name.partition("/")
            if task not in tasks:
                continue
            results.append(_result(key, task, measure, name, found))
            single = len(found[0].values[name]) == 1  # one figure for the whole log: nothing to pair
            if original is not None and key != original.key and not single:
                folds = [fold for fold in by_fold if fold in baseline]
                mine = np.concatenate([by_fold[fold][name] for fold in folds])
                theirs = np.concatenate([baseline[fold][name] for fold in folds])
                results[-1] = replace(results[-1], to_original=paired(mine, theirs))
            if task_class(task).headline == measure:
                whole = np.concatenate([by_fold[fold][name] for fold in sorted(by_fold)])
                unit_values.setdefault((task, measure), {})[key] = whole
    described = {key: setting.describe() | {"label": setting.label()} for key, setting in listed.items()}
    return Measurements(
        described,
        tuple(_corrected(results)),
        tuple(_contrasts(described, unit_values)),
        rows,
        seconds,
        repetitions,
    )


def _load(
    store: RunStore, setting: ReleaseSetting, runs: Mapping[str, Sequence[tuple[int, int]]]
) -> list[SweepRun]:
    return [store.load(setting, fold, draw) for fold, draw in runs[setting.key]]


def _by_fold(runs: Iterable[SweepRun]) -> dict[int, dict[str, NDArray[np.float32]]]:
    """For each fold the values of its units, the mean over draws that answered."""
    grouped: dict[int, list[SweepRun]] = {}
    for run in runs:
        grouped.setdefault(run.fold, []).append(run)
    found: dict[int, dict[str, NDArray[np.float32]]] = {}
    for fold, several in grouped.items():
        found[fold] = {
            name: several[0].values[name]
            if len(several) == 1
            else _mean_of_answered(np.stack([run.values[name] for run in several]))
            for name in several[0].values
        }
    return found


def _mean_of_answered(stacked: NDArray[np.float32]) -> NDArray[np.float32]:
    counts = np.count_nonzero(~np.isnan(stacked), axis=0)
    sums = np.nansum(stacked, axis=0)
    found = np.full(sums.shape, np.nan, np.float32)
    np.divide(sums, counts, out=found, where=counts > 0)
    return found


def _result(key: str, task: str, measure: str, name: str, runs: Sequence[SweepRun]) -> Measurement:
    measured = [Measured(run.values[name].astype(np.float64)) for run in runs]
    of_answered = mean_interval([each.mean for each in measured])
    of_all = mean_interval([each.mean_of_all for each in measured])
    share = mean_interval([each.answered / each.units if each.units else math.nan for each in measured])[0]
    units = {run.fold: len(run.values[name]) for run in runs}
    return Measurement(key, task, measure, *of_answered, *of_all, share, sum(units.values()))


def _corrected(results: Sequence[Measurement]) -> list[Measurement]:
    """Holm's correction over the settings, measure by measure."""
    groups: dict[tuple[str, str], list[int]] = {}
    for place, result in enumerate(results):
        if result.to_original is not None:
            groups.setdefault((result.task, result.measure), []).append(place)
    corrected = list(results)
    for places in groups.values():
        tested = [results[place].to_original for place in places]
        for place, p in zip(places, holm([d.p for d in tested if d is not None]), strict=True):
            corrected[place] = replace(results[place], p_corrected=p)
    return corrected


def _contrasts(
    described: Mapping[str, Mapping[str, Any]],
    values: Mapping[tuple[str, str], Mapping[str, NDArray[np.float32]]],
) -> list[Contrast]:
    """Every two mechanisms at the same ε of the budget series."""
    found: list[Contrast] = []
    for (task, measure), by_setting in values.items():
        pairs = []
        budget = [key for key in by_setting if described[key]["series"] == "budget"]
        for place, one in enumerate(budget):
            for two in budget[place + 1 :]:
                epsilon = described[one]["asked_epsilon"]
                if epsilon is not None and epsilon == described[two]["asked_epsilon"]:
                    pairs.append((epsilon, one, two, paired(by_setting[one], by_setting[two])))
        for (epsilon, one, two, difference), p in zip(
            pairs, holm([pair[3].p for pair in pairs]), strict=True
        ):
            found.append(Contrast(task, measure, epsilon, one, two, difference, p))
    return found


def _means(found: Iterable[Mapping[str, float]]) -> dict[str, float]:
    listed = list(found)
    return {name: float(np.mean([each[name] for each in listed])) for name in listed[0]}
