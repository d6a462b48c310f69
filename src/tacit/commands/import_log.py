"""``tacit import``: bring a search log in."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tacit.commands.options import ForceFlag, JsonFlag
from tacit.commands.verbs import Panel
from tacit.terminal import emit, progress

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
EncodingName = Literal["utf-8", "latin-1", "utf-16"]

_Files = Annotated[
    list[Path],
    typer.Argument(
        help="Files or folders, plain or compressed (gzip, bzip2, xz, zstd); - is the standard input.",
        metavar="FILES",
    ),
]
_Output = Annotated[Path | None, typer.Option("--output", "-o", help="The Parquet file to write.")]
_Look = Annotated[
    bool,
    typer.Option("--look", help="Import nothing; say what each column of the files would be taken for."),
]
_Format = Annotated[
    FormatName | None,
    typer.Option("--format", help="The format of all files; inferred from the content if absent."),
]
_Columns = Annotated[
    str | None,
    typer.Option(
        help="Where the file keeps what: user=uid,query=q,time=ts,rank=r,url=u; dots lead into JSON objects."
    ),
]
_Delimiter = Annotated[
    str | None,
    typer.Option(help="What separates columns: one character, or tab, comma, semicolon, pipe, space."),
]
_TimeFormat = Annotated[TimeFormatName, typer.Option(help="How times are written.")]
_TimeZone = Annotated[
    str | None,
    typer.Option(help="The zone of times that state none, such as Europe/Berlin; if absent, as they stand."),
]
_Encoding = Annotated[EncodingName, typer.Option(help="How the text is encoded.")]
_Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first bad line.")]
_NoNormalise = Annotated[bool, typer.Option("--no-normalise", help="Keep queries as written.")]
_MaxBad = Annotated[
    float | None,
    typer.Option(
        help="The share of a file's lines that may be bad; if absent, 0.05, judged from 100 lines on."
    ),
]
_FirstRank = Annotated[
    int, typer.Option(help="The rank of a first result: 1, or 0 where ranks count from 0.")
]
_Pattern = Annotated[
    str | None,
    typer.Option(
        help="A regular expression for a line of any log, with groups such as (?P<user>…), (?P<query>…) or "
        "(?P<encoded_query>…), (?P<time>…)."
    ),
]
_QueryParameter = Annotated[
    str | None,
    typer.Option(help="In a web server's log, the parameter that holds the query; found out if absent."),
]
_TableName = Annotated[str | None, typer.Option("--table", help="The table of a SQLite or DuckDB file.")]
_AcceptUnusual = Annotated[
    bool,
    typer.Option(
        "--accept-unusual",
        help="Keep a log that looks wrong: users with one record each, times in 1970, users like queries.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add ``import``."""
    app.command("import", epilog="Example: tacit import user-ct-test-collection-*.txt.gz -o log.parquet")(
        import_
    )


