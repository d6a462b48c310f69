"""Import: from files in some log format to one search log in Parquet; and a look at files beforehand.

Blocks are parsed by a few threads and written in order, so the output has the records in the order of
the files. At most a handful of blocks are in memory. The output appears whole at the end, or not at all.
"""

import itertools
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from tacit.errors import InputError, LogError, ParameterError
from tacit.files import atomic_file, check_output
from tacit.searchlog.readers import reader_for
from tacit.searchlog.readers.delimited import DelimitedReader
from tacit.searchlog.readers.inspection import DELIMITERS_IN_WORDS, looked_at
from tacit.searchlog.readers.objects import ObjectsReader
from tacit.searchlog.readers.protocol import BadLines, Block, Explain, Parsed, Reader, Reading, Reason
from tacit.searchlog.readers.source import Opening, Source, find_sources
from tacit.searchlog.readers.typed import TableReader
from tacit.searchlog.schema import LogWriter, begins_as_parquet
from tacit.validation import flag, real, text, whole

_PARSERS = min(4, os.cpu_count() or 1)

Watch = Callable[[int, int], None]
"""Told, as the work goes on, how many bytes were read and how many records written so far."""


@dataclass(frozen=True)
class ImportOptions(Reading):
    """How an import is to be done, beside how a file is read.

    Attributes:
        format_name: the format of all files; inferred from each file's content if absent.
        encoding: how the text is encoded.
        strict: stop at the first bad line.
        normalise: write queries in one form.
        max_bad: the share of a file's lines that may be bad; if absent 0.05, judged from 100 lines on.
        accept_unusual: keep a log that looks wrong: users with one record each, times in 1970, users like
            queries.
    """

    format_name: str | None = None
    encoding: str = "utf-8"
    strict: bool = False
    normalise: bool = True
    max_bad: float | None = None
    accept_unusual: bool = False

    def __post_init__(self) -> None:
        for name in ("time_format", "time_zone", "delimiter", "pattern", "query_parameter", "table"):
            if getattr(self, name) is not None:
                text(name, getattr(self, name))
        for name in ("strict", "normalise", "accept_unusual"):
            flag(name, getattr(self, name))
        text("format", self.format_name or "")
        text("encoding", self.encoding)
        whole("first_rank", self.first_rank)
        if self.max_bad is not None and not 0 <= real("max_bad", self.max_bad) <= 1:
            raise ParameterError.outside("max_bad", self.max_bad, "a share in [0, 1]")
        super().__post_init__()


@dataclass
class FileReport:
    """What one file gave."""

    path: Path
    format_name: str
    lines: int = 0
    records: int = 0
    bad: BadLines = field(default_factory=BadLines)
    passed_over: Counter[str] = field(default_factory=Counter)
    """Lines rightly left out: ``headers``, ``blank``, requests that are no searches."""
    remarks: Counter[str] = field(default_factory=Counter)
    """What there is to know about some of the records, and of how many."""


@dataclass(frozen=True)
class LogFigures:
    """What the owner of a log can check against what is known of it."""

    users: int
    records: int
    of_one_record: int  # users with a single record
    largest: int  # records of the user with the most
    first: datetime
    last: datetime
    in_1970: int  # records of the year in which counting times from 0 begins
    phrases: float  # share of the users' names that are several words
    numbers: float  # share of the queries that are plain numbers

    @property
    def doubt(self) -> str:
        """Explain why this is hardly a log of what people searched; empty when nothing speaks against it."""
        if self.records < _FEWEST_TO_JUDGE:
            return ""
        if self.phrases > 0.5:
            return f"{self.phrases:.0%} of its users' names are several words, as queries are"
        if self.users >= _FEWEST_TO_JUDGE and self.of_one_record >= 0.95 * self.users:
            return (
                f"{self.of_one_record:,} of its {self.users:,} users have a single record, as if the column"
                " of users held numbers of lines"
            )
        if self.in_1970 * 2 > self.records:
            return (
                f"{self.in_1970:,} of its {self.records:,} records are from 1970, as small numbers are that"
                " are read as times"
            )
        if self.numbers > 0.9:
            return f"{self.numbers:.0%} of its queries are plain numbers, as counts are"
        return ""

    def refuse_unlikely(self) -> None:
        """Raise when the columns seem to have been mixed up."""
        if self.doubt:
            raise LogError(
                f"this is hardly a log of what people searched: {self.doubt}.",
                "See what `tacit import --look` says of its columns, and name the right ones with `columns`;"
                " if the log is like that, say `accept_unusual`.",
            )


