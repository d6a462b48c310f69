"""The figures of a report: curves, equal budgets, data kept against utility, impact of parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tacit.evaluate.report.charts import bars_by_mechanism, curve, scatter
from tacit.evaluate.report.figure import Figure
from tacit.evaluate.report.impacts import impact_figures
from tacit.evaluate.report.measurements import COLUMNS, headlines, share_of_original, table_row
from tacit.evaluate.sweep.table import Results

__all__ = ["all_figures", "kept_rows"]


def all_figures(results: Results) -> list[Figure]:
    """In the order of the page."""
    found = [
        figure for task, measure in headlines(results).items() for figure in _curves(results, task, measure)
    ]
    found += _equal_budget(results)
    found += _kept_against_utility(results)
    found += impact_figures(results)
    return found


def _curves(results: Results, task: str, measure: str) -> Iterator[Figure]:
    found = results.of(task, measure)
    original = next(
        (r for r in found.values() if results.settings[r.setting]["mechanism"] == "original"), None
    )
    for series, axis, field in (("budget", "ε", "asked_epsilon"), ("k", "k", "k")):
        chosen = {key: r for key, r in found.items() if results.settings[key]["series"] == series}
        drawn = {key: r for key, r in chosen.items() if results.settings[key][field] is not None}
        if not drawn:
            continue
        table = [table_row(results, r) for r in ([original] if original else []) + list(drawn.values())]
        for of_all in (False, True):
            rows = [
                {
                    "series": results.settings[key]["mechanism"],
                    "x": results.settings[key][field],
                    "y": r.mean_of_all if of_all else r.mean,
                    "low": None if of_all or math.isnan(r.low) else r.low,
                    "high": None if of_all or math.isnan(r.high) else r.high,
                }
                for key, r in drawn.items()
                if math.isfinite(r.mean_of_all if of_all else r.mean)
            ]
            baseline = None
            if original is not None:
                baseline = original.mean_of_all if of_all else original.mean
            where = "over all test units" if of_all else "where the release has an answer"
            if not rows or (of_all and all(r.answered == 1 for r in chosen.values())):
                continue
            yield Figure(
                f"{task}-by-{field.removeprefix('asked_')}{'-of-all' if of_all else ''}",
                task,
                f"{measure}, {where}",
                _caption(series, of_all),
                curve(rows, baseline, axis, measure.rpartition(": ")[2]),
                COLUMNS,
                table,
            )


def _caption(series: str, of_all: bool) -> str:
    privacy = (
        "Less privacy to the right (a larger ε)."
        if series == "budget"
        else "More anonymity to the right (k)."
    )
    what = (
        "Units that the release cannot serve count as 0: what a user of the release would meet."
        if of_all
        else "Mean over the test units that the release can serve, as the papers report it; bars are 95% "
        "intervals over folds and draws of noise."
    )
    return f"{privacy} {what} Dashed: the original log."


def _equal_budget(results: Results) -> Iterator[Figure]:
    rows = []
    for task, measure in headlines(results).items():
        for key, result in results.of(task, measure).items():
            about = results.settings[key]
            share = share_of_original(results, result, of_all=True)
            if about["series"] == "budget" and about["asked_epsilon"] is not None and math.isfinite(share):
                scale = share / result.mean_of_all if result.mean_of_all else math.nan
                spread = (result.high - result.mean) * result.answered * scale
                rows.append(
                    {
                        "task": task,
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
    table = [
        {
            "task": c.task,
            "epsilon": c.epsilon,
            "first": results.settings[c.first]["mechanism"],
            "second": results.settings[c.second]["mechanism"],
            "units": c.difference.units,
            "difference": c.difference.mean,
            "low": c.difference.low,
            "high": c.difference.high,
            "p": c.p_corrected,
        }
        for c in results.contrasts
        if c.difference.units
    ]
    yield Figure(
        "equal-budget",
        "side by side",
        "Mechanisms side by side at equal budget",
        "What each keeps of the original log's utility, over all test units. The table compares two "
        "mechanisms unit by unit where both have an answer (paired t-test, corrected by Holm's method).",
        bars_by_mechanism(rows, epsilons, epsilons[len(epsilons) // 2]),
        (
            ("task", "task"),
            ("epsilon", "ε"),
            ("first", "one"),
            ("second", "other"),
            ("units", "units both answer"),
            ("difference", "one minus other"),
            ("low", "from"),
            ("high", "to"),
            ("p", "p, corrected"),
        ),
        table,
    )


def kept_rows(results: Results) -> list[dict[str, Any]]:
    """For each setting and task: rows released, and the share of the original's utility where answered."""
    rows = []
    for task, measure in headlines(results).items():
        if task == "statistics":
            continue
        for key, result in results.of(task, measure).items():
            about = results.settings[key]
            share = share_of_original(results, result)
            kept = sum(results.rows[key].values())
            if about["series"] in ("budget", "k") and math.isfinite(share) and kept > 0:
                rows.append(
                    {
                        "task": task,
                        "series": about["mechanism"],
                        "label": about["label"],
                        "kept": round(kept),
                        "share": share,
                        "answered": result.answered,
                    }
                )
    return rows


def _kept_against_utility(results: Results) -> Iterator[Figure]:
    rows = kept_rows(results)
    if not rows:
        return
    yield Figure(
        "kept-against-utility",
        "data and utility",
        "Data kept against task utility",
        "If more data were more utility, the points of a task would rise to the right. What is left after a "
        "threshold is what many people did, which may serve better than all. The original log is at 100%.",
        scatter(rows, "rows in all tables of the release", "share of the original's utility, where answered"),
        (
            ("task", "task"),
            ("label", "release"),
            ("kept", "rows"),
            ("share", "share of the original's utility"),
            ("answered", "share answered"),
        ),
        rows,
    )
