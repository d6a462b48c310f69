"""Charts as Vega-Lite, drawn by vl-convert: they follow the page's colours, light, dark or on paper."""

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
_INK = "currentColor"

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
) -> Chart:
    """Draw lines with points above a y axis from 0, and intervals where rows have them.

    Args:
        rows: ``series``, ``x`` and ``y``; ``low`` and ``high`` of an interval.
        x: title of the axis.
        y: title of the axis.
        series: title of the legend.
        levels: dashed horizontal lines, by name.
        logarithmic: whether the x axis is.
        panel: the key by which rows are split into panels beside each other, each with a y axis of its own.
    """
    steps = sorted({row["x"] for row in rows})
    scale = {"nice": False, "padding": 12, **({"type": "log"} if logarithmic else {"zero": False})}
    across = _axis("x", x, scale=scale, axis={"values": steps, "format": ".6~r"})
    colour, up = _colour(rows, series), _axis("y", y, scale={"zero": True})
    shape: Chart = {"field": "series", "title": series, "scale": {"domain": _values(rows, "series")}}
    told = _told(("series", series), ("x", x), ("y", y, ".4f"))
    line: Chart = {"x": across, "y": up, "color": colour}
    if panel:  # where lines coincide, both show
        line["strokeDash"] = {"field": "series", "legend": None}
    points = {"x": across, "y": up, "color": colour, "shape": shape, "tooltip": told}
    dots = {"type": "point", "filled": True, "size": 60, "opacity": 1}
    layers = [_layer("line", line), _layer(dots, points)]
    if any(row.get("low") is not None for row in rows):
        bounds = {"x": across, "y": _axis("low"), "y2": {"field": "high"}, "color": colour}
        layers.append(_layer({"type": "rule", "opacity": 0.6}, bounds) | _BOUNDED)
    layers += _levels("y", levels or {})
    return _finished(layers, rows, panel=panel)


def intervals(rows: Rows, value: str, level: float) -> Chart:
    """Draw a point with its interval for each row, the series of a name under each other.

    Args:
        rows: ``name``, ``series``, ``value``, ``low`` and ``high``.
        value: title of the axis.
        level: of a dashed vertical line.
    """
    common = {
        "y": {"field": "name", "title": None, "sort": None, "axis": {"labelLimit": 260}},
        "yOffset": {"field": "series", "scale": {"domain": _values(rows, "series")}},
        "color": _colour(rows, None),
    }
    told = _told(("name", "name"), ("series", "series"), ("value", value, ".3f"))
    point = common | {"x": _axis("value", value, scale={"zero": False}), "tooltip": told}
    layers = [
        _layer({"type": "point", "filled": True, "size": 70, "opacity": 1}, point),
        _layer("rule", common | {"x": _axis("low"), "x2": {"field": "high"}}),
        *_levels("x", {"": level}),
    ]
    return _finished(layers, rows, height=24 * len(rows) + 20)


def gains(rows: Rows) -> Chart:
    """Draw what is gained at each ε, task by task, on the scale from nothing released to the whole log.

    Args:
        rows: ``task``, ``epsilon``, ``mechanism``, ``share``, and ``low`` and ``high`` of its interval.
    """
    drawn = [row | {"budget": f"ε = {row['epsilon']:g}"} for row in map(dict, rows)]
    budgets, tasks = _values(drawn, "budget"), _values(drawn, "task")
    ends = [end for row in drawn for end in (row["share"], row["low"], row["high"]) if end is not None]
    scale = {"domain": [min(-0.02, *ends), max(1.02, *ends)], "nice": False}
    named = "datum.value == 0 ? ['0%', 'nothing'] : datum.value == 1 ? ['100%', 'whole log'] : "
    axis = {"values": [0, 0.25, 0.5, 0.75, 1], "labelExpr": f"{named}format(datum.value, '.0%')"}
    shades = [_SHADES[round(n * (len(_SHADES) - 1) / max(1, len(budgets) - 1))] for n in range(len(budgets))]
    common = {
        "y": {"field": "task", "title": None, "axis": {"labelLimit": 110}, "scale": {"domain": tasks}},
        "yOffset": {"field": "budget", "scale": {"domain": budgets}},
    }
    shares = (("share", "gained", ".1%"), ("low", "from", ".1%"), ("high", "to", ".1%"))
    told = _told(("task", "task"), ("budget", "release"), ("mechanism", "mechanism"), *shares)
    bar = common | {
        "x": _axis("share", "gained over nothing released", scale=scale, axis=axis),
        "color": {"field": "budget", "title": None, "scale": {"domain": budgets, "range": shades}}
        | {"legend": {"columns": 3, "symbolType": "square", "symbolOpacity": 1}},
        "tooltip": told,
    }
    bounds = common | {"x": _axis("low"), "x2": {"field": "high"}}
    layers = [
        _layer("bar", bar),
        _layer({"type": "tick", "thickness": 2}, bar),  # nothing gained is seen too
        _layer({"type": "rule", "opacity": 0.8, "color": _INK}, bounds) | _BOUNDED,
        *_levels("x", {"": 0.0, " ": 1.0}),
    ]
    return _finished(layers, drawn, height=13 * len(drawn) + 14 * len(tasks))


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