_FEWEST_TO_JUDGE = 20
"""Records, and users, that it takes to doubt a log."""


def figures_of(log: Path | pa.RecordBatch) -> LogFigures:
    """Count users, records and the period of a log, or of some of its records."""
    import duckdb

    from tacit.files import literal_path

    with duckdb.connect() as engine:
        engine.execute("set preserve_insertion_order = false")
        if isinstance(log, Path):
            engine.execute(f"create view log as from read_parquet('{literal_path(log)}')")
        else:
            engine.register("log", pa.table(log))
        users = engine.execute(
            "select count(*), sum(n), count(*) filter (n = 1), max(n), avg((u like '% %')::int)"
            " from (select user as u, count(*) as n from log group by all)"
        ).fetchone()
        records = engine.execute(
            "select min(time), max(time), count(*) filter (year(time) = 1970),"
            " avg(regexp_full_match(query, '[0-9.,]+')::int) from log"
        ).fetchone()
    assert users is not None and records is not None
    people, total, single, largest, phrases = users
    first, last, in_1970, numbers = records
    return LogFigures(people, int(total), single, largest, first, last, in_1970, phrases, numbers)


@dataclass
class ImportReport:
    """What an import did."""

    output: Path
    files: list[FileReport] = field(default_factory=list)
    figures: LogFigures | None = None  # what the log amounts to, once it is written
    not_logs: list[Path] = field(default_factory=list)  # files found in folders that are in no known format
    seconds: float = 0.0

    @property
    def records(self) -> int:
        return sum(file.records for file in self.files)

    @property
    def lines(self) -> int:
        return sum(file.lines for file in self.files)

    @property
    def bad_lines(self) -> int:
        return sum(file.bad.total for file in self.files)

    def counts(self) -> dict[Reason, int]:
        """Count bad lines by reason, over all files."""
        found = sum((file.bad.counts for file in self.files), Counter[Reason]())
        return {reason: found[reason] for reason in Reason if found[reason]}


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


def _explained(source: Source, reader: Reader, reading: Reading) -> Explain:
    """Explain which column brought the bad lines of a reason, in the vocabulary of the file."""

    def explain(reason: Reason) -> str:
        opening = source.opening
        placed = reader.placed(opening)
        return looked_at(opening, reading).about(reason, placed) if placed else ""

    return explain


def _judge(
    report: FileReport, block: Block, parsed: Parsed, options: ImportOptions, explain: Explain
) -> None:
    """Count the block's lines; raise if its bad lines, or all so far, are more than the options allow."""
    if options.strict:
        report.bad.refuse_any(str(report.path), parsed.bad)
    for reason, lines in parsed.bad:
        report.bad.add(reason, lines)
    report.passed_over += Counter(parsed.passed_over)
    report.remarks += Counter(parsed.remarks)
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
    """Explain that no line was a record, and why."""
    why = hint = ""
    for file, read in zip(report.files, sources, strict=False):
        if file.bad.total:  # the first will do
            seen, hint = _explained(*read, options)(file.bad.usual), file.bad.hint
            why = f": in {file.path}, bad lines: {file.bad.by_reason()}.{seen}"
            break
    lines = f"{report.lines:,} line{'' if report.lines == 1 else 's'}"
    return LogError(
        f"there is no record in the {lines} read{why or '.'}", f"{hint}Check `format` and `columns`."
    )


