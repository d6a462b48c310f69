"""Measurements of a sweep: each measure of each setting, between nothing released and the whole log.

A value is the mean over **all** test units, unanswered ones as 0, and over draws of noise. Why a draw is a
random effect, and what a difference is held to: "Intervals and tests" in docs/reference/evaluation/tasks.md.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tacit.evaluate.sweep.runs import RunStore
from tacit.evaluate.sweep.settings import NOTHING, ORIGINAL, ReleaseSetting
from tacit.evaluate.task import Measured, Task
from tacit.evaluate.tasks import task_class

_LEVEL = 0.95
SURE = 0.05
"""Below such a p a gain is no chance, and shares of it mean something."""
_ROUNDING = 1e-9
"""A standard error so small a share of the largest value is rounding: units differ by the same."""

Drawn = Mapping[int, NDArray[np.float64]]
"""By fold, values of its units: a row for each draw of noise."""


@dataclass(frozen=True)
class Estimate:
    """A mean over all units and draws, with its 95% interval and the p of the two-sided test that it is 0.

    Interval and p are NaN where one unit or none says nothing of others.
    """

    value: float
    low: float
    high: float
    p: float


UNKNOWN = Estimate(math.nan, math.nan, math.nan, math.nan)


def estimate(drawn: Drawn, owners: Mapping[int, NDArray[np.int64]], minus: Drawn | None = None) -> Estimate:
    """The mean over all units of all folds, or of the differences from others on the same units.

    Args:
        drawn: values; NaN counts as 0.
        owners: by fold, the user of each unit; a fold that is not there has units of their own.
        minus: what is subtracted, unit by unit.
    """
    sides = [_zeros(side) for side in (drawn, minus) if side is not None]
    folds = sorted(drawn)
    means = [np.concatenate([side[fold].mean(axis=0) for fold in folds]) for side in sides]
    values = means[0] - means[1] if minus is not None else means[0]
    units = len(values)
    if not units:
        return UNKNOWN
    mean = float(values.mean())
    parts = [_of_units(values - mean, folds, sides[0], owners)]
    parts += [_of_noise(side, units) for side in sides]
    if parts[0][1] < 1:
        return Estimate(mean, math.nan, math.nan, math.nan)
    variance = sum(part for part, _ in parts)
    error = math.sqrt(variance)
    if error <= _ROUNDING * max(float(np.abs(side).max()) for side in means):
        return Estimate(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts if part)
    half = error * float(stats.t.ppf((1 + _LEVEL) / 2, freedom))
    return Estimate(mean, mean - half, mean + half, 2 * float(stats.t.sf(abs(mean) / error, freedom)))


def _zeros(drawn: Drawn) -> dict[int, NDArray[np.float64]]:
    return {fold: np.nan_to_num(np.atleast_2d(values).astype(np.float64)) for fold, values in drawn.items()}


def _of_units(
    residuals: NDArray[np.float64], folds: Sequence[int], side: Drawn, owners: Mapping[int, NDArray[np.int64]]
) -> tuple[float, float]:
    """The variance of the mean that comes from which users were tested, and its degrees of freedom."""
    named, most = [], 0
    for fold in folds:
        found = owners.get(fold, np.arange(side[fold].shape[1]))
        named.append(found + most)  # a user is in one fold only
        most += int(found.max()) + 1 if len(found) else 0
    numbers = np.concatenate(named).astype(np.int64)
    sums, there = np.bincount(numbers, residuals), np.count_nonzero(np.bincount(numbers))
    if there < 2:
        return 0.0, 0.0
    # One unit a fold is about all users but the fold's, who are in every other's: the jackknife's variance.
    shared = (there - 1) ** 2 if len(residuals) == len(folds) else 1
    return float((sums**2).sum() / len(residuals) ** 2 * there / (there - 1)) * shared, there - 1.0


def _of_noise(side: Drawn, units: int) -> tuple[float, float]:
    """The variance of the mean that comes from the draws of noise, and its degrees of freedom."""
    variance, degrees = 0.0, 0.0
    for values in side.values():
        draws, size = values.shape
        if draws > 1 and size:
            variance += float(values.mean(axis=1).var(ddof=1)) / draws * (size / units) ** 2
            degrees += draws - 1
    return variance, degrees


@dataclass(frozen=True)
class Measurement:
    """One measure of one setting.

    Args:
        setting: the key of the setting.
        value: over all units, unanswered ones as 0, and all draws.
        low, high: its 95% interval, noise included.
        answered: the share of units that the release could serve.
        where_answered: the mean over those alone, as the papers report it.
        units: test units over all folds.
        gain: over nothing released, unit by unit.
        share: of what the whole log gains over nothing; NaN where that is not above 0.
        share_low, share_high: the interval of the gain as such shares.
    """

    setting: str
    task: str
    measure: str
    value: float
    low: float
    high: float
    answered: float
    where_answered: float
    units: int
    gain: Estimate = UNKNOWN
    share: float = math.nan
    share_low: float = math.nan
    share_high: float = math.nan


@dataclass(frozen=True, repr=False)
class Measurements:
    """All of a sweep.

    Args:
        settings: by key, what each setting is and guarantees.
        results: setting by setting, measure by measure.
        rows: by setting and table, how many rows a release had on average.
        seconds: by setting, processor time of the release and of each task, on average.
        repetitions: by setting, folds times draws.
    """

    settings: Mapping[str, Mapping[str, Any]]
    results: tuple[Measurement, ...]
    rows: Mapping[str, Mapping[str, float]]
    seconds: Mapping[str, Mapping[str, float]]
    repetitions: Mapping[str, int]

    def __repr__(self) -> str:
        return f"Measurements({len(self.results):,} of {len(self.settings):,} settings)"

    def of(self, task: str, measure: str) -> dict[str, Measurement]:
        """Select one measure by setting."""
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
        """Add up the rows of all tables of a release, on average."""
        return round(sum(self.rows[setting].values()))

    def anchor(self, task: str, which: ReleaseSetting) -> Measurement:
        """A task's headline measure of nothing released, or of the original log."""
        return self.headline(task)[which.key]

    def at_budgets(self, task: str) -> list[tuple[str, float, Measurement]]:
        """Mechanism, ε and headline of every release with an ε."""
        return [
            (self.settings[key]["mechanism"], self.settings[key]["asked_epsilon"], result)
            for key, result in self.headline(task).items()
            if self.settings[key]["asked_epsilon"] is not None
        ]

    def best_at(self, task: str) -> dict[float, tuple[str, Measurement]]:
        """Find at each ε tried the mechanism whose release serves best."""
        found: dict[float, tuple[str, Measurement]] = {}
        for mechanism, epsilon, result in sorted(self.at_budgets(task), key=lambda each: each[1]):
            if epsilon not in found or result.value > found[epsilon][1].value:
                found[epsilon] = mechanism, result
        return found


