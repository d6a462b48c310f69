"""A figure of the report: a chart, what it shows, and the very numbers under it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Figure", "cell"]


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
