"""Import: from files in some log format to one search log in Parquet; and a look at files beforehand.

Blocks are parsed by a few threads and written in order, so the output has the records in the order of
the files. At most a handful of blocks are in memory. The output appears whole at the end, or not at all.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.errors import InputError, LogError, ParameterError
from tacit.files import atomic_file, check_output
from tacit.searchlog.readers import (
    Block,
    ColumnMapping,
    Parsed,
    Reader,
    Reading,
    Source,
    delimiter_from,
    find_sources,
    reader_for,
)
from tacit.searchlog.readers.inspection import DELIMITERS_IN_WORDS, looked_at
from tacit.searchlog.readers.protocol import BadLines, Reason
from tacit.searchlog.schema import LogWriter, begins_as_parquet

_FILES_NAMED = 3
_PARSERS = min(4, os.cpu_count() or 1)

Watch = Callable[[int, int], None]
"""Told, as the work goes on, how many bytes were read and how many records written so far."""


@dataclass(frozen=True)
class ImportOptions:
    """How an import is to be done."""

    format_name: str | None = None
    """The format of all files; inferred from each file's content when absent."""
    mapping: ColumnMapping = field(default_factory=ColumnMapping)
    time_format: str = "auto"
    encoding: str = "utf-8"
    strict: bool = False
    """Stop at the first bad line."""
    normalise: bool = True
    max_bad: float | None = None
    """Stop when more of a file's lines are bad; when absent, at 5%, but only from 100 lines on."""
    time_zone: str | None = None
    """The zone of times that state none; such times are kept as they are when absent."""
    delimiter: str | None = None
    """The character between fields; inferred from the content when absent."""

    def __post_init__(self) -> None:
        if self.max_bad is not None and not 0 <= self.max_bad <= 1:
            raise ParameterError.outside("max_bad", self.max_bad, "a share in [0, 1]")
        Reading(time_format=self.time_format, time_zone=self.time_zone)

    @property
    def reading(self) -> Reading:
        """What is said about every file."""
        return Reading(self.mapping, self.time_format, self.time_zone, delimiter_from(self.delimiter))


@dataclass
class FileReport:
    """What one file gave."""

    path: Path
    format_name: str
    lines: int = 0
    records: int = 0
    bad: BadLines = field(default_factory=BadLines)
    passed_over: dict[str, int] = field(default_factory=dict)
    """Lines rightly left out: ``headers``, ``blank``."""


@dataclass
class ImportReport:
    """What an import did."""

    output: Path
    files: list[FileReport] = field(default_factory=list)
    not_logs: list[Path] = field(default_factory=list)
    """Files found in folders that are in no known format."""
    seconds: float = 0.0

    @property
    def records(self) -> int:
        """Records written."""
        return sum(file.records for file in self.files)

    @property
    def lines(self) -> int:
        """Lines read."""
        return sum(file.lines for file in self.files)

    @property
    def bad_lines(self) -> int:
        """Lines that were bad."""
        return sum(file.bad.total for file in self.files)

    def counts(self) -> dict[Reason, int]:
        """Bad lines by reason, over all files."""
        return {
            reason: count
            for reason in Reason
            if (count := sum(file.bad.counts.get(reason, 0) for file in self.files))
        }


def _parsed_in_order(
    reader: Reader, source: Source, pool: ThreadPoolExecutor
) -> Iterator[tuple[Block, Parsed]]:
    """Parse the blocks of a file side by side, and give them back in order."""
    waiting: deque[tuple[Block, Future[Parsed]]] = deque()
    for block in reader.blocks(source):
        waiting.append((block, pool.submit(reader.parse, block)))
        if len(waiting) > _PARSERS:
            first, parsed = waiting.popleft()
            yield first, parsed.result()
    for first, parsed in waiting:
        yield first, parsed.result()


def _explained(source: Source, reader: Reader, options: ImportOptions) -> Callable[[Reason], str]:
    """What to say of the column that brought the bad lines of a reason, in the vocabulary of the file."""

    def explain(reason: Reason) -> str:
        opening = source.opening()
        placed = reader.placed(opening)
        return looked_at(opening, options.reading).about(reason, placed) if placed else ""

    return explain


