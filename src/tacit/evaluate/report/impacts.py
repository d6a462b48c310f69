"""Charts of what a parameter does: K and b, q_f, m."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tacit.evaluate.report.charts import lines
from tacit.evaluate.report.figure import Figure
from tacit.evaluate.report.measurements import COLUMNS, MEANINGS, headlines, table_row
from tacit.evaluate.sweep.table import Results

__all__ = ["WEAK", "impact_figures"]

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
