"""The page of a report: self-contained, readable on a phone, in the dark and on paper."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2

from tacit.evaluate.report.figure import Figure, cell
from tacit.evaluate.report.measurements import MEANINGS
from tacit.evaluate.report.sensitivity import Sensitivity
from tacit.evaluate.report.vega import vega_script
from tacit.evaluate.sweep.named_queries import NamedQueries

__all__ = ["render"]

_HEADINGS = {
    "side by side": "Mechanisms at equal budget",
    "data and utility": "Is more data more utility?",
    "parameters": "Impact of parameters",
}


def render(
    figures: Sequence[Figure],
    sentences: Sequence[str],
    sensitivity: Sensitivity,
    about: Mapping[str, Any],
    named: NamedQueries | None = None,
) -> str:
    """The page as HTML; nothing in it is fetched from anywhere."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tacit.evaluate.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["cell"] = cell
    sections: dict[str, list[Figure]] = {}
    for figure in figures:
        sections.setdefault(figure.section, []).append(figure)
    charts = {figure.name: figure.chart for figure in figures}
    return environment.get_template("report.html.j2").render(
        sections=[
            {"id": name.replace(" ", "-"), "title": _HEADINGS.get(name) or _title(name), "figures": listed}
            for name, listed in sections.items()
        ],
        sentences=sentences,
        sensitive=sensitivity is Sensitivity.AS_THE_LOG,
        banner=sensitivity.banner,
        about=about,
        named=named,
        charts=json.dumps(charts, allow_nan=False).replace("</", "<\\/"),
        script=vega_script(),
    )


def _title(task: str) -> str:
    name, _, meaning = MEANINGS[task].partition(": ")
    return f"{name[0].upper()}{name[1:]}: {meaning}"
