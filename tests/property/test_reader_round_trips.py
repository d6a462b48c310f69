"""Exporting and importing gives the same log; whole-array parsing agrees with the plain way."""

from __future__ import annotations

import csv
import io
import itertools
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tacit.searchlog import SCHEMA
from tacit.searchlog.export import export_log
from tacit.searchlog.importing import ImportOptions, import_log
from tacit.searchlog.readers.delimited import DelimitedReader
from tacit.searchlog.readers.protocol import ColumnMapping, Reading
from tacit.searchlog.readers.records import normalise_queries, split_fields
from tacit.searchlog.readers.source import Source
from tacit.searchlog.readers.times import AS_WRITTEN, compact_instants, iso_instants, spread
from tacit.searchlog.schema import LogWriter
from tacit.text import normalise, normalise_column

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_QUERIES = _TEXT.map(normalise).filter(bool)
_FOR_NOTHING = {"NULL", "null", "\\N", "None", "NaN", "nan"}  # words that a text writes where nothing is
_NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=8).filter(
    lambda name: name not in _FOR_NOTHING
)
_TIMES = st.datetimes(datetime(1970, 1, 2), datetime(2060, 1, 1))
_CLICKS = st.none() | st.tuples(st.integers(1, 2**31 - 1), _NAMES)


@st.composite
def logs(draw: st.DrawFn, whole_seconds: bool, queries: st.SearchStrategy[str] = _QUERIES) -> pa.Table:
    """A small log: any users, normalised queries, any times."""
    rows = draw(st.lists(st.tuples(_NAMES, queries, _TIMES, _CLICKS), min_size=1, max_size=15))
    return pa.table(
        {
            "user": [user for user, *_ in rows],
            "query": [query for _, query, *_ in rows],
            "time": [t.replace(microsecond=0) if whole_seconds else t for *_, t, _ in rows],
            "rank": [click[0] if click else None for *_, click in rows],
            "url": [click[1] if click else None for *_, click in rows],
        },
        schema=SCHEMA,
    )


def _round_trip(log: pa.Table, name: str, format_name: str, **options: object) -> pa.Table:
    with TemporaryDirectory() as folder:
        original, text, again = (Path(folder) / part for part in ("log.parquet", name, "again.parquet"))
        pq.write_table(log, original)
        export_log(original, text, format_name)
        report = import_log([text], again, ImportOptions(strict=True, **options))  # type: ignore[arg-type]
        assert report.records == log.num_rows
        return pq.read_table(again)


@given(log=logs(whole_seconds=True))
@settings(max_examples=60, deadline=None)
def test_aol_gives_back_what_was_exported(log: pa.Table) -> None:
    assert _round_trip(log, "log.txt", "aol").equals(log)


@given(log=logs(whole_seconds=False))
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize(("name", "format_name"), [("log.tsv.gz", "tsv"), ("log.jsonl", "jsonl")])
def test_the_formats_of_our_own_give_back_what_was_exported(
    log: pa.Table, name: str, format_name: str
) -> None:
    assert _round_trip(log, name, format_name).equals(log)


@given(log=logs(whole_seconds=False, queries=_TEXT.filter(normalise)))
@settings(max_examples=60, deadline=None)
def test_json_lines_keep_even_queries_as_written(log: pa.Table) -> None:
    assert _round_trip(log, "log.jsonl", "jsonl", normalise=False).equals(log)


@given(log=logs(whole_seconds=False))
@settings(max_examples=30, deadline=None)
def test_a_log_imported_from_parquet_is_the_same_log(log: pa.Table) -> None:
    with TemporaryDirectory() as folder:
        pq.write_table(log, Path(folder) / "log.parquet")
        again = import_log([Path(folder) / "log.parquet"], Path(folder) / "again.parquet").output
        assert pq.read_table(again).equals(log)


def test_separators_in_unnormalised_queries_become_spaces_and_are_counted(tmp_path: Path) -> None:
    rows = {
        "user": ["u", "v"],
        "query": ["a\tb\nc\rd", "plain"],
        "time": [datetime(2006, 3, 1, 0, 0, 0, 5)] * 2,
    }
    log = pa.table({**rows, "rank": [None] * 2, "url": [None] * 2}, schema=SCHEMA)
    pq.write_table(log, tmp_path / "log.parquet")
    report = export_log(tmp_path / "log.parquet", tmp_path / "log.txt", "aol")
    assert (report.records, report.values_with_separators) == (2, 1)
    lines = (tmp_path / "log.txt").read_text().splitlines()
    assert lines[1:] == ["u\ta b c d\t2006-03-01 00:00:00\t\t", "v\tplain\t2006-03-01 00:00:00\t\t"]