def _judge(
    report: FileReport,
    block: Block,
    parsed: Parsed,
    options: ImportOptions,
    explain: Callable[[Reason], str],
) -> None:
    """Count the block's lines; raise if its bad lines, or all so far, are more than the options allow."""
    if options.strict:
        report.bad.refuse_any(str(report.path), parsed.bad)
    for reason, lines in parsed.bad:
        report.bad.add(reason, lines)
    for kind, count in parsed.passed_over.items():
        if count:
            report.passed_over[kind] = report.passed_over.get(kind, 0) + count
    report.lines += block.lines
    report.records += parsed.records.num_rows
    report.bad.refuse_too_many(str(report.path), report.lines, options.max_bad, explain)


def _take_in(
    sources: Sequence[tuple[Source, Reader]],
    report: ImportReport,
    writer: LogWriter,
    options: ImportOptions,
    watch: Watch,
) -> None:
    """Read every file and write its records."""
    finished_bytes = 0
    with ThreadPoolExecutor(_PARSERS, thread_name_prefix="parse") as pool:
        try:
            for source, reader in sources:
                file = FileReport(source.path, reader.name)
                report.files.append(file)
                explain = _explained(source, reader, options)
                for block, parsed in _parsed_in_order(reader, source, pool):
                    _judge(file, block, parsed, options, explain)
                    records = parsed.records
                    if options.normalise:
                        records = records.set_column(1, records.schema.field(1), parsed.normalised)
                    writer.write(records)
                    watch(finished_bytes + source.bytes_read, report.records)
                finished_bytes += source.size
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _no_record(
    report: ImportReport, sources: Sequence[tuple[Source, Reader]], options: ImportOptions
) -> LogError:
    """No line was a record: say why they were not."""
    bad = [file for file in report.files if file.bad.total]
    seen = next(
        (
            _explained(source, reader, options)(file.bad.usual)
            for file, (source, reader) in zip(report.files, sources, strict=True)
            if file.bad.total
        ),
        "",
    )
    reasons = "; ".join(f"in {file.path}, bad lines: {file.bad.by_reason()}" for file in bad[:_FILES_NAMED])
    more = f"; and in {len(bad) - _FILES_NAMED:,} more files" if len(bad) > _FILES_NAMED else ""
    hint = next((file.bad.hint for file in bad if file.bad.hint), "")
    return LogError(
        f"there is no record in the {report.lines:,} lines read{': ' if bad else ''}{reasons}{more}.{seen}",
        f"{hint}Check `format` and `columns`.",
    )


def _check_output(paths: Sequence[str | Path], output: Path, options: ImportOptions, force: bool) -> None:
    """Refuse an output that would destroy something, such as one of the files that are read."""
    inputs = [source.path for source in find_sources([Path(p) for p in paths], encoding=options.encoding)]
    if begins_as_parquet(output):  # an earlier import into the same folder, unless it is named
        inputs = [Path(p) for p in paths]
    check_output(output, force=force, inputs=inputs, ledger_stays=True)


def import_log(
    paths: Sequence[str | Path],
    output: str | Path,
    options: ImportOptions | None = None,
    watch: Watch = lambda _bytes, _records: None,
    *,
    force: bool = True,
) -> ImportReport:
    """Import the log in ``paths`` (files and folders) to ``output``.

    Args:
        paths: files and folders, plain or compressed.
        output: the Parquet file to make.
        options: how they are read.
        watch: told how many bytes were read and records written so far.
        force: replace the output if it exists; a log keeps its ledger, of which it is the next state.

    Raises:
        LogError: a file is in no known format, is damaged, has too many bad lines (or any, in strict
            reading), or no file holds a record. Nothing is written then.
    """
    options = options or ImportOptions()
    _check_output(paths, Path(output), options, force)
    begun = time.monotonic()
    report = ImportReport(Path(output))
    sources = []
    for source in find_sources([Path(p) for p in paths], encoding=options.encoding, besides=report.output):
        reader = reader_for(source, options.format_name, options.reading)
        if reader is None:
            report.not_logs.append(source.path)
        else:
            sources.append((source, reader))
    if not sources:
        raise LogError(
            "none of the files in the folders given is in a known format.", "Name one with `format`."
        )
    if report.output.is_dir():
        raise InputError(f"the output {report.output} is a folder.", "Name a file in it.")
    with atomic_file(report.output, mode=0o600) as temporary:
        with LogWriter(temporary) as writer:
            _take_in(sources, report, writer, options, watch)
        if not report.records:
            raise _no_record(report, sources, options)
    report.seconds = time.monotonic() - begun
    return report


