"""Figures of a report on releases: what is gained at each ε, and each task's measure by ε and by k."""

import math
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from typing import Any

from tacit.evaluate import charts
from tacit.evaluate.results import Figure, columns
from tacit.evaluate.sweep.measurements import SURE, Measurement, Measurements
from tacit.evaluate.sweep.settings import NOTHING, ORIGINAL
from tacit.evaluate.task import Task

COLUMNS = columns(
    "label = release | epsilon = ε | delta = δ | k | rows | value | low = from | high = to | "
    "gain = gain over nothing {+.4f} | p {p} | share = of the whole log's {.0%} | "
    "answered = share answered {.1%} | where_answered = mean where answered"
)


def all_figures(found: Measurements, people: int) -> list[Figure]:
    """Draw every figure, in the order of the page, first that of a log of so many people."""
    curves = [figure for task in found.tasks.values() for figure in _curves(found, task)]
    return [*_gains(found, people), *curves]


def task_tables(found: Measurements) -> list[Figure]:
    """A table of each task's headline measure, for a terminal."""
    shown = columns(
        "label = release | epsilon = ε | rows | value | low = from | high = to | "
        "share = of the whole log's gain {.0%}"
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
    about = found.settings[result.setting]
    row = {name: about[name] for name in ("label", "mechanism", "epsilon", "delta", "k")}
    row["rows"] = found.released_rows(result.setting)
    row |= {f.name: getattr(result, f.name) for f in fields(result) if f.name not in ("setting", "gain")}
    return row | {"gain": result.gain.value, "p": result.gain.p}


def _gains(found: Measurements, people: int) -> Iterator[Figure]:
    """On top: for each task and ε the best release on the scale from nothing released to the whole log."""
    rows, beside = [], []
    for name, task in found.tasks.items():
        best_at = found.best_at(name)
        if not best_at or not found.has_units(name):
            continue
        nothing, whole = (found.anchor(name, which) for which in (NOTHING, ORIGINAL))
        if not (whole.gain.value > 0 and whole.gain.p < SURE):
            beside.append(task.title)
            continue
        common = {"task": task.title, "nothing": nothing.value, "original": whole.value}
        for epsilon, (mechanism, best) in best_at.items():
            rows.append(
                common
                | {"epsilon": epsilon, "mechanism": mechanism if best.gain.value > 0 else "none"}
                | {"value": best.value}
                | {"share": best.share, **_bounds(best.share_low, best.share_high)}
            )
    if rows:
        missing = f" Not drawn, for not even the whole log surely gains: {', '.join(beside)}."
        yield Figure(
            "gains",
            f"What a release of {people:,} people's searches gains over nothing released",
            columns(
                "task | epsilon = ε | mechanism = best mechanism | nothing = nothing released | "
                "value = the release | original = the whole log | share = gained {.1%} | "
                "low = from {.1%} | high = to {.1%}"
            ),
            rows,
            "",
            "At each ε the mechanism that came out best, with public knowledge behind its release, over all "
            "test units. At 0% a task is served as well as without any log, at 100% as well as with all "
            f"of it. Lines: 95% intervals of the gain, noise included.{missing * bool(beside)}",
            partial(charts.gains, rows),
        )


def _curves(found: Measurements, task: type[Task]) -> Iterator[Figure]:
    """The headline measure over all test units, by ε and by k, between the anchors."""
    results = found.headline(task.name)
    anchors = {
        name: results[setting.key]
        for name, setting in (("nothing released", NOTHING), ("the whole log", ORIGINAL))
        if setting.key in results
    }
    nothing = anchors["nothing released"].value if "nothing released" in anchors else math.nan
    for key, axis, privacy in (
        ("asked_epsilon", "ε", "Less privacy to the right (a larger ε)."),
        ("k", "k", "More people behind each query to the right; k-query anonymity guarantees no privacy."),
    ):
        drawn = [r for r in results.values() if found.settings[r.setting][key] is not None and r.units]
        if not drawn:
            continue
        series: dict[str, list[Measurement]] = {}
        for r in drawn:
            series.setdefault(found.settings[r.setting]["mechanism"], []).append(r)
        useless = [name for name, listed in series.items() if all(r.value == nothing for r in listed)]
        rows = [
            {"series": name, "x": found.settings[r.setting][key], "y": r.value, **_bounds(r.low, r.high)}
            for name in series
            if name not in useless
            for r in series[name]
        ]
        left_out = f" Not drawn: {', '.join(useless)}, of no use at any {axis} tried." * bool(useless)
        measure = task.headline.rpartition(": ")[2]
        yield Figure(
            f"{task.name}-by-{key.removeprefix('asked_')}",
            f"{measure} by {axis}, over all {drawn[0].units:,} units",
            COLUMNS,
            [table_row(found, r) for r in [*anchors.values(), *drawn]],
            task.name,
            f"{privacy} A unit is a {task.unit}. Nothing released: {task.nothing}. Lines through points are "
            f"95% intervals, noise included.{left_out}",
            partial(
                charts.curve,
                rows,
                axis,
                measure,
                levels={name: anchor.value for name, anchor in anchors.items()},
                logarithmic=True,
            )
            if rows
            else None,
        )


def _bounds(low: float, high: float) -> dict[str, float | None]:
    """An interval to draw; none where one unit says nothing of others."""
    there = math.isfinite(low) and math.isfinite(high)
    return {"low": low if there else None, "high": high if there else None}


def section_titles(found: Measurements) -> dict[str, str]:
    """Titles of the page's sections, by name."""
    tasks = found.tasks.items()
    return {name: f"{task.title[:1].upper()}{task.title[1:]}: {task.description}" for name, task in tasks}
