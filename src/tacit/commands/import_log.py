"""``tacit import``: bring a search log in."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from tacit.commands.options import ForceFlag
from tacit.commands.verbs import Panel, verb
from tacit.errors import ParameterError
from tacit.terminal import emit, progress, table

if TYPE_CHECKING:
    from tacit.searchlog.importing import FileSeen, ImportOptions, ImportReport

PANEL = Panel.LOG

_MEGABYTE = 1_000_000

FormatName = Literal[
    "aol", "excite", "csv", "tsv", "jsonl", "ga4", "matomo", "ubi", "access", "parquet", "sqlite", "duckdb"
]
TimeFormatName = Literal[
    "auto", "iso", "day-first", "month-first", "epoch", "epoch-ms", "epoch-us", "epoch-ns"
]
_FILES = "Files or folders, plain or compressed (gzip, bzip2, xz, zstd); - is the standard input."
_LOOK = "Import nothing; say what each column of the files would be taken for."
_COLUMNS = "Where the file keeps what: user=uid,query=q,time=ts,rank=r,url=u; dots lead into JSON objects."


def import_(
    files: Annotated[list[Path], typer.Argument(help=_FILES, metavar="FILES")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The Parquet file to write.")] = None,
    look: Annotated[bool, typer.Option("--look", help=_LOOK)] = False,
    format_name: Annotated[FormatName | None, typer.Option("--format")] = None,
    columns: Annotated[str | None, typer.Option(help=_COLUMNS)] = None,
    delimiter: str | None = None,
    time_format: TimeFormatName = "auto",
    time_zone: str | None = None,
    encoding: Literal["utf-8", "latin-1", "utf-16"] = "utf-8",
    strict: Annotated[bool, typer.Option("--strict")] = False,
    no_normalise: Annotated[bool, typer.Option("--no-normalise", help="Keep queries as written.")] = False,
    max_bad: float | None = None,
    first_rank: int = 1,
    pattern: str | None = None,
    query_parameter: str | None = None,
    table_name: Annotated[str | None, typer.Option("--table")] = None,
    accept_unusual: Annotated[bool, typer.Option("--accept-unusual")] = False,
    force: ForceFlag = False,
) -> None:
    """Bring a search log in: read files in a known format, check every line, write one Parquet file.

    Bad lines are left out, and counted by reason; what stands in them is never shown.
    """
    given = locals()
    from tacit.searchlog.importing import ImportOptions, look_at
    from tacit.searchlog.readers import ColumnMapping

    given |= {"mapping": ColumnMapping.parse(columns), "normalise": not no_normalise, "table": table_name}
    options = ImportOptions(**{each.name: given[each.name] for each in fields(ImportOptions) if each.init})
    if look:
        seen = [look_at(path, format_name, options, encoding) for path in files]
        emit({"files": [asdict(file) | {"path": str(file.path)} for file in seen]}, *_looked(seen))
        return
    if output is None:
        raise ParameterError("an import needs an output.", "Name the Parquet file to write with -o.")
    result = _result(_imported(files, output, options, force), options.normalise)
    emit(result, *_shown(result))


register = verb(
    import_,
    "user-ct-test-collection-*.txt.gz -o log.parquet",
    "import",
    by="tacit.searchlog.importing:ImportOptions tacit.searchlog.readers.protocol:Reading",
)


def _imported(files: list[Path], output: Path, options: ImportOptions, force: bool) -> ImportReport:
    from tacit.searchlog.importing import import_log
    from tacit.searchlog.readers import find_sources

    size = sum(source.size for source in find_sources(files, encoding=options.encoding, besides=output))
    with progress("Importing", total=-(-size // _MEGABYTE), unit="MB") as shown:
        begun = time.monotonic()

        def watch(bytes_read: int, records: int) -> None:
            shown.advance(-(-bytes_read // _MEGABYTE) - shown.done)
            rate = records / max(time.monotonic() - begun, 1e-9)
            shown.describe(f"Importing: {records:,} records, {rate:,.0f} records/s")

        return import_log(files, output, options, watch, force=force)


def _as_option(found: re.Match[str]) -> str:
    """A parameter of the library as an option; other words between backticks stay as they are."""
    name, value = found[1], (found[2] or "").strip("'")
    known = {"format", *import_.__annotations__}
    return f"--{name.replace('_', '-')} {value}".rstrip() if name in known else found[0]


def _looked(files: list[FileSeen]) -> Iterator[str | Table]:
    for file in files:
        between = f", columns between {file.delimiter}" if file.delimiter else ""
        verdict = f"would be read as {file.format_name}{between}" if file.format_name else "would be refused"
        yield f"{file.path}: {verdict}"
        if file.columns:
            rows = [(column.name, column.holds, column.taken_for or "nothing") for column in file.columns]
            yield table(("column", "holds", "taken for"), rows)
        if file.refusal:
            yield re.sub(r"`(\w+)(?:=([^`]*))?`", _as_option, file.refusal)


def _result(report: ImportReport, normalised: bool) -> dict[str, Any]:
    figures = report.figures
    assert figures is not None  # an import that ends well has looked at its log
    return {
        "output": str(report.output),
        "lines": report.lines,
        "records": report.records,
        "users": figures.users,
        "records_per_user": round(figures.records / figures.users, 2),
        "most_records_of_a_user": figures.largest,
        "first": figures.first.isoformat(),
        "last": figures.last.isoformat(),
        "bad_lines": {str(reason): count for reason, count in report.counts().items()},
        "files": [
            {
                "path": str(file.path),
                "format": file.format_name,
                "bad_lines": file.bad.described(),
                **{name: getattr(file, name) for name in ("lines", "records", "passed_over", "remarks")},
            }
            for file in report.files
        ],
        "not_logs": [str(path) for path in report.not_logs],
        "normalised": normalised,
        "seconds": round(report.seconds, 3),
        "records_per_second": round(report.records / max(report.seconds, 1e-9)),
    }


def _shown(result: dict[str, Any]) -> Iterator[str | Table]:
    files = result["files"]
    yield (
        f"{result['records']:,} records from {result['lines']:,} lines of {len(files)} file(s) in "
        f"{result['output']}"
    )
    yield (
        f"Check this against what you know of the log: {result['users']:,} users with"
        f" {result['records_per_user']:,} records each on average and at most"
        f" {result['most_records_of_a_user']:,}, from {result['first']} to {result['last']}."
    )
    for remark in sorted({remark for file in files for remark in file["remarks"]}):
        yield f"{remark}: {sum(file['remarks'].get(remark, 0) for file in files):,} records"
    rows = [(f["path"], kind, f"{count:,}", "") for f in files for kind, count in f["passed_over"].items()]
    for file in files:
        for reason, found in file["bad_lines"].items():
            first = ", ".join(f"{line:,}" for line in found["first_lines"])
            rows.append((file["path"], f"bad: {reason}", f"{found['count']:,}", first))
    if rows:
        yield table(("file", "lines without a record", "count", "first lines"), rows)
    for path in result["not_logs"]:
        yield f"{path}: not in a known log format, passed over"
