"""Charts in Altair, drawn by vl-convert: they follow the page's colours, light, dark or on paper.

Altair loads when a chart is drawn: it is heavy, and part of the extra ``tacit[report]``.
"""

import hashlib
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from tacit.files import atomic_file, cache_directory

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#7F7F7F")
"""Distinguishable with any colour vision (Okabe and Ito)."""
_SHADES = ("#b3cde3", "#8cb6d9", "#6baed6", "#4292c6", "#2b7bba", "#1f68a5")
"""From the smallest ε to the largest, to be told from white and from black."""
_WIDTH, _PANEL = 560, 270

Rows = Sequence[Mapping[str, Any]]
Chart = dict[str, Any]
"""A Vega-Lite document."""


def curve(
    rows: Rows,
    x: str,
    y: str,
    *,
    series: str = "mechanism",
    levels: Mapping[str, float] | None = None,
    logarithmic: bool = False,
    panel: str | None = None,
    own_y: bool = False,
) -> Chart:
    """Draw lines with points above a y axis from 0, and intervals where rows have them.

    Args:
        rows: ``series``, ``x`` and ``y``; ``low`` and ``high`` of an interval.
        x: title of the axis.
        y: title of the axis.
        series: title of the legend.
        levels: dashed horizontal lines, by name.
        logarithmic: whether the x axis is.
        panel: the key by which rows are split into panels beside each other.
        own_y: whether each panel has a y axis of its own.
    """
    import altair

    steps = sorted({row["x"] for row in rows})
    scale = altair.Scale(nice=False, padding=12, **({"type": "log"} if logarithmic else {"zero": False}))
    base = altair.Chart().encode(
        x=altair.X("x:Q", title=x, scale=scale, axis=altair.Axis(values=steps, format=".6~r")),
        y=altair.Y("y:Q", title=y, scale=altair.Scale(zero=True)),
        color=_colour(altair, rows, series),
    )
    points = base.encode(
        shape=altair.Shape("series:N", title=series, scale=_in_order(altair, rows, "series")),
        tooltip=[
            altair.Tooltip("series:N", title=series),
            altair.Tooltip("x:Q", title=x),
            altair.Tooltip("y:Q", title=y, format=".4f"),
        ],
    )
    line = base.mark_line()
    if panel:  # where lines coincide, both show
        line = line.encode(strokeDash=altair.StrokeDash("series:N", legend=None))
    layers = [line, points.mark_point(filled=True, size=60)]
    if any(row.get("low") is not None for row in rows):
        bounded = base.transform_filter("isValid(datum.low)")
        layers.append(bounded.mark_rule(opacity=0.6).encode(y="low:Q", y2="high:Q"))
    drawn = altair.layer(*layers, data=altair.Data(values=list(rows)))
    if levels:
        drawn += _levels(altair, levels, "y")
    return _finish(altair, drawn, columns=_values(rows, panel) if panel else (), panel=panel, own_y=own_y)


def intervals(rows: Rows, value: str, level: float) -> Chart:
    """Draw a point with its interval for each row, the series of a name under each other.

    Args:
        rows: ``name``, ``series``, ``value``, ``low`` and ``high``.
        value: title of the axis.
        level: of a dashed vertical line.
    """
    import altair

    base = altair.Chart().encode(
        y=altair.Y("name:N", title=None, sort=None, axis=altair.Axis(labelLimit=260)),
        yOffset=altair.YOffset("series:N", scale=_in_order(altair, rows, "series")),
        color=_colour(altair, rows, ""),
        tooltip=["name:N", "series:N", altair.Tooltip("value:Q", format=".3f", title=value)],
    )
    axis = altair.X("value:Q", title=value, scale=altair.Scale(zero=False))
    layers = [
        base.mark_point(filled=True, size=70, opacity=1).encode(x=axis),
        base.mark_rule().encode(x="low:Q", x2="high:Q"),
    ]
    drawn = altair.layer(*layers, data=altair.Data(values=list(rows)))
    drawn += _levels(altair, {"": level}, "x")
    return _finish(altair, drawn, height=24 * len(rows) + 20)


