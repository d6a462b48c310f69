"""``tacit export``: a search log back to text."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from tacit.commands.options import ForceFlag, LogFile
from tacit.commands.verbs import Panel, verb
from tacit.errors import ParameterError
from tacit.terminal import emit, progress, speaks_json, stderr

PANEL = Panel.LOG


def export(
    log: LogFile,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The file to write, gzipped if it ends in .gz; - is stdout."),
    ],
    format_name: Annotated[
        Literal["aol", "tsv", "jsonl"],
        typer.Option("--format", help="AOL's columns, tab-separated values or JSON Lines."),
    ] = "aol",
    force: ForceFlag = False,
) -> None:
    """Write a search log as text: in AOL's format, as TSV or as JSON Lines.

    The text holds every query and user of the log: it is as private as the log.
    """
    import pyarrow.parquet as pq

    from tacit.files import check_output
    from tacit.searchlog import check_log
    from tacit.searchlog.export import export_log

    to_stdout = output == Path("-")
    if not to_stdout:
        check_output(output, force=force, inputs=[log])
    elif speaks_json():
        raise ParameterError("--json and the log cannot both go to stdout.", "Name a file with -o.")
    total = pq.read_metadata(check_log(log)).num_rows
    try:
        with progress("Exporting", total=total) as shown:
            report = export_log(log, sys.stdout.buffer if to_stdout else output, format_name, shown.advance)
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    result = {"output": str(output), "format": format_name, **vars(report)}
    said = f"{report.records:,} records in {'the standard output' if to_stdout else output}"
    if report.values_with_separators:
        said += f"; tabs or line ends in {report.values_with_separators:,} values were written as spaces"
    if to_stdout:
        stderr().print(said, markup=False, soft_wrap=True)
        return
    emit(result, said)


register = verb(export, "log.parquet -o log.txt.gz --format aol")
