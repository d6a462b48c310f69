"""The files of a report: a page that opens without a network, its data as JSON and CSV, its charts as SVG."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from tacit.evaluate.charts import svg, vega_script
from tacit.evaluate.results import Figure, Results
from tacit.files import atomic_directory, atomic_file, check_output_folder
from tacit.pages import render

RESULTS = "results.json"


def write_page(
    results: Results,
    path: Path,
    *,
    mode: int = 0o644,
    banner: tuple[str, bool] | None = None,
    price: str = "",
    note: str = "",
    titles: Mapping[str, str] | None = None,
) -> None:
    """Write the page of an evaluation.

    Args:
        mode: who may read it, as permission bits.
        banner: what the page says first, and whether it warns.
        price: of following the advice, said right below it.
        note: how to read it.
        titles: of the sections, by name; figures stand without sections unless given.
    """
    sections: dict[str, list[Figure]] = {}
    for figure in results.figures:
        sections.setdefault(figure.section, []).append(figure)
    charts = {figure.name: figure.chart for figure in results.figures if figure.draw}
    text = render(
        "tacit.evaluate.report",
        "report.html.j2",
        results=results,
        banner=banner,
        price=price,
        note=note,
        sections=[
            {"id": name.replace(" ", "-"), "title": (titles or {}).get(name, ""), "figures": figures}
            for name, figures in sections.items()
        ],
        charts=Markup(json.dumps(charts, allow_nan=False).replace("</", "<\\/")),
        script=Markup(vega_script()),
    )
    _write(path, text, mode)


def write_results(results: Results, folder: Path, mode: int = 0o644) -> None:
    """Write ``results.json``."""
    form = json.dumps(results.as_dict(), indent=2, ensure_ascii=False, allow_nan=False)
    _write(folder / RESULTS, form + "\n", mode)


def write_figures(results: Results, folder: Path, mode: int) -> None:
    """Write the table of each figure as ``data/*.csv`` and its chart as ``charts/*.svg``."""
    for name in ("data", "charts"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name).chmod(mode | (mode & 0o444) >> 2)  # whoever may read a file may enter its folder
    for figure in results.figures:
        _write(folder / "data" / f"{figure.name}.csv", figure.csv, mode)
        if figure.draw:
            _write(folder / "charts" / f"{figure.name}.svg", svg(figure.chart), mode)


def check_folder(
    to: str | Path | None, marks: Iterable[str], *, force: bool, inputs: Iterable[str | Path | None] = ()
) -> None:
    """Refuse a folder that cannot be made or replaced, before any work; ``marks`` identify an earlier one."""
    if to is not None:
        given = [each for each in inputs if each is not None]
        check_output_folder(Path(to), force=force, marks=[RESULTS, *marks], inputs=given)


def write_folder(results: Results, to: str | Path | None, *, force: bool) -> Results:
    """Write ``results.json``, ``charts.html`` and an SVG for each chart into a folder, complete or absent."""
    if to is None:
        return results
    with atomic_directory(Path(to), replace=force) as folder:
        write_results(results, folder)
        for figure in results.figures:
            if figure.draw:
                _write(folder / f"{figure.name}.svg", svg(figure.chart), 0o644)
        write_page(results, folder / "charts.html")
    return replace(results, page=Path(to) / "charts.html")


def _write(path: Path, text: str, mode: int) -> None:
    with atomic_file(path, mode=mode) as temporary:
        temporary.write_text(text, encoding="utf-8")
