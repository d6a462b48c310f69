"""Small line charts beside each other, as one SVG that is read in the light and in the dark.

No library: the files of the site are plain, and follow the reader's colour scheme by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Panel", "Series", "draw_panels"]

_WIDTH, _HEIGHT = 230, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 14, 24, 34
_NONE = 0.2
"""Where 0 stands on a logarithmic axis: far enough below 1 that both can be read."""
_STEP = 0.05
_COLOURS = 8
_STYLE = """
text { font: 11px system-ui, sans-serif; fill: #1a1a1a; } .small { font-size: 10px; fill: #555; }
.grid { stroke: #ddd; } .axis { stroke: #888; } .name { font-size: 12px; font-weight: 600; }
.line { fill: none; stroke-width: 2; } .dashed { stroke-dasharray: 5 4; }
.c0 { stroke: #005f9e; } .c1 { stroke: #b3540a; } .c2 { stroke: #2b7a2b; }
.c3 { stroke: #8a3ab9; } .c4 { stroke: #b0003a; } .c5 { stroke: #666; } .c6 { stroke: #00786e; }
.c7 { stroke: #8a6d00; } circle { stroke-width: 2; fill: #fff; } .ground { fill: #fff; }
@media (prefers-color-scheme: dark) {
text { fill: #e8e8e8; } .small { fill: #aaa; } .grid { stroke: #3a3a3a; } .axis { stroke: #888; }
.c0 { stroke: #6cb8f0; } .c1 { stroke: #f0a060; } .c2 { stroke: #7fd07f; } .c3 { stroke: #cf9bf0; }
.c4 { stroke: #ff7d9c; } .c5 { stroke: #aaa; } .c6 { stroke: #5fd0c4; } .c7 { stroke: #e0c050; }
circle, .ground { fill: #1c1c1c; } }
"""


@dataclass(frozen=True)
class Series:
    """A line: points (x, y) with x above 0."""

    name: str
    points: tuple[tuple[float, float], ...]
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """One chart: of numbers on a logarithmic axis with 0 at its foot, or of shares."""

    title: str
    series: tuple[Series, ...]
    logarithmic: bool = False


def draw_panels(panels: Sequence[Panel], *, columns: int, across: str, title: str) -> str:
    """All panels, rows of so many columns, with the same axes along a row and one legend."""
    names = list(dict.fromkeys(series.name for panel in panels for series in panel.series))
    rows = [panels[at : at + columns] for at in range(0, len(panels), columns)]
    width, height = columns * _WIDTH, len(rows) * _HEIGHT + 40
    parts = [f'<rect class="ground" width="{width}" height="{height}"/>']
    for line, row in enumerate(rows):
        points = [point for panel in row for series in panel.series for point in series.points]
        for column, panel in enumerate(row):
            parts.append(f'<g transform="translate({column * _WIDTH},{line * _HEIGHT})">')
            parts += _panel(panel, points, names, across)
            parts.append("</g>")
    parts += _legend(names, panels, len(rows) * _HEIGHT + 22)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img"><title>{escape(title)}</title><style>{_STYLE}</style>'
        f"{''.join(parts)}</svg>\n"
    )


def _panel(
    panel: Panel, points: Sequence[tuple[float, float]], names: Sequence[str], across: str
) -> list[str]:
    low, high = (math.log10(f(x for x, _ in points)) for f in (min, max))
    top = max([y for _, y in points] + [_STEP])
    steps = math.ceil(top / _STEP)
    top = top if panel.logarithmic else steps * _STEP
    right, foot = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    span = math.ceil(math.log10(max(top, 10.0))) if panel.logarithmic else 0

    def place(x: float, y: float) -> tuple[float, float]:
        along = (math.log10(x) - low) / ((high - low) or 1.0)
        up = math.log10(max(y, _NONE) / _NONE) / (span - math.log10(_NONE)) if panel.logarithmic else y / top
        return _LEFT + along * (right - _LEFT), foot - up * (foot - _TOP)

    parts = [f'<text class="name" x="{_LEFT}" y="15">{escape(panel.title)}</text>']
    marks = [0.0, *(10.0**n for n in range(span + 1))]
    if not panel.logarithmic:
        marks = [_STEP * n for n in range(steps + 1)]
    for mark in marks:
        y = place(10**low, mark)[1]
        said = f"{mark:,.0f}" if panel.logarithmic else f"{mark:.0%}"
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="small" x="{_LEFT - 5}" y="{y + 3.5:.1f}" text-anchor="end">{said}</text>')
    parts.append(f'<line class="axis" x1="{_LEFT}" x2="{right}" y1="{foot}" y2="{foot}"/>')
    for x in sorted({x for x, _ in points}):
        at = place(x, 0)[0]
        parts.append(
            f'<text class="small" x="{at:.1f}" y="{foot + 14}" text-anchor="middle">{_short(x)}</text>'
        )
    middle = (_LEFT + right) / 2
    parts.append(
        f'<text class="small" x="{middle}" y="{foot + 28}" text-anchor="middle">{escape(across)}</text>'
    )
    for series in panel.series:
        drawn = [place(x, y) for x, y in sorted(series.points)]
        colour = f"c{names.index(series.name) % _COLOURS}"
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        parts.append(f'<polyline class="line {colour}{" dashed" * series.dashed}" points="{path}"/>')
        parts += [f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in drawn]
    return parts


def _legend(names: Sequence[str], panels: Sequence[Panel], y: int) -> list[str]:
    dashed = {series.name for panel in panels for series in panel.series if series.dashed}
    parts, x = [], _LEFT
    for number, name in enumerate(names):
        style = f"line c{number % _COLOURS}{' dashed' * (name in dashed)}"
        parts.append(f'<line class="{style}" x1="{x}" x2="{x + 24}" y1="{y - 4}" y2="{y - 4}"/>')
        parts.append(f'<text x="{x + 30}" y="{y}">{escape(name)}</text>')
        x += 46 + 7 * len(name)
    return parts


def _short(number: float) -> str:
    return f"{number / 1000:,.0f}k" if number >= 1000 else f"{number:,.0f}"