def gains(rows: Rows) -> Chart:
    """Draw what is gained at each ε, task by task, on the scale from nothing released to the whole log.

    Args:
        rows: ``task``, ``epsilon``, ``mechanism``, ``share``, and ``low`` and ``high`` of its interval.
    """
    import altair

    drawn = [row | {"budget": f"ε = {row['epsilon']:g}"} for row in map(dict, rows)]
    budgets = _values(drawn, "budget")
    ends = [end for row in drawn for end in (row["share"], row["low"], row["high"]) if end is not None]
    scale = altair.Scale(domain=[min(-0.02, *ends), max(1.02, *ends)], nice=False)
    named = "datum.value == 0 ? ['0%', 'nothing'] : datum.value == 1 ? ['100%', 'whole log'] : "
    axis = altair.Axis(values=[0, 0.25, 0.5, 0.75, 1], labelExpr=f"{named}format(datum.value, '.0%')")
    base = altair.Chart(altair.Data(values=drawn)).encode(
        y=altair.Y(
            "task:N", title=None, axis=altair.Axis(labelLimit=110), scale=_in_order(altair, drawn, "task")
        ),
        yOffset=altair.YOffset("budget:N", scale=_in_order(altair, drawn, "budget")),
    )
    shades = [_SHADES[round(n * (len(_SHADES) - 1) / max(1, len(budgets) - 1))] for n in range(len(budgets))]
    bars = base.mark_bar().encode(
        x=altair.X("share:Q", title="gained over nothing released", scale=scale, axis=axis),
        color=altair.Color("budget:N", title=None, scale=altair.Scale(domain=budgets, range=shades)),
        tooltip=[
            "task:N",
            altair.Tooltip("budget:N", title="release"),
            "mechanism:N",
            altair.Tooltip("share:Q", format=".1%", title="gained"),
            altair.Tooltip("low:Q", format=".1%", title="from"),
            altair.Tooltip("high:Q", format=".1%", title="to"),
        ],
    )
    ends_at = bars.mark_tick(thickness=2)  # nothing gained is seen too
    bounded = base.transform_filter("isValid(datum.low)").mark_rule(opacity=0.8, color="currentColor")
    layers = [bars, ends_at, bounded.encode(x="low:Q", x2="high:Q"), _levels(altair, {"": 0.0}, "x")]
    layers.append(_levels(altair, {" ": 1.0}, "x"))
    height = 13 * len(drawn) + 14 * len(_values(drawn, "task"))
    return _finish(altair, altair.layer(*layers), height=height)


def svg(chart: Chart) -> str:
    """The chart as SVG, at a fixed width where the page would choose it."""
    import vl_convert

    # Names may be wider in the reader's font than in the one that they are measured in here.
    sized = {"padding": {"left": 24, "top": 5, "right": 5, "bottom": 5}, **chart}
    if chart.get("width") == "container":
        sized["width"] = _WIDTH
    return str(vl_convert.vegalite_to_svg(sized))


def vega_script() -> str:
    """The JavaScript that draws charts in a page (Vega, Vega-Lite and Vega-Embed), cached by version."""
    import vl_convert

    version = metadata.version("vl-convert-python")
    path = cache_directory() / f"vega-{hashlib.sha256(version.encode()).hexdigest()[:12]}.js"
    if path.exists():
        return path.read_text(encoding="utf-8")
    bundle = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    script = bundle.replace("</script", "<\\/script")
    with atomic_file(path) as temporary:
        temporary.write_text(script, encoding="utf-8")
    return script


def _finish(
    altair: Any,
    drawn: Any,
    *,
    height: int = 260,
    panel: str | None = None,
    columns: Sequence[str] = (),
    own_y: bool = False,
) -> Chart:
    """Set size, panels and colours: what is not data takes the colour of the text around it."""
    text = {"labelColor": "currentColor", "titleColor": "currentColor"}
    header = altair.Header(labelColor="currentColor", labelOrient="top", labelAnchor="start")
    shown = {"title": None, "header": header}
    if columns:
        facet = altair.Column(f"{panel}:N", sort=list(columns), **shown)
        drawn = drawn.properties(width=_PANEL, height=height).facet(column=facet)
        drawn = drawn.resolve_scale(y="independent") if own_y else drawn
    else:
        drawn = drawn.properties(width="container", height=height)
    made: Chart = (
        drawn.properties(background="transparent")
        .configure_axis(
            **text,
            gridColor="currentColor",
            gridOpacity=0.15,
            domainColor="currentColor",
            tickColor="currentColor",
        )
        .configure_legend(**text, orient="bottom", columns=2, labelLimit=260)
        .configure_view(strokeOpacity=0)
        .configure_title(color="currentColor")
        .to_dict()
    )
    return made


def _levels(altair: Any, levels: Mapping[str, float], axis: str) -> Any:
    """Dashed lines across the chart."""
    values = [{axis: value, "name": name} for name, value in levels.items()]
    rule = altair.Chart(altair.Data(values=values)).mark_rule(
        strokeDash=[6, 4], color="currentColor", opacity=0.7
    )
    drawn = rule.encode(**{axis: f"{axis}:Q"}, tooltip=["name:N", altair.Tooltip(f"{axis}:Q", format=".4f")])
    if axis == "x" or not all(levels):
        return drawn
    for level in values:  # the lowest is named below its line, so that names of near ones do not meet
        below = len(values) > 1 and level["y"] == min(levels.values())
        named = altair.Chart(altair.Data(values=[level])).mark_text(
            align="left",
            baseline="top" if below else "bottom",
            dx=4,
            dy=3 if below else -2,
            color="currentColor",
            fontSize=10,
        )
        drawn += named.encode(y="y:Q", x=altair.value(0), text="name:N")
    return drawn


def _values(rows: Rows, field: str) -> list[str]:
    """The values of a field, in the order in which they come."""
    return list(dict.fromkeys(str(row[field]) for row in rows))


def _colour(altair: Any, rows: Rows, title: str) -> Any:
    domain = _values(rows, "series")
    scale = altair.Scale(domain=domain, range=[PALETTE[n % len(PALETTE)] for n in range(len(domain))])
    return altair.Color("series:N", title=title or None, scale=scale)


def _in_order(altair: Any, rows: Rows, field: str) -> Any:
    """A scale with the values in the order in which they come: one legend shows shapes and colours."""
    return altair.Scale(domain=_values(rows, field))
