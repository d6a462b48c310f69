"""Writing a report: the page, its data as JSON and CSV, its charts as SVG, readable by whom it is for."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.evaluate.report.figure import Figure
from tacit.evaluate.report.figures import all_figures
from tacit.evaluate.report.page import render
from tacit.evaluate.report.sensitivity import Sensitivity
from tacit.evaluate.report.summary import summarise
from tacit.evaluate.sweep.named_queries import NamedQueries
from tacit.evaluate.sweep.table import Results
from tacit.files import atomic_file

__all__ = ["PAGE", "RESULTS", "csv_text", "write_report"]

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