def import_log(
    paths: Sequence[str | Path],
    output: str | Path,
    options: ImportOptions | None = None,
    watch: Watch = lambda _bytes, _records: None,
    *,
    force: bool = False,
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
            reading), no file holds a record, or the log looks as if its columns had been mixed up.
            Nothing is written then.
    """
    options = options or ImportOptions()
    given, report = [Path(path) for path in paths], ImportReport(Path(output))
    inputs = [source.path for source in find_sources(given, encoding=options.encoding)]
    if begins_as_parquet(report.output):  # an earlier import into the same folder, unless it is named
        inputs = given
    check_output(report.output, force=force, inputs=inputs, ledger_stays=True)
    begun = time.monotonic()
    sources = []
    for source in find_sources(given, encoding=options.encoding, besides=report.output):
        reader = reader_for(source, options.format_name, options)
        if reader is None:
            report.not_logs.append(source.path)
        else:
            sources.append((source, reader))
    if not sources:
        problem = "none of the files in the folders given is in a known format."
        raise LogError(problem, "Name one with `format`.")
    if report.output.is_dir():
        raise InputError(f"the output {report.output} is a folder.", "Name a file in it.")
    with atomic_file(report.output, mode=0o600) as temporary:
        with LogWriter(temporary) as writer:
            _take_in(sources, report, writer, options, watch)
        if not report.records:
            raise _no_record(report, sources, options)
        report.figures = figures_of(temporary)
        if not options.accept_unusual:
            report.figures.refuse_unlikely()
    report.seconds = time.monotonic() - begun
    return report


@dataclass(frozen=True)
class ColumnSeen:
    """One column of a file."""

    name: str  # its position from 1, or its name where the format has names of its own
    holds: str
    taken_for: str | None  # the column of the log that it becomes; None when it is left out


@dataclass(frozen=True)
class FileSeen:
    """One file, looked at."""

    path: Path
    format_name: str | None  # what an import would read it as; None when it would refuse it
    delimiter: str | None
    time_format: str
    columns: tuple[ColumnSeen, ...]
    refusal: str = ""  # why an import would refuse it, and what would probably help


def look_at(
    path: Path, format_name: str | None = None, reading: Reading | None = None, encoding: str = "utf-8"
) -> FileSeen:
    """Look at one file (or the standard input), as an import would at its beginning."""
    if path.is_dir():
        raise LogError(f"{path} is a folder.", "Look at its files one by one.")
    (source,) = find_sources([path], encoding=encoding)
    opening = source.opening
    reading = (reading or Reading()).told_from(opening)
    try:
        reader = reader_for(source, format_name, reading)
        assert reader is not None  # a file that was named is recognised or refused
        blocks = list(itertools.islice(reader.blocks(source), 2))
        if isinstance(reader, TableReader | ObjectsReader):
            columns = tuple(ColumnSeen(*said) for said in reader.seen(source))
        else:
            placed = reader.placed(opening)
            text = blocks[0].content.text if isinstance(reader, DelimitedReader) and blocks else opening.head
            columns = _by_place(replace(opening, head=text), reading, placed) if placed else ()
        parsed = [reader.parse(block) for block in blocks]
        explain, report = _explained(source, reader, reading), FileReport(path, reader.name)
        for block, found in zip(blocks, parsed, strict=True):
            _judge(report, block, found, ImportOptions(), explain)
        if len(parsed) < 2 and not report.records:  # all there is: an import judges the same
            raise _no_record(ImportReport(path, [report]), [(source, reader)], ImportOptions())
        if len(parsed) == 1:
            figures_of(parsed[0].records).refuse_unlikely()
    except LogError as error:
        objects = opening.head.lstrip()[:1] in (b"{", b"[")
        columns = () if objects or b"\0" in opening.head else _by_place(opening, reading, {})
        return FileSeen(path, None, None, reading.time_format, columns, str(error))
    delimiter = looked_at(opening, reading).delimiter if reader.placed(opening) else None
    in_words = DELIMITERS_IN_WORDS.get(delimiter or "", delimiter)
    return FileSeen(path, reader.name, in_words, reading.time_format, columns)


def _by_place(opening: Opening, reading: Reading, placed: dict[str, int]) -> tuple[ColumnSeen, ...]:
    taken = {place: column for column, place in placed.items()}
    kinds = looked_at(opening, reading).columns
    return tuple(ColumnSeen(str(place + 1), str(kind), taken.get(place)) for place, kind in enumerate(kinds))
