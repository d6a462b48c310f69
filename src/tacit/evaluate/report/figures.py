"""The figures of a report: curves, equal budgets, data kept against utility, impact of parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tacit.evaluate.charts import Figure, bars_by_mechanism, curve, lines, scatter
from tacit.evaluate.sweep.results import Measurement, Results
from tacit.evaluate.tasks import TASKS

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


WEAK = 1e-3
"""From this δ on a release protects nobody to speak of."""
_IMPACTS = (
    ("impact of K and b", "adhoc", ("random walk: nDCG@10",), "noise", "noise b", "threshold", "K"),
    (
        "impact of q_f",
        "adhoc",
        ("random walk: nDCG@10", "random walk with page impact: nDCG@10", "implicit feedback: nDCG@10"),
        "queries_per_user",
        "searches of a user that count, q_f",
        None,
        "way",
    ),
    (
        "impact of m",
        "substitution",
        ("top 2: coverage", "top 5: coverage"),
        "per_user",
        "items of a user that count, m",
        None,
        "substitutions",
    ),
    (
        "impact of m",
        "index-caching",
        ("greedy cache: hit probability",),
        "per_user",
        "items of a user that count, m",
        None,
        "cache",
    ),
)
"""Series, task, measures, the parameter on the x axis and its name, that of the lines and its name."""


def impact_figures(results: Results) -> Iterator[Figure]:
    """Of every series that was tried."""
    for impact in _IMPACTS:
        yield from _impact(results, *impact)


def _impact(
    results: Results,
    series: str,
    task: str,
    measures: Sequence[str],
    varied: str,
    axis: str,
    by: str | None,
    legend: str,
) -> Iterator[Figure]:
    """Where the release has an answer, and over all test units: what raises one may lower the other."""
    if task not in headlines(results):
        return
    found = [
        (measure, results.settings[key], result)
        for measure in measures
        for key, result in results.of(task, measure).items()
        if results.settings[key]["series"] == series
    ]
    table = [
        {"measure": measure, varied: about["options"][varied]}
        | ({by: about["options"][by]} if by else {})
        | table_row(results, result)
        for measure, about, result in found
    ]
    shown = [("measure", "measure"), (varied, axis)] + ([(by, legend)] if by else [])
    for of_all in (False, True):
        rows = [
            {
                "series": f"{about['options'][by]:g}" if by else measure.rpartition(": ")[0],
                "x": about["options"][varied],
                "y": result.mean_of_all if of_all else result.mean,
                "weak": (about["delta"] or 0.0) > WEAK,
            }
            for measure, about, result in found
            if math.isfinite(result.mean_of_all if of_all else result.mean)
        ]
        if not rows or (of_all and all(result.answered == 1 for *_, result in found)):
            continue
        about = found[0][1]
        where = "over all test units" if of_all else "where the release has an answer"
        yield Figure(
            f"{series.replace(' ', '-').replace('_', '')}-{task}{'-of-all' if of_all else ''}",
            "parameters",
            f"The {series} on {task}, {where}: {about['mechanism']}",
            _impact_caption(task, about["asked_epsilon"], any(row["weak"] for row in rows)),
            lines(rows, axis, measures[0].rpartition(": ")[2], legend),
            (*shown, *COLUMNS[1:]),
            table,
        )


def _impact_caption(task: str, epsilon: float | None, weak: bool) -> str:
    fixed = f"ε = {epsilon:g} for all." if epsilon else "ε and δ follow from b and K, and are in the table."
    hollow = f" Hollow: δ above {WEAK:g}, where noise alone lets rows through and nothing is protected."
    return f"{MEANINGS[task].capitalize()}. {fixed}{hollow if weak else ''}"


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