@given(
    lines=st.lists(
        st.text(st.sampled_from('ab\t"\ré,'), max_size=10).filter(lambda line: not line.endswith("\r")),
        min_size=1,
    ),
    ends=st.lists(st.sampled_from(["\n", "\r\n"]), min_size=1),
)
def test_fields_are_those_of_plain_splitting(lines: list[str], ends: list[str]) -> None:
    text = "".join(line + ends[n % len(ends)] for n, line in enumerate(lines))
    fields = split_fields(text.encode(), b"\t")
    expected = [[part.encode() for part in line.split("\t")] for line in lines]
    assert fields.width.tolist() == [len(parts) for parts in expected]
    assert fields.values.to_pylist() == [part for parts in expected for part in parts]
    assert fields.empty.tolist() == [not any(part.strip() for part in parts) for parts in expected]
    assert fields.is_ascii == text.isascii()
    everyone = np.arange(len(lines))
    for position in range(3):
        found = fields.column(position, everyone).to_pylist()
        assert found == [parts[position] if position < len(parts) else None for parts in expected]


_ODDITIES = st.text(st.sampled_from("aZ \t\u00a0\u3000É\u0130\x00\x7fß-"), max_size=6)


@given(
    st.lists(_ODDITIES | st.text("aB ", max_size=6) | st.text(max_size=6) | st.none(), max_size=20),
    st.integers(0, 3),
)
def test_the_fast_normalising_is_the_normalising(queries: list[str | None], skipped: int) -> None:
    column = pa.array(queries, pa.string())[skipped:]
    assert normalise_queries(column).to_pylist() == normalise_column(column).to_pylist()


_DIGITS = st.integers(0, 99).map("{:02}".format)
_SIXTY = st.sampled_from(["00", "01", "59", "60", "6x"])
_NEARLY_TIMES = st.builds(
    "{}{}-{}-{}{}{}:{}:{}".format,
    _DIGITS, st.sampled_from(["00", "04", "96"]), st.sampled_from(["00", "01", "02", "12", "13"]),
    st.sampled_from(["00", "01", "28", "29", "30", "31", "32"]), st.sampled_from([" ", "T", "x"]),
    st.sampled_from(["00", "23", "24"]), _SIXTY, _SIXTY,
)  # fmt: skip


@given(st.lists(_NEARLY_TIMES | st.text("0123456789-: ", max_size=20), max_size=20))
def test_times_are_read_as_the_calendar_has_them(texts: list[str]) -> None:
    column = pa.array([text.encode() for text in texts], pa.binary())
    values, good = spread(column, "YYYY-MM-DD hh:mm:ss", AS_WRITTEN)
    for text, value, readable in zip(texts, values.tolist(), good.tolist(), strict=True):
        try:
            assert len(text) == 19
            expected = datetime.strptime(text.replace("T", " "), "%Y-%m-%d %H:%M:%S")
            assert text[:4].isdigit() and "".join(text.split()) and text[10] in " T" and text[8:10].isdigit()
        except (ValueError, AssertionError):
            assert not readable
        else:
            assert readable
            assert value == (expected - datetime(1970, 1, 1)).total_seconds() * 1_000_000


