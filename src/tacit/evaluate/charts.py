"""Charts in Altair, drawn by vl-convert: they follow the page's colours, light, dark or on paper.

A figure is a chart with the very numbers under it. Altair loads when a chart is drawn: it is heavy, and
part of the extra ``tacit[report]``.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from tacit.files import atomic_file, cache_directory


@dataclass(frozen=True)
class Figure:
    """A chart with its table.

    Args:
        name: of its files.
        section: under which heading it stands.
        title: what it shows.
        caption: how to read it.
        chart: an Altair chart, as a Vega-Lite document.
        columns: of the table: key and heading.
        rows: of the table; numbers as numbers.
    """

    name: str
    section: str
    title: str
    caption: str
    chart: Mapping[str, Any]
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Mapping[str, Any]]


def cell(value: Any) -> str:
    """A value as a table shows it."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and value == int(value) and abs(value) >= 10):
        return f"{int(value):,}"
    if isinstance(value, float):
        return f"{value:.2e}" if 0 < abs(value) < 0.0005 else f"{value:.4g}"
    return str(value)


def vega_script() -> str:
    """The bundle; made once a version of vl-convert, and kept in the cache."""
    import vl_convert

    version = metadata.version("vl-convert-python")
    path = cache_directory() / f"vega-{hashlib.sha256(version.encode()).hexdigest()[:12]}.js"
    if path.exists():
        return path.read_text(encoding="utf-8")
    script = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")).replace(
        "</script", "<\\/script"
    )
    with atomic_file(path) as temporary:
        temporary.write_text(script, encoding="utf-8")
    return script


PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#7F7F7F")
"""Told apart by people with any colour vision (Okabe and Ito)."""

Rows = Sequence[dict[str, Any]]


def _finish(chart: Any, height: int = 260, legend_columns: int = 2) -> dict[str, Any]:
    """Size and colours: what is not data takes the colour of the text around it."""
    text = {"labelColor": "currentColor", "titleColor": "currentColor"}
    made: dict[str, Any] = (
        chart.properties(width="container", height=height, background="transparent")
        .configure_axis(
            **text,
            gridColor="currentColor",
            gridOpacity=0.15,
            domainColor="currentColor",
            tickColor="currentColor",
        )
        .configure_legend(**text, orient="bottom", columns=legend_columns, labelLimit=260)
        .configure_view(strokeOpacity=0)
        .configure_title(color="currentColor")
        .to_dict()
    )
    return made


def _colour(altair: Any, rows: Rows, field: str, title: str | None) -> Any:
    domain = list(dict.fromkeys(str(row[field]) for row in rows))
    palette = [PALETTE[place % len(PALETTE)] for place in range(len(domain))]
    scale = altair.Scale(domain=domain, range=palette)
    return altair.Color(f"{field}:N", title=title, scale=scale)


def curve(rows: Rows, baseline: float | None, x: str, y: str) -> dict[str, Any]:
    """Lines with intervals over a logarithmic x; the original as a dashed line."""
    import altair

    steps = sorted({row["x"] for row in rows})
    base = altair.Chart(altair.Data(values=list(rows))).encode(
        x=altair.X(
            "x:Q",
            title=x,
            scale=altair.Scale(type="log", nice=False, padding=12),
            axis=altair.Axis(values=steps, format="~g"),
        ),
        color=_colour(altair, rows, "series", "mechanism"),
    )
    value = altair.Y("y:Q", title=y, scale=altair.Scale(zero=False))
    tips = [
        altair.Tooltip("series:N", title="mechanism"),
        altair.Tooltip("x:Q", title=x),
        altair.Tooltip("y:Q", title=y, format=".4f"),
        altair.Tooltip("low:Q", format=".4f"),
        altair.Tooltip("high:Q", format=".4f"),
    ]
    lines = base.mark_line().encode(y=value)
    points = base.mark_point(filled=True, size=60).encode(
        y=value, shape=_shape(altair, rows, "mechanism"), tooltip=tips
    )
    layers = [lines, points]
    bounded = [row for row in rows if row["low"] is not None]
    if bounded:
        errors = base.mark_rule(opacity=0.6).encode(y="low:Q", y2="high:Q")
        errors.data = altair.Data(values=bounded)
        layers.append(errors)
    if baseline is not None:
        rule = altair.Chart(altair.Data(values=[{"y": baseline, "name": "original log"}]))
        layers.append(
            rule.mark_rule(strokeDash=[6, 4], color="currentColor", opacity=0.7).encode(
                y="y:Q", tooltip=["name:N", altair.Tooltip("y:Q", format=".4f")]
            )
        )
    return _finish(altair.layer(*layers))