def import_(
    files: _Files,
    output: _Output = None,
    look: _Look = False,
    format_name: _Format = None,
    columns: _Columns = None,
    delimiter: _Delimiter = None,
    time_format: _TimeFormat = "auto",
    time_zone: _TimeZone = None,
    encoding: _Encoding = "utf-8",
    strict: _Strict = False,
    no_normalise: _NoNormalise = False,
    max_bad: _MaxBad = None,
    first_rank: _FirstRank = 1,
    pattern: _Pattern = None,
    query_parameter: _QueryParameter = None,
    table: _TableName = None,
    accept_unusual: _AcceptUnusual = False,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Bring a search log in: read files in a known format, check every line, write one Parquet file.

    Bad lines are left out, and counted by reason; what stands in them is never shown.
    """
    from tacit.errors import ParameterError
    from tacit.searchlog.importing import ImportOptions, look_at
    from tacit.searchlog.readers import ColumnMapping

    options = ImportOptions(
        ColumnMapping.parse(columns),
        time_format,
        time_zone,
        delimiter,
        first_rank,
        pattern,
        query_parameter,
        table,
        format_name=format_name,
        encoding=encoding,
        strict=strict,
        normalise=not no_normalise,
        max_bad=max_bad,
        accept_unusual=accept_unusual,
    )
    if look:
        seen = [look_at(path, format_name, options, encoding) for path in files]
        emit({"files": [_seen(file) for file in seen]}, as_json=as_json, render=lambda c: _show(c, seen))
        return
    if output is None:
        raise ParameterError("an import needs an output.", "Name the Parquet file to write with -o.")
    result = _result(_imported(files, output, options, force), options.normalise)
    emit(result, as_json=as_json, render=lambda console: _render(console, result))


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


def _seen(file: FileSeen) -> dict[str, Any]:
    return asdict(file) | {"path": str(file.path)}


def _show(console: Console, files: list[FileSeen]) -> None:
    for file in files:
        between = f", columns between {file.delimiter}" if file.delimiter else ""
        verdict = f"would be read as {file.format_name}{between}" if file.format_name else "would be refused"
        console.print(f"{file.path}: {verdict}", markup=False, soft_wrap=True)
        table = Table("column", "holds", "taken for", box=None, pad_edge=False)
        for column in file.columns:
            table.add_row(escape(column.name), escape(column.holds), column.taken_for or "nothing")
        if file.columns:
            console.print(table)
        if file.refusal:
            console.print(file.refusal, markup=False, soft_wrap=True)


def _result(report: ImportReport, normalised: bool) -> dict[str, Any]:
    figures = report.figures
    assert figures is not None  # an import that ends well has looked at its log
    return {
        "output": str(report.output),
        "lines": report.lines,
        "records": report.records,
        "users": figures.users,
        "records_per_user": round(figures.records_a_user, 2),
        "most_records_of_a_user": figures.largest,
        "first": figures.first.isoformat(),
        "last": figures.last.isoformat(),
        "bad_lines": {str(reason): count for reason, count in report.counts().items()},
        "files": [
            {
                "path": str(file.path),
                "format": file.format_name,
                "lines": file.lines,
                "records": file.records,
                "bad_lines": file.bad.described(),
                "passed_over": file.passed_over,
                "remarks": file.remarks,
            }
            for file in report.files
        ],
        "not_logs": [str(path) for path in report.not_logs],
        "normalised": normalised,
        "seconds": round(report.seconds, 3),
        "records_per_second": round(report.records / max(report.seconds, 1e-9)),
    }


def _render(console: Console, result: dict[str, Any]) -> None:
    console.print(
        f"{result['records']:,} records from {result['lines']:,} lines of {len(result['files'])} file(s)"
        f" in {result['output']}",
        markup=False,
        soft_wrap=True,
    )
    console.print(
        f"Check this against what you know of the log: {result['users']:,} users with"
        f" {result['records_per_user']:,} records each on average and at most"
        f" {result['most_records_of_a_user']:,}, from {result['first']} to {result['last']}.",
        markup=False,
        soft_wrap=True,
    )
    for remark in sorted({remark for file in result["files"] for remark in file["remarks"]}):
        count = sum(file["remarks"].get(remark, 0) for file in result["files"])
        console.print(f"{remark}: {count:,} records", markup=False)
    rows = [
        (file["path"], kind, f"{count:,}", "")
        for file in result["files"]
        for kind, count in file["passed_over"].items()
    ]
    rows += [
        (
            file["path"],
            f"bad: {reason}",
            f"{found['count']:,}",
            ", ".join(f"{line:,}" for line in found["first_lines"]),
        )
        for file in result["files"]
        for reason, found in file["bad_lines"].items()
    ]
    if rows:
        table = Table("file", "lines without a record", "count", "first lines", box=None, pad_edge=False)
        for row in rows:
            table.add_row(*map(escape, row))
        console.print(table)
    for path in result["not_logs"]:
        console.print(f"{path}: not in a known log format, passed over", markup=False, soft_wrap=True)