@given(
    st.lists(
        st.tuples(
            st.datetimes(timezones=st.sampled_from([None, UTC, timezone(timedelta(hours=-7))])),
            st.sampled_from(["auto", "seconds", "milliseconds", "microseconds"]),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_iso_times_are_read_as_python_reads_them(times: list[tuple[datetime, str, bool]]) -> None:
    texts = []
    for time, precision, zulu in times:
        text = time.isoformat(" ", precision)
        texts.append(text.replace("+00:00", "Z") if zulu else text)
    values, good = iso_instants(pa.array([text.encode() for text in texts], pa.binary()))
    for text, value, readable in zip(texts, values.tolist(), good.tolist(), strict=True):
        found = datetime.fromisoformat(text)
        try:
            expected = found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:  # the zone moves it out of the years 1 to 9999
            assert not readable
        else:
            assert readable
            assert timedelta(microseconds=value) == expected - datetime(1970, 1, 1)


@example(datetime(1969, 1, 1))
@example(datetime(2068, 12, 31, 23, 59, 59))
@given(
    st.datetimes(datetime(1969, 1, 1), datetime(2068, 12, 31, 23, 59, 59)).map(
        lambda t: t.replace(microsecond=0)
    )
)
def test_two_digit_years_lie_between_1969_and_2068(time: datetime) -> None:
    values, good = compact_instants(pa.array([time.strftime("%y%m%d%H%M%S").encode()], pa.binary()))
    assert good.all()
    assert np.datetime64(int(values[0]), "us").astype(datetime) == time


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 7))
def test_batches_of_a_fixed_size_hold_the_records_in_order(sizes: list[int], size: int) -> None:
    total = sum(sizes)
    log = pa.table(
        {
            "user": [str(n) for n in range(total)],
            "query": ["q"] * total,
            "time": np.arange(total).astype("datetime64[us]"),
            "rank": pa.nulls(total, pa.int32()),
            "url": pa.nulls(total, pa.string()),
        },
        schema=SCHEMA,
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        with LogWriter(path, batch_records=size) as writer:
            start = 0
            for length in sizes:
                for batch in log.slice(start, length).to_batches():
                    writer.write(batch)
                start += length
        assert pq.read_table(path).equals(log)
        metadata = pq.read_metadata(path)
        groups = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
        assert all(rows == size for rows in groups[:-1])


_BY_HAND = st.lists(
    st.sampled_from(["a", "", '"', 'a"', '"a', '"a"', '""', 'a"a', '"a,a"', '"a""a"', '"a" ', ' "a"']),
    min_size=2,
    max_size=4,
).map(",".join)
_CSV_FIELDS = st.text(st.sampled_from('ab",\ré '), max_size=5)


def _as_python_reads(line: str) -> list[str] | None:
    try:
        return next(csv.reader([line], strict=True))
    except (csv.Error, StopIteration):
        return None


@given(
    rows=st.lists(st.lists(_CSV_FIELDS, min_size=3, max_size=3), min_size=1, max_size=12),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    broken=st.lists(_BY_HAND, max_size=6),
    end=st.sampled_from(["\n", "\r\n"]),
)
@settings(deadline=None)
def test_csv_lines_are_read_as_python_reads_them(
    rows: list[list[str]], quoting: int, broken: list[str], end: str
) -> None:
    """Good lines by Python's own writer, with hand-broken ones among them."""
    lines = []
    for row in rows:
        buffer = io.StringIO()
        csv.writer(buffer, quoting=quoting, lineterminator="").writerow(row)
        lines.append(buffer.getvalue())
    lines = [lines[0]] + [line for pair in itertools.zip_longest(lines[1:], broken) for line in pair if line]
    # Line ends are not part of a field in this format, nor is a return before one.
    lines = [line.replace("\r", "") for line in lines]
    expected: list[tuple[int, list[str]]] = []
    continued = 0
    waiting = list(enumerate(lines, start=1))
    while waiting:
        number, line = waiting.pop(0)
        row = _as_python_reads(line)
        if row is None:  # a quote is open: the record may go on up to the next line that closes one
            for after, (_, later) in enumerate(waiting, start=1):
                if later.count('"') % 2:
                    row = _as_python_reads(" ".join([line, *(text for _, text in waiting[:after])]))
                    if row is not None and len(row) >= 3 and not any(row[3:]):
                        continued += after
                        del waiting[:after]
                    else:
                        row = None
                    break
        if row is not None:
            assume(any(cell.strip() for cell in row))
            if len(row) >= 3 and not any(row[3:]):  # more columns that hold nothing do no harm
                expected.append((number, row[:3]))
    reader = DelimitedReader("csv", Reading(ColumnMapping.parse("user=1,query=2,time=3"), delimiter=","))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        path.write_text("".join(line + end for line in lines), newline="")
        blocks = list(reader.blocks(Source(path)))
    read: list[tuple[int, list[str]]] = []
    without = 0
    for block in blocks:
        written, misfits, blank = reader.written(block)
        columns = [column.to_pylist() for column in written.columns[:3]]
        found = [[value.decode() for value in row] for row in zip(*columns, strict=True)]
        read += zip(written.lines.tolist(), found, strict=True)
        without += sum(len(numbers) for _, numbers in misfits) + blank
    assert read == expected
    assert len(expected) + without + continued == len(lines)
