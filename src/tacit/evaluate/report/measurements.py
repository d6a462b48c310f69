"""Measurements as the report speaks of them: tasks in words, headline measures, rows of tables."""

from __future__ import annotations

import math
from typing import Any

from tacit.evaluate.sweep.table import Measurement, Results
from tacit.evaluate.tasks import TASKS

__all__ = ["COLUMNS", "MEANINGS", "UNITS", "headlines", "share_of_original", "table_row", "without_units"]

MEANINGS = {
    "adhoc": "ad-hoc search: rank pages for a query from the release alone",
    "suggestion": "query suggestion: guess what a user asks next",
    "session-search": "session search: rank pages for a whole session",
    "substitution": "query substitution: find other words for a query, as the original log would",
    "index-caching": "index caching: keep the right posting lists in memory",
    "statistics": "statistics: how much of the log's histogram of queries is there",
}
"""Each task in a line."""
UNITS = {
    "adhoc": "test query with a click",
    "suggestion": "test session of two queries",
    "session-search": "test session with a click",
    "substitution": "test query with a substitution in the original log",
    "index-caching": "test search with a keyword",
    "statistics": "record",
}
"""What each task judges, one of them."""


def headlines(results: Results) -> dict[str, str]:
    """The headline measure of each task that was run."""
    there = dict.fromkeys(result.task for result in results.results)
    return {task: TASKS[task]().headline for task in there}


def without_units(results: Results) -> tuple[str, ...]:
    """The tasks for which the test parts hold nothing to judge: no clicks, say, in a log without them."""
    return tuple(
        task
        for task, measure in headlines(results).items()
        if not any(result.units for result in results.of(task, measure).values())
    )


def share_of_original(results: Results, result: Measurement, *, of_all: bool = False) -> float:
    """A result over that of the original log; NaN where that is nothing."""
    original = next(
        r
        for r in results.of(result.task, result.measure).values()
        if results.settings[r.setting]["mechanism"] == "original"
    )
    mine, theirs = (result.mean_of_all, original.mean_of_all) if of_all else (result.mean, original.mean)
    return mine / theirs if theirs and math.isfinite(theirs) else math.nan


def table_row(results: Results, result: Measurement) -> dict[str, Any]:
    about = results.settings[result.setting]
    difference = result.to_original
    return {
        "setting": about["label"],
        "epsilon": about["epsilon"],
        "delta": about["delta"],
        "k": about["k"],
        "rows": round(sum(results.rows[result.setting].values())),
        "mean": result.mean,
        "low": result.low,
        "high": result.high,
        "answered": result.answered,
        "mean_of_all": result.mean_of_all,
        "difference": difference.mean if difference else None,
        "p": result.p_corrected if difference else None,
    }


COLUMNS = (
    ("setting", "release"),
    ("epsilon", "ε"),
    ("delta", "δ"),
    ("k", "k"),
    ("rows", "rows"),
    ("mean", "mean where answered"),
    ("low", "from"),
    ("high", "to"),
    ("answered", "share answered"),
    ("mean_of_all", "mean over all"),
    ("difference", "difference from original"),
    ("p", "p, corrected"),
)