def gather(
    store: RunStore,
    settings: Sequence[ReleaseSetting],
    tasks: Sequence[str],
    runs: Mapping[str, Sequence[tuple[int, int]]],
) -> Measurements:
    """Summarise the runs of a sweep."""
    results: list[Measurement] = []
    rows, seconds, repetitions = {}, {}, {}
    listed = {setting.key: setting for setting in settings}
    headlines: dict[str, dict[str, Drawn]] = {task: {} for task in tasks}
    owners: dict[str, dict[int, NDArray[np.int64]]] = {task: {} for task in tasks}
    for key, setting in listed.items():
        found = [store.load(setting, fold, draw) for fold, draw in runs[key]]
        rows[key] = _means(run.rows for run in found)
        seconds[key] = _means(run.seconds for run in found)
        repetitions[key] = len(found)
        for run in found:
            for task in owners.keys() & run.owners.keys():
                owners[task][run.fold] = run.owners[task]
        folds = dict.fromkeys(run.fold for run in found)
        for name in found[0].values:
            task, _, measure = name.partition("/")
            if task in headlines:
                drawn = {n: np.stack([run.values[name] for run in found if run.fold == n]) for n in folds}
                if task_class(task).headline == measure:
                    headlines[task][key] = drawn
                results.append(_result(key, task, measure, drawn, owners[task]))
    described = {key: setting.describe() | {"label": setting.label()} for key, setting in listed.items()}
    gained = tuple(_with_gains(results, headlines, owners))
    return Measurements(described, gained, rows, seconds, repetitions)


def _result(
    key: str, task: str, measure: str, drawn: Drawn, owners: Mapping[int, NDArray[np.int64]]
) -> Measurement:
    found = estimate(drawn, owners)
    every = Measured(np.concatenate([values.ravel() for values in drawn.values()]).astype(np.float64))
    share = every.answered / every.units if every.units else math.nan
    units = sum(values.shape[1] for values in drawn.values())
    return Measurement(key, task, measure, found.value, found.low, found.high, share, every.mean, units)


def _with_gains(
    results: Sequence[Measurement],
    headlines: Mapping[str, Mapping[str, Drawn]],
    owners: Mapping[str, Mapping[int, NDArray[np.int64]]],
) -> Iterable[Measurement]:
    """Headline measures with what they gain over nothing."""
    for result in results:
        drawn = headlines[result.task]
        if result.measure != task_class(result.task).headline or NOTHING.key not in drawn:
            yield result
            continue
        nothing, by = drawn[NOTHING.key], owners[result.task]
        gain = estimate(drawn[result.setting], by, nothing)
        whole = estimate(drawn[ORIGINAL.key], by, nothing) if ORIGINAL.key in drawn else UNKNOWN
        most = whole.value if whole.value > 0 and whole.p < SURE else math.nan
        low, high = gain.low / most, gain.high / most
        yield replace(result, gain=gain, share=gain.value / most, share_low=low, share_high=high)


def _means(found: Iterable[Mapping[str, float]]) -> dict[str, float]:
    listed = list(found)
    return {name: float(np.mean([each[name] for each in listed])) for name in listed[0]}
