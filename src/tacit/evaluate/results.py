"""Results of an evaluation: tables, figures and sentences for a page, rows for a data frame.

Every evaluation gives one :class:`Results`. A
:class:`Figure` is a table with the chart drawn from it.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tacit.display import as_text
from tacit.pages import render

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[int, int], object]
"""Is called with the number of steps done, and of all steps."""


def no_progress(done: int, total: int) -> None:
    """Report nothing."""


class Steps:
    """Counts steps for a :data:`Progress`."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._done, self._total, self._progress = 0, total, progress

    def advance(self) -> None:
        self._done += 1
        self._progress(self._done, self._total)


class Column(NamedTuple):
    """A column of a table: the key of its values, its heading, and their format."""

    key: str
    heading: str
    format: str = ""


def columns(text: str) -> list[Column]:
    """Columns written as ``key = heading {format} | …``; the heading is the key unless given.

    >>> columns("p {g} | gain.mean = gain {+.3f}")
    [Column(key='p', heading='p', format='g'), Column(key='gain.mean', heading='gain', format='+.3f')]
    """
    found = []
    for each in text.split("|"):
        rest, _, form = each.strip().rstrip("}").partition("{")
        key, _, heading = rest.partition("=")
        found.append(Column(key.strip(), (heading or key).strip(), form))
    return found


@dataclass(frozen=True, repr=False)
class Figure:
    """A table, and the chart drawn from it.

    Args:
        name: of its files.
        section: the name of the page's section it belongs to.
        draw: makes the chart, a Vega-Lite document; None for a table without one.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    section: str = ""
    caption: str = ""
    draw: Callable[[], dict[str, Any]] | None = None

    @cached_property
    def chart(self) -> dict[str, Any]:
        """The chart as a Vega-Lite document; empty where there is none."""
        return self.draw() if self.draw else {}

    @property
    def headings(self) -> list[str]:
        return [column.heading for column in self.columns]

    @property
    def cells(self) -> list[list[str]]:
        return [[cell(row.get(column.key), column.format) for column in self.columns] for row in self.rows]

    @property
    def csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.headings)
        for row in self.rows:
            writer.writerow([row.get(column.key) for column in self.columns])
        return text.getvalue()


def cell(value: Any, form: str = "") -> str:
    """A value as a table shows it."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if form == "p":
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    if form:
        return format(value, form)
    if isinstance(value, int) or (isinstance(value, float) and value == int(value) and abs(value) >= 10):
        return f"{int(value):,}"
    if isinstance(value, float):
        return f"{value:.2e}" if 0 < abs(value) < 0.0005 else f"{value:.4g}"
    return str(value)


@dataclass(frozen=True, repr=False, eq=False)
class Results:
    """What an evaluation found.

    ``print(results)`` shows the tables, a notebook shows them as HTML; ``results["runs"]`` is an entry of
    ``results.json``; :meth:`to_arrow` and :meth:`to_pandas` give the measurements as a frame.

    Args:
        evaluation: what was evaluated: ``release``, ``series`` or ``personalised``.
        about: how it was measured, in a sentence.
        found: everything, by name, as ``results.json`` has it.
        rows: the measurements, a flat row each.
        tables: what is printed; the figures unless given.
        advice: what follows from the summary, in one sentence.
        notes: what a reader must know, in sentences.
    """

    evaluation: str
    title: str
    about: str
    found: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    figures: Sequence[Figure]
    tables: Sequence[Figure] = ()
    summary: Sequence[str] = ()
    advice: str = ""
    notes: Sequence[str] = ()
    page: Path | None = None

    def __repr__(self) -> str:
        page = f", page={str(self.page)!r}" if self.page else ""
        return f"Results(evaluation={self.evaluation!r}, {len(self.rows):,} measurements{page})"

    def __str__(self) -> str:
        shown = [as_text(each.title, [each.headings, *each.cells]) for each in self.tables or self.figures]
        return "\n\n".join(
            part for part in [self.about, self.advice, *shown, "\n".join(self.summary), *self.notes] if part
        )

    def _repr_html_(self) -> str:
        tables = [
            {"title": table.title, "heading": table.headings, "rows": table.cells, "notes": ()}
            for table in self.tables or self.figures
        ]
        tables[-1]["notes"] = self.notes
        return "".join(render("tacit", "object.html.j2", **table) for table in tables)

    def __getitem__(self, name: str) -> Any:
        """An entry of ``results.json``, by name; rows are typed objects."""
        return self.found[name]

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON has it; NaN becomes null."""
        found: dict[str, Any] = plain(self.found)
        return found

    def to_arrow(self) -> pa.Table:
        import pyarrow as pa

        return pa.Table.from_pylist([plain(row) for row in self.rows])

    def to_pandas(self) -> Any:
        return self.to_arrow().to_pandas()


def plain(value: Any) -> Any:
    """A value as JSON has it: dataclasses become objects, NaN becomes null."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """A dataclass or a mapping as one row: entries of entries by dotted names, lists left out."""
    row: dict[str, Any] = {}
    for name, each in plain(value).items():
        if isinstance(each, dict):
            row |= flat(each, f"{prefix}{name}.")
        elif not isinstance(each, list):
            row[f"{prefix}{name}"] = each
    return row
