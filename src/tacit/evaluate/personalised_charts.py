"""The charts of the group experiments: pages that work offline, and SVG."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tacit.evaluate.personalised_experiments import AUGMENTS, BENEFIT, BOUNDS, BundlingRun, Experiments
from tacit.files import atomic_directory, check_output_folder
from tacit.groups.criterion import CRITERIA

__all__ = ["MARKS", "write_experiments"]

MARKS = ("results.json", "linkability.svg")
"""By these files a folder of these experiments is told from any other."""

_COLOURS = {"strict": "#00796b", "paper": "#ef6c00", "no personalisation": "#9e9e9e"}


def write_experiments(experiments: Experiments, folder: str | Path, *, replace: bool = False) -> Path:
    """Write ``results.json`` and, as HTML and SVG, a chart for each of the paper's figures 2 to 6."""
    import altair  # heavy, and an extra: tacit[report]

    folder = Path(folder)
    check_output_folder(folder, force=replace, marks=MARKS)
    with atomic_directory(folder, replace=replace) as temporary:
        text = json.dumps(experiments.as_dict(), indent=2, allow_nan=False)
        (temporary / "results.json").write_text(text + "\n", encoding="utf-8")
        charts = _charts(altair, experiments)
        for name, chart in charts.items():
            chart.save(str(temporary / f"{name}.svg"))
        page = altair.vconcat(*charts.values()).resolve_scale(color="independent")
        page.save(str(temporary / "charts.html"), inline=True)
    return folder


def _charts(altair: Any, experiments: Experiments) -> dict[str, Any]:
    at = experiments.at
    by_augment = [at(c, BENEFIT[0], a) for c in CRITERIA for a in AUGMENTS]
    by_bound = [at(c, p, BENEFIT[1]) for c in CRITERIA for p in BOUNDS]
    return {
        "benefit": _benefit(altair, experiments),
        "augmentation": _precision(
            altair, by_augment, "augment", "steps of hypernyms (a)", "Effect of semantics (p = 0.4)"
        ),
        "privacy": _precision(altair, by_bound, "p", "bound p", "Privacy against precision (a = 1)"),
        "group-size": _lines(
            altair,
            [{"criterion": run.criterion, "x": run.p, "y": run.report.mean_size} for run in by_bound],
            "bound p",
            "members of a group, mean",
            "Size of groups (a = 1)",
        ),
        "linkability": _linkability(altair, by_bound),
    }


def _colour(altair: Any) -> Any:
    scale = altair.Scale(domain=list(CRITERIA), range=[_COLOURS[name] for name in CRITERIA])
    return altair.Color("criterion:N", scale=scale, title="criterion")


def _benefit(altair: Any, experiments: Experiments) -> Any:
    bars = [("no personalisation", experiments.engine)] + [
        (criterion, experiments.at(criterion, *BENEFIT).precision) for criterion in CRITERIA
    ]
    rows = [
        {
            "criterion": name,
            "AP": found.average_precision,
            "low": found.average_precision - 2 * found.standard_error,
            "high": found.average_precision + 2 * found.standard_error,
        }
        for name, found in bars
    ]
    base = altair.Chart(altair.Data(values=rows)).encode(
        x=altair.X(
            "criterion:N",
            sort=[name for name, _ in bars],
            title=None,
            axis=altair.Axis(labelAngle=0),
        )
    )
    drawn = base.mark_bar().encode(
        y=altair.Y("AP:Q", scale=altair.Scale(domain=[0, 1]), title="average precision"),
        color=altair.Color(
            "criterion:N",
            scale=altair.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())),
            legend=None,
        ),
    )
    title = "Benefit of group profiles (p = 0.4, a = 1; bars: ± 2 standard errors)"
    return (drawn + base.mark_rule().encode(y="low:Q", y2="high:Q")).properties(title=title, width=320)


def _precision(altair: Any, runs: list[BundlingRun], field: str, axis: str, title: str) -> Any:
    rows = [
        {
            "criterion": run.criterion,
            "x": getattr(run, field),
            "y": run.precision.average_precision,
            "low": run.precision.average_precision - 2 * run.precision.standard_error,
            "high": run.precision.average_precision + 2 * run.precision.standard_error,
        }
        for run in runs
    ]
    drawn = _lines(altair, rows, axis, "average precision", title)
    errors = (
        altair.Chart(altair.Data(values=rows))
        .mark_rule()
        .encode(x="x:Q", y="low:Q", y2="high:Q", color=_colour(altair))
    )
    return drawn + errors


def _linkability(altair: Any, runs: list[BundlingRun]) -> Any:
    """One panel a criterion, with the bound dashed."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        link = run.report.linkability
        five = next(line for line in run.report.attackers if line.known_terms == 5)
        for measure, value in [
            ("n_t/n, largest", link.max),
            ("n_t/n, mean", link.mean),
            ("eq. 3 with 5 known terms, largest", five.belief_max),
            ("eq. 3 with 5 known terms, mean", five.belief_mean),
        ]:
            rows.append({"criterion": run.criterion, "x": run.p, "p": run.p, "y": value, "measure": measure})
    base = altair.Chart().encode(x=altair.X("x:Q", title="bound p", axis=altair.Axis(values=list(BOUNDS))))
    lines = base.mark_line(point=True).encode(
        y=altair.Y("y:Q", title="linkability", scale=altair.Scale(domain=[0, 1])),
        color=altair.Color("measure:N", title=None, legend=altair.Legend(labelLimit=300)),
        strokeDash=altair.StrokeDash("measure:N", title=None),  # where lines coincide, both show
        tooltip=["criterion:N", "measure:N", "x:Q", altair.Tooltip("y:Q", format=".3f")],
    )
    bound = base.mark_line(strokeDash=[6, 4], color="#424242").encode(y="p:Q")
    return (
        altair.layer(bound, lines, data=altair.Data(values=rows))
        .properties(width=300, height=260)
        .facet(column=altair.Column("criterion:N", title=None, sort=list(CRITERIA)))
        .properties(title="Actual linkability against the bound (dashed), a = 1")
    )


def _lines(altair: Any, rows: list[dict[str, Any]], x: str, y: str, title: str) -> Any:
    steps = sorted({row["x"] for row in rows})
    return (
        altair.Chart(altair.Data(values=rows))
        .mark_line(point=True)
        .encode(
            x=altair.X("x:Q", title=x, axis=altair.Axis(values=steps, format="~g")),
            y=altair.Y("y:Q", title=y, scale=altair.Scale(zero=True)),
            color=_colour(altair),
            tooltip=["criterion:N", "x:Q", altair.Tooltip("y:Q", format=".3f")],
        )
        .properties(width=480, height=260, title=title)
    )
