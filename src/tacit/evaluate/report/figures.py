"""Figures of a report on releases: curves, and mechanisms at equal budgets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

from tacit.evaluate import charts
from tacit.evaluate.results import Figure, columns
from tacit.evaluate.sweep.measurements import Measurement, Measurements
from tacit.evaluate.task import Task

COLUMNS = columns(
    "setting = release | epsilon = ε | delta = δ | k | rows | mean = mean where answered | "
    "low = from | high = to | answered = share answered | mean_of_all = mean over all | "
    "difference = difference from original | p = p, corrected"
)


def all_figures(found: Measurements) -> list[Figure]:
    """Every figure, in the order of the page."""
    curves = [figure for task in found.tasks.values() for figure in _curves(found, task)]
    return [*curves, *_equal_budget(found)]


def task_tables(found: Measurements) -> list[Figure]:
    """A table of each task's headline measure, for a terminal."""
    shown = columns(
        "setting = release | epsilon = ε | rows | mean = mean where answered | answered {.1%} | "
        "mean_of_all = mean over all | p"
    )
    return [
        Figure(
            name,
            f"{name} {task.headline}",
            shown,
            [table_row(found, result) for result in found.headline(name).values()],
        )
        for name, task in found.tasks.items()
        if found.has_units(name)  # the summary says so where there is nothing
    ]


def table_row(found: Measurements, result: Measurement) -> dict[str, Any]:
    """A measurement as a row of a table."""
    about, difference = found.settings[result.setting], result.to_original
    return {
        "setting": about["label"],
        "epsilon": about["epsilon"],
        "delta": about["delta"],
        "k": about["k"],
        "rows": found.released_rows(result.setting),
        "mean": result.mean,
        "low": result.low,
        "high": result.high,
        "answered": result.answered,
        "mean_of_all": result.mean_of_all,
        "difference": difference.mean if difference else None,
        "p": result.p_corrected if difference else None,
    }


def _curves(found: Measurements, task: type[Task]) -> Iterator[Figure]:
    """The headline measure by ε and by k, where the release has an answer and over all test units."""
    results = found.headline(task.name)
    original = next((r for key, r in results.items() if found.settings[key]["mechanism"] == "original"), None)
    for series, axis, key in (("budget", "ε", "asked_epsilon"), ("k", "k", "k")):
        drawn = [
            (found.settings[r.setting], r)
            for r in results.values()
            if found.settings[r.setting]["series"] == series and found.settings[r.setting][key] is not None
        ]
        table = [table_row(found, r) for r in [*([original] if original else []), *(r for _, r in drawn)]]
        answered = {r.answered for _, r in drawn} | ({original.answered} if original else set())
        for of_all in (False, True):
            rows = [
                {"series": about["mechanism"], "x": about[key], **_point(result, of_all=of_all)}
                for about, result in drawn
            ]
            rows = [row for row in rows if math.isfinite(row["y"])]
            if not rows or (of_all and answered == {1}):
                continue
            levels = {"original log": _value(original, of_all)} if original else {}
            draw = partial(charts.curve, rows, axis, _measure(task.headline), levels=levels, logarithmic=True)
            yield Figure(
                f"{task.name}-by-{key.removeprefix('asked_')}{'-of-all' if of_all else ''}",
                f"{task.headline}, {_where(of_all)}",
                COLUMNS,
                table,
                task.name,
                _caption(series, of_all),
                draw,
            )


def _value(result: Measurement, of_all: bool) -> float:
    return result.mean_of_all if of_all else result.mean


def _point(result: Measurement, *, of_all: bool) -> dict[str, Any]:
    """Value and interval; there is none of the mean over all units."""
    bounds = (None, None) if of_all or math.isnan(result.low) else (result.low, result.high)
    return {"y": _value(result, of_all), "low": bounds[0], "high": bounds[1]}


def _measure(name: str) -> str:
    """The measure without the way it was reached: ``nDCG@10``."""
    return name.rpartition(": ")[2]


def _where(of_all: bool) -> str:
    return "over all test units" if of_all else "where the release has an answer"


def _caption(series: str, of_all: bool) -> str:
    privacy = (
        "Less privacy to the right (a larger ε)."
        if series == "budget"
        else "More anonymity to the right (k)."
    )
    what = (
        "Units that the release cannot serve count as 0: what a user of the release would see."
        if of_all
        else "Mean over the test units that the release can serve, as the papers report it; bars are 95% "
        "intervals over folds and draws of noise."
    )
    return f"{privacy} {what} Dashed: the original log."


def _equal_budget(found: Measurements) -> Iterator[Figure]:
    """Every task's utility by mechanism at equal ε, and the paired tests between mechanisms."""
    rows = []
    for name in found.tasks:
        for key, result in found.headline(name).items():
            about = found.settings[key]
            share = found.share_of_original(result, of_all=True)
            if about["series"] == "budget" and about["asked_epsilon"] is not None and math.isfinite(share):
                scale = share / result.mean_of_all if result.mean_of_all else math.nan
                spread = (result.high - result.mean) * result.answered * scale
                rows.append(
                    {
                        "task": name,
                        "series": about["mechanism"],
                        "epsilon": about["asked_epsilon"],
                        "share": share,
                        "low": max(0.0, share - spread) if math.isfinite(spread) else None,
                        "high": share + spread if math.isfinite(spread) else None,
                        "answered": result.answered,
                    }
                )
    if not rows:
        return
    epsilons = sorted({row["epsilon"] for row in rows})
    yield Figure(
        "equal-budget",
        "Mechanisms side by side at equal budget",
        columns(
            "task | epsilon = ε | first = one | second = other | units = units both answer | "
            "difference = one minus other | low = from | high = to | p = p, corrected"
        ),
        [
            {
                "task": c.task,
                "epsilon": c.epsilon,
                "first": found.settings[c.first]["mechanism"],
                "second": found.settings[c.second]["mechanism"],
                "units": c.difference.units,
                "difference": c.difference.mean,
                "low": c.difference.low,
                "high": c.difference.high,
                "p": c.p_corrected,
            }
            for c in found.contrasts
            if c.difference.units
        ],
        "side by side",
        "What each keeps of the original log's utility, over all test units. The table compares two "
        "mechanisms unit by unit where both have an answer (paired t-test, corrected by Holm's method).",
        partial(charts.bars_by_budget, rows, epsilons, epsilons[len(epsilons) // 2]),
    )


def section_titles(found: Measurements) -> dict[str, str]:
    """Titles of the page's sections, by name."""
    tasks = found.tasks.items()
    return {name: f"{task.title[:1].upper()}{task.title[1:]}: {task.description}" for name, task in tasks} | {
        "side by side": "Mechanisms at equal budget",
    }
