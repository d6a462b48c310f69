"""Figures of a report on releases: curves, and mechanisms at equal budgets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from typing import Any

from tacit.evaluate import charts
from tacit.evaluate.results import Figure, columns
from tacit.evaluate.sweep.measurements import Measurement, Measurements
from tacit.evaluate.task import Task

COLUMNS = columns(
    "label = release | epsilon = ε | delta = δ | k | rows | mean = mean where answered | "
    "low = from | high = to | answered = share answered | mean_of_all = mean over all | "
    "difference = difference from original | p_corrected = p, corrected"
)


def all_figures(found: Measurements) -> list[Figure]:
    """Every figure, in the order of the page."""
    curves = [figure for task in found.tasks.values() for figure in _curves(found, task)]
    return [*curves, *_equal_budget(found)]


def task_tables(found: Measurements) -> list[Figure]:
    """A table of each task's headline measure, for a terminal."""
    shown = columns(
        "label = release | epsilon = ε | rows | mean = mean where answered | answered {.1%} | "
        "mean_of_all = mean over all | p_corrected = p"
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
    """A measurement as a row of a table, with what its setting is."""
    about, difference = found.settings[result.setting], result.to_original
    row = {name: about[name] for name in ("label", "mechanism", "series", "epsilon", "delta", "k")}
    row["rows"] = found.released_rows(result.setting)
    row |= {
        f.name: getattr(result, f.name) for f in fields(result) if f.name not in ("setting", "to_original")
    }
    return row | {"difference": difference.mean if difference else None}


def _curves(found: Measurements, task: type[Task]) -> Iterator[Figure]:
    """The headline measure over all test units, by ε and by k."""
    results = found.headline(task.name)
    original = [r for r in results.values() if found.settings[r.setting]["mechanism"] == "original"]
    for key, axis, privacy in (
        ("asked_epsilon", "ε", "Less privacy to the right (a larger ε)."),
        ("k", "k", "More anonymity to the right (k)."),
    ):
        drawn = [r for r in results.values() if found.settings[r.setting][key] is not None]
        rows = [
            {
                "series": found.settings[r.setting]["mechanism"],
                "x": found.settings[r.setting][key],
                "y": r.mean_of_all,
                **_bounds(r.low_of_all, r.high_of_all),
            }
            for r in drawn
            if math.isfinite(r.mean_of_all)
        ]
        if rows:
            levels = {"original log": original[0].mean_of_all} if original else {}
            measure = task.headline.rpartition(": ")[2]
            yield Figure(
                f"{task.name}-by-{key.removeprefix('asked_')}",
                f"{task.headline}, over all test units",
                COLUMNS,
                [table_row(found, r) for r in [*original, *drawn]],
                task.name,
                f"{privacy} Units that the release cannot serve count as 0: what a user of the release would "
                "see; bars are 95% intervals over folds and draws of noise. Dashed: the original log. The "
                "table has the means over the units that were answered too, as the papers report them.",
                partial(charts.curve, rows, axis, measure, levels=levels, logarithmic=True),
            )


def _bounds(low: float, high: float) -> dict[str, float | None]:
    """An interval to draw; none where there was one repetition."""
    there = math.isfinite(low) and math.isfinite(high)
    return {"low": max(0.0, low) if there else None, "high": high if there else None}


def _equal_budget(found: Measurements) -> Iterator[Figure]:
    """Every task's utility by mechanism at equal ε, and the paired tests between mechanisms."""
    rows = []
    for name in found.tasks:
        whole = found.original(name).mean_of_all
        for key, result in found.headline(name).items():
            about = found.settings[key]
            if about["asked_epsilon"] is not None and whole > 0:
                rows.append(
                    {
                        "task": name,
                        "series": about["mechanism"],
                        "epsilon": about["asked_epsilon"],
                        "share": result.mean_of_all / whole,
                        **_bounds(result.low_of_all / whole, result.high_of_all / whole),
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
