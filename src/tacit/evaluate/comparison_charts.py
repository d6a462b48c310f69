"""The chart of all ways to personalise: a page that works offline, and SVG."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tacit.evaluate.personalised_comparison import Comparison
from tacit.files import atomic_directory, check_output_folder

__all__ = ["MARKS", "write_comparison"]

MARKS = ("results.json", "ways.svg")
"""By these files a folder of this comparison is told from any other."""

_COLOURS = {"nothing leaves it": "#00796b", "nothing": "#7c8692"}
_TOLD = "#ef6c00"


def write_comparison(found: Comparison, folder: str | Path, *, replace: bool = False) -> Path:
    """Write ``results.json``, ``charts.html`` and ``ways.svg``."""
    import altair  # heavy, and an extra: tacit[report]

    folder = Path(folder)
    check_output_folder(folder, force=replace, marks=MARKS)
    with atomic_directory(folder, replace=replace) as temporary:
        text = json.dumps(found.as_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        (temporary / "results.json").write_text(text + "\n", encoding="utf-8")
        chart = _chart(altair, found)
        chart.save(str(temporary / "ways.svg"))
        chart.save(str(temporary / "charts.html"), inline=True)
    return folder


def _chart(altair: Any, found: Comparison) -> Any:
    plain = found.ways[0].average_precision
    rows = [
        {
            "way": way.name,
            "told": way.told,
            "AP": way.average_precision,
            "low": plain + way.gain.low,
            "high": plain + way.gain.high,
        }
        for way in found.ways
    ]
    told = list(dict.fromkeys(way.told for way in found.ways))
    scale = altair.Scale(domain=told, range=[_COLOURS.get(name, _TOLD) for name in told])
    base = altair.Chart(altair.Data(values=rows)).encode(
        y=altair.Y("way:N", sort=None, title=None, axis=altair.Axis(labelLimit=260)),
        color=altair.Color("told:N", scale=scale, legend=None),
        tooltip=["way:N", "told:N", altair.Tooltip("AP:Q", format=".3f")],
    )
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=altair.X("AP:Q", title="average precision", scale=altair.Scale(zero=False))
    )
    bars = base.mark_rule().encode(x="low:Q", x2="high:Q")
    level = (
        altair.Chart(altair.Data(values=[{"AP": plain}]))
        .mark_rule(strokeDash=[4, 3], color="#7c8692")
        .encode(x="AP:Q")
    )
    title = altair.TitleParams(
        f"{found.queries:,} queries of {found.people:,} people, judged by {found.judged_by}",
        subtitle="bars: 95 % intervals of the gain over no profile (dashed); orange: something is told",
    )
    return (level + bars + points).properties(width=420, height=300, title=title)
