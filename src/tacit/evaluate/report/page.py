"""The page of a report and its files: self-contained, readable on a phone, in the dark and on paper.

Nothing in a report is protected by noise: curves and tables are exact functions of the log, so it is as
sensitive as the log. A synthetic log has nobody in it, and a resampled one is published itself; reports on
them are free to share.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tacit.evaluate.charts import Figure, cell, vega_script
from tacit.evaluate.report.figures import MEANINGS, all_figures
from tacit.evaluate.report.summary import summarise
from tacit.evaluate.sweep.results import Results
from tacit.evaluate.sweep.sweeping import NamedQueries
from tacit.files import atomic_file
from tacit.pages import templates
from tacit.searchlog.schema import ORIGIN


class Sensitivity(StrEnum):
    """How far a report may go."""

    AS_THE_LOG = "as sensitive as the log"
    SHAREABLE = "free to share"

    @property
    def mode(self) -> int:
        """Permission bits of its files."""
        return 0o600 if self is Sensitivity.AS_THE_LOG else 0o644

    @property
    def banner(self) -> str:
        """What the page says first."""
        if self is Sensitivity.AS_THE_LOG:
            return (
                "As sensitive as the log itself. These figures are the owner's own look at a private log: "
                "exact, outside any guarantee. Do not publish this page; no ledger was charged for it."
            )
        return "Free to share: the log is synthetic or resampled, and holds nobody's records."


def sensitivity_of(log: str | Path, *, declared_synthetic: bool = False) -> Sensitivity:
    """By what the log's file says of its origin, or by its owner's word."""
    metadata = pq.read_schema(log).metadata or {}
    marked = metadata.get(ORIGIN.encode()) in (b"synthetic", b"resampled")
    return Sensitivity.SHAREABLE if declared_synthetic or marked else Sensitivity.AS_THE_LOG


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
    environment = templates("tacit.evaluate.report", cell=cell)
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


PAGE, RESULTS = "report.html", "results.json"


def write_report(
    results: Results,
    folder: str | Path,
    sensitivity: Sensitivity,
    about: Mapping[str, Any],
    named: NamedQueries | None = None,
) -> Path:
    """Write ``report.html``, ``results.json``, ``data/*.csv`` and ``charts/*.svg``.

    Args:
        results: of a sweep.
        folder: where to; it exists.
        sensitivity: sets who may read the files, and what the page says first.
        about: what the page says of the sweep: the log's name, its records, folds, draws.
        named: queries to name on the page, with a warning; none unless the owner asked for it.
    """
    folder = Path(folder)
    mode = sensitivity.mode
    figures, sentences = all_figures(results), summarise(results)
    for name in ("data", "charts"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name).chmod(mode | (mode & 0o444) >> 2)  # whoever may read a file may enter its folder
    form = {
        "about": dict(about),
        "sensitivity": sensitivity.value,
        "summary": sentences,
        **results.as_dict(),
    }
    _write(folder / RESULTS, json.dumps(form, indent=2, ensure_ascii=False, allow_nan=False) + "\n", mode)
    for figure in figures:
        _write(folder / "data" / f"{figure.name}.csv", csv_text(figure), mode)
        _write(folder / "charts" / f"{figure.name}.svg", _svg(figure), mode)
    page = folder / PAGE
    _write(page, render(figures, sentences, sensitivity, about, named), mode)
    return page


def _write(path: Path, text: str, mode: int) -> None:
    with atomic_file(path, mode=mode) as temporary:
        temporary.write_text(text, encoding="utf-8")


def csv_text(figure: Figure) -> str:
    """A figure's table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([heading for _, heading in figure.columns])
    for row in figure.rows:
        writer.writerow(["" if row.get(key) is None else row[key] for key, _ in figure.columns])
    return text.getvalue()


def _svg(figure: Figure) -> str:
    import vl_convert

    return str(vl_convert.vegalite_to_svg({**figure.chart, "width": 560}))
