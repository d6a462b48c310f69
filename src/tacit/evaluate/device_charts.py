"""The charts of the device's experiments: a page that works offline, and SVG."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tacit.evaluate.ambient_experiments import AmbientExperiments
from tacit.evaluate.device_experiments import GROUPS, DeviceExperiments
from tacit.files import atomic_directory, check_output_folder

__all__ = ["AMBIENT_MARKS", "MARKS", "write_ambient_experiments", "write_device_experiments"]

MARKS = ("results.json", "by-delta.svg")
"""By these files a folder of these experiments is told from any other."""
AMBIENT_MARKS = ("results.json", "ambient.svg")
"""The same for those on ambiguous queries."""


def write_device_experiments(found: DeviceExperiments, folder: str | Path, *, replace: bool = False) -> Path:
    """Write ``results.json``, ``charts.html`` and a chart for each figure as SVG."""
    import altair  # heavy, and an extra: tacit[report]

    folder = Path(folder)
    check_output_folder(folder, force=replace, marks=MARKS)
    with atomic_directory(folder, replace=replace) as temporary:
        text = json.dumps(found.as_dict(), indent=2, allow_nan=False)
        (temporary / "results.json").write_text(text + "\n", encoding="utf-8")
        charts = {"by-query": _by_query(altair, found), "by-delta": _by_delta(altair, found)}
        for name, chart in charts.items():
            chart.save(str(temporary / f"{name}.svg"))
        altair.vconcat(*charts.values()).save(str(temporary / "charts.html"), inline=True)
    return folder


def write_ambient_experiments(
    found: AmbientExperiments, folder: str | Path, *, replace: bool = False
) -> Path:
    """Write ``results.json``, ``charts.html`` and ``ambient.svg``."""
    import altair

    folder = Path(folder)
    check_output_folder(folder, force=replace, marks=AMBIENT_MARKS)
    with atomic_directory(folder, replace=replace) as temporary:
        text = json.dumps(found.as_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        (temporary / "results.json").write_text(text + "\n", encoding="utf-8")
        chart = _ambient(altair, found)
        chart.save(str(temporary / "ambient.svg"))
        chart.save(str(temporary / "charts.html"), inline=True)
    return folder


def _ambient(altair: Any, found: AmbientExperiments) -> Any:
    rows = [
        {
            "history": row.history,
            "order": row.order,
            "AP": row.precision.mean,
            "low": row.precision.low,
            "high": row.precision.high,
        }
        for row in found.rows
    ]
    base = altair.Chart(altair.Data(values=rows)).encode(
        y=altair.Y("order:N", sort=None, title=None),
        color=altair.Color("order:N", legend=None),
        tooltip=["history:N", "order:N", altair.Tooltip("AP:Q", format=".3f")],
    )
    points = base.mark_point(filled=True, size=70).encode(x=altair.X("AP:Q", title="average precision"))
    return (
        (points + base.mark_rule().encode(x="low:Q", x2="high:Q"))
        .properties(width=420, height=80)
        .facet(
            row=altair.Row(
                "history:N",
                sort=list(dict.fromkeys(row.history for row in found.rows)),
                title=None,
                header=altair.Header(labelOrient="top", labelAnchor="start"),
            )
        )
        .properties(title="ambiguous queries by history (bars: 95 % intervals over queries)")
    )


def _by_query(altair: Any, found: DeviceExperiments) -> Any:
    rows = [{"queries": r.queries, "order": r.order, "AP": r.personalised} for r in found.by_query]
    originals = {r.queries: r.original for r in found.by_query}
    rows += [{"queries": name, "order": "no profile", "AP": value} for name, value in originals.items()]
    return (
        altair.Chart(altair.Data(values=rows))
        .mark_point(filled=True, size=70)
        .encode(
            x=altair.X("queries:N", sort=[*GROUPS, "all"], title=None, axis=altair.Axis(labelAngle=0)),
            y=altair.Y("AP:Q", title="average precision", scale=altair.Scale(zero=False)),
            color=altair.Color("order:N", title="reranked by"),
            tooltip=["queries:N", "order:N", altair.Tooltip("AP:Q", format=".3f")],
        )
        .properties(width=420, height=260, title="by kind of query, δ = 0.1")
    )


def _by_delta(altair: Any, found: DeviceExperiments) -> Any:
    rows = [{"delta": r.delta, "order": r.order, "AP": r.personalised} for r in found.by_delta]
    whole = next(r for r in found.by_query if r.queries == "all")
    device = next(r for r in found.by_query if (r.queries, r.order) == ("all", "on the device"))
    lines = (
        altair.Chart(altair.Data(values=rows))
        .mark_line(point=True)
        .encode(
            x=altair.X("delta:Q", title="risk bound δ"),
            y=altair.Y("AP:Q", title="average precision", scale=altair.Scale(zero=False)),
            color=altair.Color("order:N", title="reranked by"),
            tooltip=["delta:Q", "order:N", altair.Tooltip("AP:Q", format=".3f")],
        )
    )
    levels = [
        {"AP": whole.original, "level": "no profile"},
        {"AP": device.personalised, "level": "on the device, nothing sent"},
    ]
    rules = (
        altair.Chart(altair.Data(values=levels))
        .mark_rule(strokeDash=[4, 3])
        .encode(y="AP:Q", tooltip=["level:N", altair.Tooltip("AP:Q", format=".3f")])
    )
    title = "by risk bound, all queries (dashed: no profile, and the whole profile on the device)"
    return (lines + rules).properties(width=420, height=260, title=title)