_BOUNDED = {"transform": [{"filter": "isValid(datum.low)"}]}


def _layer(mark: str | Mapping[str, Any], encoding: Mapping[str, Any]) -> Chart:
    typed = {
        channel: each
        if isinstance(each, list) or "type" in each or channel in ("x2", "y2", "value")
        else {"type": "nominal", **each}
        for channel, each in encoding.items()
    }
    return {"mark": mark, "encoding": typed}


def _axis(field: str, title: str | None = None, **options: Any) -> Chart:
    return {"field": field, "type": "quantitative", **({"title": title} if title else {}), **options}


def _told(*fields: tuple[str, ...]) -> list[Chart]:
    """List what a pointer on a mark shows: fields with their titles, numbers with their format."""
    return [
        {"field": field, "title": title, "type": "quantitative", "format": form[0]}
        if form
        else {"field": field, "title": title, "type": "nominal"}
        for field, title, *form in fields
    ]


def _finished(layers: Sequence[Chart], rows: Rows, *, height: int = 260, panel: str | None = None) -> Chart:
    """Set size, panels and colours: what is not data takes the colour of the text around it."""
    text = {"labelColor": _INK, "titleColor": _INK}
    lines = {"gridColor": _INK, "gridOpacity": 0.15, "domainColor": _INK, "tickColor": _INK}
    made: Chart = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "data": {"values": list(rows)},
        "background": "transparent",
        "config": {
            "axis": text | lines,
            "legend": text | {"orient": "bottom", "columns": 2, "labelLimit": 260},
            "view": {"strokeOpacity": 0},
        },
    }
    if panel is None:
        return made | {"layer": list(layers), "width": "container", "height": height}
    head = {"labelColor": _INK, "labelOrient": "top", "labelAnchor": "start"}
    column = {"field": panel, "type": "nominal", "sort": _values(rows, panel), "title": None, "header": head}
    drawn = {"layer": list(layers), "width": _PANEL, "height": height}
    return made | {"facet": {"column": column}, "spec": drawn, "resolve": {"scale": {"y": "independent"}}}


def _levels(axis: str, levels: Mapping[str, float]) -> list[Chart]:
    """Dashed lines across the chart; on a y axis they are named."""
    mark = {"type": "rule", "strokeDash": [6, 4], "color": _INK, "opacity": 0.7}
    values = [{axis: value, "name": name} for name, value in levels.items()]
    told = _told(("name", "name"), (axis, axis, ".4f"))
    rules: Chart = {"data": {"values": values}, **_layer(mark, {axis: _axis(axis), "tooltip": told})}
    layers = [rules] if values else []
    for level in values if axis == "y" else ():
        # the lowest is named below its line, so that names of near ones do not meet, but not on the axis
        lowest = level["name"] == min(levels, key=levels.__getitem__)
        below = len(values) > 1 and lowest and min(levels.values()) > max(levels.values()) / 10
        text = {"type": "text", "align": "left", "dx": 4, "color": _INK, "fontSize": 10}
        text |= {"baseline": "top", "dy": 3} if below else {"baseline": "bottom", "dy": -2}
        encoding = {"y": _axis("y"), "x": {"value": 0}, "text": {"field": "name", "type": "nominal"}}
        layers.append({"data": {"values": [level]}, "mark": text, "encoding": encoding})
    return layers


def _values(rows: Rows, field: str) -> list[str]:
    """The values of a field, in the order in which they come."""
    return list(dict.fromkeys(str(row[field]) for row in rows))


def _colour(rows: Rows, title: str | None) -> Chart:
    domain = _values(rows, "series")
    colours = [PALETTE[n % len(PALETTE)] for n in range(len(domain))]
    return {"field": "series", "title": title, "scale": {"domain": domain, "range": colours}}
