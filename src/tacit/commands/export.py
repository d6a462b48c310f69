"""``tacit export``: a search log back to text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.terminal import JsonFlag, emit, progress

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add ``export``."""
    app.command("export", epilog="Example: tacit export log.parquet -o log.txt.gz --format aol")(export)


def export(
    log: Annotated[Path, typer.Argument(help="A search log, as `tacit import` writes it.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write; gzipped if it ends in .gz.")
    ],
    format_name: Annotated[str, typer.Option("--format", help="aol, tsv or jsonl.")] = "aol",
    as_json: JsonFlag = False,
) -> None:
    """Write a search log as text: in AOL's format, as TSV or as JSON Lines.

    The text holds every query and user of the log: it is as private as the log.
    """
    import pyarrow.parquet as pq

    from tacit.searchlog import check_log
    from tacit.searchlog.export import export_log

    with progress("Exporting", total=pq.read_metadata(check_log(log)).num_rows) as shown:
        report = export_log(log, output, format_name, shown.advance)
    result = {
        "output": str(output),
        "format": format_name,
        "records": report.records,
        "values_with_separators": report.values_with_separators,
    }
    said = f"{report.records:,} records in {output}"
    if report.values_with_separators:
        said += f"; tabs or line ends in {report.values_with_separators:,} values were written as spaces"
    emit(result, as_json=as_json, render=lambda console: console.print(said, markup=False, soft_wrap=True))
