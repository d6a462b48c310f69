"""The variants in which logs of AOL's kind circulate, each as a small file written by hand, with exact
counts.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.errors import LogError
from tacit.searchlog.importing import ImportOptions, ImportReport, import_log, look_at
from tacit.searchlog.readers import Reading

Rows = list[tuple[Any, ...]]
_NOON = datetime(2006, 3, 13, 12)


def _zstandard(text: bytes) -> bytes:
    return bytes(pa.compress(text, codec="zstd", asbytes=True))


def _imported(
    tmp_path: Path, text: str | bytes, name: str = "log.txt", **options: Any
) -> tuple[ImportReport, Rows]:
    source = tmp_path / name
    source.write_bytes(text.encode() if isinstance(text, str) else text)
    report = import_log([source], tmp_path / "log.parquet", ImportOptions(**options), force=True)
    return report, [tuple(row.values()) for row in pq.read_table(report.output).to_pylist()]


_CLICKED = ("7", "java coffee", _NOON)
_PLAIN = ("7", "java island", datetime(2006, 3, 13, 12, 0, 5))

_VARIANTS: dict[str, tuple[str, str, int, int, Rows]] = {
    "a url and no rank": (
        "AnonID\tQuery\tQueryTime\tClickURL\n"
        "7\tjava coffee\t2006-03-13 12:00:00\thttp://a.example\n"
        "7\tjava island\t2006-03-13 12:00:05\t\n",
        "aol", 3, 1, [(*_CLICKED, None, "http://a.example"), (*_PLAIN, None, None)],
    ),
    "a url and no rank, without a header": (
        "7\tjava coffee\t2006-03-13 12:00:00\twww.a.example\n7\tjava island\t2006-03-13 12:00:05\n",
        "aol", 2, 1, [(*_CLICKED, None, "www.a.example"), (*_PLAIN, None, None)],
    ),
    "a rank and no url": (
        "AnonID\tQuery\tQueryTime\tItemRank\n"
        "7\tjava coffee\t2006-03-13 12:00:00\t3\n"
        "7\tjava island\t2006-03-13 12:00:05\t\n",
        "aol", 3, 1, [(*_CLICKED, 3, None), (*_PLAIN, None, None)],
    ),
    "ranks as decimals": (
        "7\tjava coffee\t2006-03-13 12:00:00\t1.0\thttp://a.example\n"
        "7\tjava coffee\t2006-03-13 12:00:00\t10.\thttp://b.example\n"
        "7\tjava island\t2006-03-13 12:00:05\t\t\n"
        "7\tjava half\t2006-03-13 12:00:05\t1.5\thttp://a.example\n",
        "aol", 4, 2,
        [(*_CLICKED, 1, "http://a.example"), (*_CLICKED, 10, "http://b.example"), (*_PLAIN, None, None)],
    ),
    "semicolons, with a header": (
        "AnonID;Query;QueryTime;ItemRank;ClickURL\n"
        "7;java coffee;2006-03-13 12:00:00;1;http://a.example\n"
        '7;"java; island";2006-03-13 12:00:05;;\n',
        "csv", 3, 1,
        [(*_CLICKED, 1, "http://a.example"), ("7", "java; island", _PLAIN[2], None, None)],
    ),
    "semicolons, without a header": (
        "7;java coffee;2006-03-13 12:00:00;1.0;http://a.example\n7;java island;2006-03-13 12:00:05;;\n",
        "csv", 2, 1, [(*_CLICKED, 1, "http://a.example"), (*_PLAIN, None, None)],
    ),
    "semicolons, a url and no rank": (
        "7;java coffee;2006-03-13 12:00:00;http://a.example\n7;java island;2006-03-13 12:00:05;\n",
        "csv", 2, 1, [(*_CLICKED, None, "http://a.example"), (*_PLAIN, None, None)],
    ),
    "bars": (
        "7|java coffee|2006-03-13 12:00:00|1|http://a.example\n7|java island|2006-03-13 12:00:05||\n",
        "csv", 2, 1, [(*_CLICKED, 1, "http://a.example"), (*_PLAIN, None, None)],
    ),
    "more columns than needed": (
        "7\tjava coffee\t2006-03-13 12:00:00\t1\thttp://a.example\tus\tfirefox\n"
        "7\tjava island\t2006-03-13 12:00:05\t\t\tde\n",
        "aol", 2, 1, [(*_CLICKED, 1, "http://a.example"), (*_PLAIN, None, None)],
    ),
    "more columns than the header names": (
        "user\tquery\ttime\n7\tjava coffee\t2006-03-13 12:00:00\tus\n7\tjava island\t2006-03-13 12:00:05\n",
        "tsv", 3, 0, [(*_CLICKED, None, None), (*_PLAIN, None, None)],
    ),
    "blank lines between users": (
        "7\tjava coffee\t2006-03-13 12:00:00\t1\thttp://a.example\n\n   \n\t\t\t\t\n"
        "7\tjava island\t2006-03-13 12:00:05\t\t\n\r\n",
        "aol", 6, 1, [(*_CLICKED, 1, "http://a.example"), (*_PLAIN, None, None)],
    ),
    "blank lines between semicolons": (
        "AnonID;Query;QueryTime;ItemRank;ClickURL\n\n"
        "7;java coffee;2006-03-13 12:00:00;1;http://a.example\n;;;;\n"
        "7;java island;2006-03-13 12:00:05;;\n",
        "csv", 5, 1, [(*_CLICKED, 1, "http://a.example"), (*_PLAIN, None, None)],
    ),
    "url before rank, named by the header": (
        "AnonID\tQuery\tQueryTime\tClickURL\tItemRank\n"
        "7\tjava coffee\t2006-03-13 12:00:00\thttp://a.example\t1\n"
        "7\tjava island\t2006-03-13 12:00:05\t\t\n",
        "tsv", 3, 1, [(*_CLICKED, 1, "http://a.example"), (*_PLAIN, None, None)],
    ),
    "url before rank, without a header": (
        "7\tjava coffee\t2006-03-13 12:00:00\thttp://a.example\t1\n7\tjava island\t2006-03-13 12:00:05\t\t\n",
        "aol", 2, 1, [(*_CLICKED, 1, "http://a.example"), (*_PLAIN, None, None)],
    ),
    "the day first": (
        "7\tjava coffee\t13/03/2006 12:00:00\t1\thttp://a.example\n7\tjava island\t13/3/2006 12:00:05\t\t\n",
        "aol", 2, 1, [(*_CLICKED, 1, "http://a.example"), (*_PLAIN, None, None)],
    ),
    "the day first, with dots and no seconds": (
        "AnonID;Query;QueryTime\n7;java coffee;13.03.2006 12:00\n", "csv", 2, 0, [(*_CLICKED, None, None)],
    ),
    "the month first, on a clock of twelve hours": (
        "7\tjava coffee\t3/13/2006 12:00:00 PM\t1\thttp://a.example\n"
        "7\tjava island\t3/13/2006 12:00:05 pm\t\t\n",
        "aol", 2, 1, [(*_CLICKED, 1, "http://a.example"), (*_PLAIN, None, None)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("variant", _VARIANTS)
def test_a_variant_comes_through_with_its_clicks(tmp_path: Path, variant: str) -> None:
    text, format_name, lines, clicks, expected = _VARIANTS[variant]
    report, rows = _imported(tmp_path, text)
    assert rows == expected
    assert (report.files[0].format_name, report.lines) == (format_name, lines)
    assert sum(rank is not None or url is not None for *_, rank, url in rows) == clicks
    assert report.bad_lines == (1 if variant == "ranks as decimals" else 0)


@pytest.mark.parametrize("variant", _VARIANTS)
def test_a_look_agrees_with_the_import_and_shows_no_value(tmp_path: Path, variant: str) -> None:
    text, format_name, *_ = _VARIANTS[variant]
    (tmp_path / "log.txt").write_text(text)
    seen = look_at(tmp_path / "log.txt")
    assert (seen.format_name, seen.refusal) == (format_name, "")
    taken = [column.taken_for for column in seen.columns]
    assert taken[:3] == ["user", "query", "time"]
    assert "java" not in str(seen) and "a.example" not in str(seen)


@pytest.mark.parametrize(
    ("name", "compress"),
    [
        ("log.txt.gz", gzip.compress),
        ("log.txt.bz2", bz2.compress),
        ("log.txt.xz", lzma.compress),
        ("log.txt.zst", _zstandard),
        ("misnamed.txt", _zstandard),
    ],
)
def test_every_compression_is_told_by_content_and_damage_is_named(
    tmp_path: Path, name: str, compress: Any
) -> None:
    lines = b"".join(b"%d\tquery %d\t2006-03-01 00:00:00\t\t\n" % (n % 999, n * 7919) for n in range(20_000))
    report, rows = _imported(tmp_path, compress(lines), name)
    assert (report.lines, len(rows), rows[-1][1]) == (20_000, 20_000, "query 158372081")
    twice, _ = _imported(tmp_path, compress(lines) * 2, name)
    assert twice.records == 40_000
    with pytest.raises(LogError, match="damaged or cut short"):
        _imported(tmp_path, compress(lines)[:-50], name)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress])
def test_the_standard_input_is_read_as_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compress: Any
) -> None:
    lines = b"".join(b"%d\tquery %d\t2006-03-01 00:00:00\t\t\n" % (n % 999, n * 7919) for n in range(60_000))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(compress(lines))))
    report = import_log([Path("-")], tmp_path / "log.parquet", force=True)
    assert (report.lines, report.records) == (60_000, 60_000)
    assert pq.read_table(report.output)["query"][-1].as_py() == "query 475132081"


def test_a_stated_zone_moves_times_that_state_none(tmp_path: Path) -> None:
    text = (
        "user,query,time\na,winter,2006-01-01 12:00:00\na,summer,2006-07-01 12:00:00\n"
        "a,stated,2006-07-01T12:00:00Z\na,number,1151755200\na,other,2006-07-01T12:00:00+05:00\n"
        "a,twice,2006-10-29 02:30:00\na,never,2006-03-26 02:30:00\n"
    )
    _, rows = _imported(tmp_path, text, "log.csv", time_zone="Europe/Berlin")
    assert [row[2] for row in rows] == [
        datetime(2006, 1, 1, 11), datetime(2006, 7, 1, 10),
        datetime(2006, 7, 1, 12), datetime(2006, 7, 1, 12), datetime(2006, 7, 1, 7), datetime(2006, 10, 29,
        0, 30), datetime(2006, 3, 26, 1),
    ]  # fmt: skip
    _, rows = _imported(tmp_path, "7\tx\t2006-07-01 12:00:00\t\t\n", time_zone="America/New_York")
    assert rows[0][2] == datetime(2006, 7, 1, 16)
    _, rows = _imported(tmp_path, "7\t970701120000\tx\n", time_zone="America/New_York")
    assert rows[0][2] == datetime(1997, 7, 1, 16)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (
            "7\tcanary\t03/04/2006 12:00:00\t\t\n", {},
            ["third column", "in which day and month are ambiguous", "time_format=day-first"],
        ),
        (
            "".join(f"2006-03-13 12:00:00\t{900 + n % 9}\tcanary words {n % 7}\n" for n in range(60)), {},
            ["first column", "user=2,query=3,time=1"],
        ),
        ("2006-03-13 12:00:00\t7\tcanary words\n", {}, ["first column", "columns=user=…"]),
        ("canary words\n", {}, ["a single column", "with `delimiter`"]),
        ("canary:words:2006\n", {"delimiter": ":"}, ["no column holds times"]),
        (
            "user,query,time,url,rank\n" + "7,canary,2006-03-13 12:00:00,1,http://canary.example\n" * 200, {},
            ["fifth column, read as the rank, holds web addresses"],
        ),
        (
            "7\tcanary\t2006-03-13 12:00:00\t1.5\thttp://canary.example\n" * 200, {"format_name": "aol"},
            ["fourth column, read as the rank, holds decimals such as 1.5"],
        ),
        (
            "user,query,time\n" + "7,canary,soon\n" * 3, {},
            ["third column, read as the time, holds text"],
        ),
    ],
)  # fmt: skip
def test_a_refusal_speaks_of_the_columns_of_the_file_and_shows_none_of_its_content(
    tmp_path: Path, text: str, options: dict[str, Any], said: list[str]
) -> None:
    with pytest.raises(LogError) as caught:
        _imported(tmp_path, text, **options)
    for words in said:
        assert words in str(caught.value)
    assert "canary" not in str(caught.value)
    assert not (tmp_path / "log.parquet").exists()


def test_the_order_of_day_and_month_can_be_said(tmp_path: Path) -> None:
    text = "7\tx\t03/04/2006 12:00:00\t\t\n"
    _, rows = _imported(tmp_path, text, time_format="day-first")
    assert rows[0][2] == datetime(2006, 4, 3, 12)
    _, rows = _imported(tmp_path, text, time_format="month-first")
    assert rows[0][2] == datetime(2006, 3, 4, 12)


def test_any_delimiter_can_be_said(tmp_path: Path) -> None:
    text = "7~java coffee~2006-03-13 12:00:00~1~http://a.example\n"
    for options in ({}, {"format_name": "aol"}, {"format_name": "csv"}):
        _, rows = _imported(tmp_path, text, delimiter="~", **options)
        assert rows == [(*_CLICKED, 1, "http://a.example")]
    named = "uid~q~ts\n7~java coffee~2006-03-13 12:00:00\n"
    (tmp_path / "named.txt").write_text(named)
    from tacit.searchlog.readers import ColumnMapping

    mapping = ColumnMapping.parse("user=uid,query=q,time=ts")
    _, rows = _imported(tmp_path, named, delimiter="~", mapping=mapping)
    assert rows == [(*_CLICKED, None, None)]
    seen = look_at(tmp_path / "named.txt", None, Reading(mapping, delimiter="~"))
    assert [column.taken_for for column in seen.columns] == ["user", "query", "time"]