def _in_order(altair: Any, rows: Rows, field: str) -> Any:
    """A scale with the values in the order in which they come."""
    return altair.Scale(domain=list(dict.fromkeys(str(row[field]) for row in rows)))


def _shape(altair: Any, rows: Rows, title: str) -> Any:
    """The same order as the colours, so that one legend shows both."""
    return altair.Shape("series:N", title=title, scale=_in_order(altair, rows, "series"))


def lines(rows: Rows, x: str, y: str, colour: str, *, logarithmic: bool = True) -> dict[str, Any]:
    """Lines of a few series, with points; those of rows that are ``weak`` are hollow."""
    import altair

    steps = sorted({row["x"] for row in rows})
    scale = altair.Scale(type="log", nice=False, padding=12) if logarithmic else altair.Scale()
    base = altair.Chart(altair.Data(values=list(rows))).encode(
        x=altair.X("x:Q", title=x, scale=scale, axis=altair.Axis(values=steps, format="~g")),
        y=altair.Y("y:Q", title=y, scale=altair.Scale(zero=False)),
        color=_colour(altair, rows, "series", colour),
    )
    told = base.encode(
        shape=_shape(altair, rows, colour),
        tooltip=[altair.Tooltip("series:N", title=colour), "x:Q", altair.Tooltip("y:Q", format=".4f")],
    )
    layers = [base.mark_line(), told.transform_filter("!datum.weak").mark_point(filled=True, size=60)]
    if any(row["weak"] for row in rows):
        layers.append(told.transform_filter("datum.weak").mark_point(filled=False, size=60))
    return _finish(altair.layer(*layers), legend_columns=1)


def bars_by_mechanism(rows: Rows, epsilons: Sequence[float], chosen: float) -> dict[str, Any]:
    """What each mechanism keeps of the original's utility, task by task, at one ε chosen in the page."""
    import altair

    budget = altair.param(
        name="budget",
        value=chosen,
        bind=altair.binding_select(
            options=list(epsilons), labels=[f"{e:g}" for e in epsilons], name="ε of each release: "
        ),
    )
    base = (
        altair.Chart(altair.Data(values=list(rows)))
        .transform_filter("datum.epsilon == budget")
        .encode(
            y=altair.Y(
                "task:N", title=None, axis=altair.Axis(labelLimit=160), scale=_in_order(altair, rows, "task")
            ),
            yOffset=altair.YOffset("series:N", scale=_in_order(altair, rows, "series")),
        )
    )
    bars = base.mark_bar().encode(
        x=altair.X("share:Q", title="share of the original's utility", axis=altair.Axis(format="%")),
        color=_colour(altair, rows, "series", "mechanism"),
        tooltip=[
            "task:N",
            altair.Tooltip("series:N", title="mechanism"),
            altair.Tooltip("share:Q", format=".1%"),
            altair.Tooltip("answered:Q", format=".1%", title="of units answered"),
        ],
    )
    layers = [bars]
    if any(row["low"] is not None for row in rows):
        bounded = base.transform_filter("isValid(datum.low)")
        layers.append(bounded.mark_rule(opacity=0.7, color="currentColor").encode(x="low:Q", x2="high:Q"))
    height = 34 * len({(row["task"], row["series"]) for row in rows}) // 2 + 40
    return _finish(altair.layer(*layers).add_params(budget), height=height)


def scatter(rows: Rows, x: str, y: str) -> dict[str, Any]:
    """How much was kept against how useful it is, one point per setting and task."""
    import altair

    chosen = altair.selection_point(fields=["task"], bind="legend")
    chart = (
        altair.Chart(altair.Data(values=list(rows)))
        .mark_point(filled=True, size=70)
        .encode(
            x=altair.X("kept:Q", title=x, scale=altair.Scale(type="log"), axis=altair.Axis(format="~s")),
            y=altair.Y("share:Q", title=y, axis=altair.Axis(format="%")),
            color=_colour(altair, rows, "task", "task (choose one)"),
            shape=altair.Shape(
                "series:N",
                title="mechanism",
                legend=altair.Legend(symbolFillColor="currentColor", symbolStrokeColor="currentColor"),
            ),
            opacity=altair.condition(chosen, altair.value(0.9), altair.value(0.1)),
            tooltip=["task:N", "label:N", "kept:Q", altair.Tooltip("share:Q", format=".1%")],
        )
        .add_params(chosen)
    )
    return _finish(chart, height=320)
