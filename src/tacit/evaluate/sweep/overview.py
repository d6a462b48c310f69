"""The results of a sweep at a glance: a row for each release, a column for each task's headline measure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tacit.evaluate.tasks import TASKS

if TYPE_CHECKING:
    from tacit.evaluate.sweep.table import Results

__all__ = ["NOTE", "overview"]

NOTE = "Means over all test units, 0 for those that a release cannot serve. As sensitive as the log."


def overview(results: Results) -> tuple[list[str], list[list[str]]]:
    """Headings and rows, with utility over all test units."""
    tasks = list(dict.fromkeys(result.task for result in results.results))
    value = {
        (result.setting, result.task): result.mean_of_all
        for result in results.results
        if result.measure == TASKS[result.task]().headline
    }
    heading = ["release", "rows", *(f"{task}: {_measure(task)}" for task in tasks)]
    rows = [
        [about["label"], f"{sum(results.rows[key].values()):,.0f}"]
        + [_shown(value.get((key, task), math.nan)) for task in tasks]
        for key, about in results.settings.items()
    ]
    return heading, rows


def _measure(task: str) -> str:
    return TASKS[task]().headline.rpartition(": ")[2]


def _shown(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "–"