_SAMPLE = 200


@dataclass(frozen=True)
class ColumnSeen:
    """One column of a file."""

    name: str
    """Its position from 1, or its name where the format has names of its own."""
    holds: str
    taken_for: str | None
    """The column of the log that it becomes; None when it is left out."""


@dataclass(frozen=True)
class FileSeen:
    """One file, looked at."""

    path: Path
    format_name: str | None
    """What an import would read it as; None when it would refuse it."""
    delimiter: str | None
    time_format: str
    columns: tuple[ColumnSeen, ...]
    refusal: str = ""
    """Why an import would refuse it, and what would probably help."""


def look_at(
    path: Path, format_name: str | None = None, reading: Reading | None = None, encoding: str = "utf-8"
) -> FileSeen:
    """Look at one file (or the standard input)."""
    if path.is_dir():
        raise LogError(f"{path} is a folder.", "Look at its files one by one.")
    (source,) = find_sources([path], encoding=encoding)
    opening = source.opening()
    reading = (reading or Reading()).told_from(opening)
    try:
        reader = reader_for(source, format_name, reading)
    except LogError as error:
        return FileSeen(path, None, None, reading.time_format, _delimited(source, reading, {}), str(error))
    assert reader is not None  # a file that was named is recognised or refused
    delimiter = None
    if reader.name in ("parquet", "jsonl"):
        columns = _named(source, reader, reading)
    else:
        columns = _delimited(source, reading, reader.placed(opening))
        look = looked_at(opening, reading)
        delimiter = DELIMITERS_IN_WORDS.get(look.delimiter or "", look.delimiter)
    return FileSeen(path, reader.name, delimiter, reading.time_format, columns)


def _delimited(source: Source, reading: Reading, placed: dict[str, int]) -> tuple[ColumnSeen, ...]:
    taken = {place: column for column, place in placed.items()}
    kinds = looked_at(source.opening(), reading).columns
    return tuple(ColumnSeen(str(place + 1), str(kind), taken.get(place)) for place, kind in enumerate(kinds))


def _named(source: Source, reader: Reader, reading: Reading) -> tuple[ColumnSeen, ...]:
    """The columns of a Parquet file, with their types; the names that most objects of JSON lines have."""
    if reader.name == "parquet":
        if source.stream is not None:
            raise LogError("the standard input is a Parquet file.", "Name the file instead.")
        try:
            schema = pq.read_schema(source.path)
        except (pa.ArrowException, OSError) as error:
            raise LogError(f"{source.path} is a damaged Parquet file.", "Make it again.") from error
        held = {field.name: f"values of type {field.type}" for field in schema}
    else:
        held = dict.fromkeys(_usual_keys(source), "values of objects")
    names = list(held)
    taken = {names[place]: column for column, place in reading.mapping.found_in(names).items()}
    return tuple(ColumnSeen(name, held[name], taken.get(name)) for name in names)


def _usual_keys(source: Source) -> list[str]:
    """The names that at least half of the objects have: a name that few have could be somebody's."""
    counts: Counter[str] = Counter()
    objects = 0
    for line in source.opening().lines[:_SAMPLE]:
        try:
            found: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            objects += 1
            counts.update(found.keys())
    return [key for key, count in counts.items() if count * 2 >= objects]
