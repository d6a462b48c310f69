"""CSV, TSV, JSON Lines and Parquet under a column mapping, and telling formats apart."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit import InputError, ParameterError
from tacit.errors import LogError
from tacit.searchlog.export import export_log
from tacit.searchlog.importing import ImportOptions, ImportReport, import_log
from tacit.searchlog.readers import FORMATS, ColumnMapping, Source, reader_for, readers
from tacit.searchlog.readers.protocol import Reason

_MAPPED = ColumnMapping.parse("user=uid,query=q,time=ts,rank=pos,url=link")


def _import(
    tmp_path: Path, name: str, content: bytes, **options: Any
) -> tuple[ImportReport, list[tuple[Any, ...]]]:
    (tmp_path / name).write_bytes(content)
    report = import_log([tmp_path / name], tmp_path / "log.parquet", ImportOptions(**options), force=True)
    return report, [tuple(row.values()) for row in pq.read_table(report.output).to_pylist()]


def test_csv_with_quotes_in_every_place(tmp_path: Path) -> None:
    content = (
        b"link,uid,q,ts,pos\r\n"
        b',1,"salt, pepper",2006-03-01 07:00:00,\r\n'
        b'http://a.example,1,"say ""hi""",2006-03-01T07:00:01Z,3\n'
        b",1,plain,2006-03-01 07:00:02.5,\n"
        b',1,5" nails,2006-03-01 07:00:03,\n'
        b"\n"
        b"link,uid,q,ts,pos\n"
        b',1,"canary open,2006-03-01 07:00:04,\n'
        b',1,"canary",extra,2006-03-01 07:00:05,\n'
        b",1,canary,2006-03-01 07:00:05\n"
    )
    report, rows = _import(tmp_path, "log.csv", content, mapping=_MAPPED)
    assert [row[1] for row in rows] == ["salt, pepper", 'say "hi"', "plain", '5" nails']
    assert rows[1] == ("1", 'say "hi"', datetime(2006, 3, 1, 7, 0, 1), 3, "http://a.example")
    assert rows[2][2] == datetime(2006, 3, 1, 7, 0, 2, 500_000)
    (file,) = report.files
    assert file.format_name == "csv"
    assert file.passed_over == {"headers": 2, "blank": 1}
    assert file.bad.first == {Reason.SYNTAX: [8], Reason.COLUMNS: [10], Reason.TIME: [9]}


def test_tsv_without_a_header_goes_by_position(tmp_path: Path) -> None:
    content = b'2006-03-01 00:00:00\tx\t"one" query\n2006-03-01 00:00:01\ty\ttwo\n'
    mapping = ColumnMapping.parse("time=1,user=2,query=3")
    report, rows = _import(tmp_path, "log.tsv", content, mapping=mapping)
    assert [row[:2] for row in rows] == [("x", '"one" query'), ("y", "two")]
    assert report.files[0].format_name == "tsv"


@pytest.mark.parametrize(
    ("time_format", "text", "expected"),
    [
        ("auto", "1141197432", datetime(2006, 3, 1, 7, 17, 12)),
        ("auto", "1141197432000", datetime(2006, 3, 1, 7, 17, 12)),
        ("auto", "1141197432.25", datetime(2006, 3, 1, 7, 17, 12, 250_000)),
        ("auto", "2006-03-01T08:17:12+01:00", datetime(2006, 3, 1, 7, 17, 12)),
        ("iso", "2006-03-01", datetime(2006, 3, 1)),
        ("epoch", "99", datetime(1970, 1, 1, 0, 1, 39)),
        ("epoch-ms", "1141197432001", datetime(2006, 3, 1, 7, 17, 12, 1_000)),
        ("epoch-ms", "5", datetime(1970, 1, 1, 0, 0, 0, 5_000)),
        ("iso", "1141197432", None),
        ("epoch", "2006-03-01 07:17:12", None),
        ("auto", "soon", None),
        ("auto", "1e9", None),
    ],
)
def test_times_are_read_as_their_format_says(
    tmp_path: Path, time_format: str, text: str, expected: datetime | None
) -> None:
    content = (
        f"user,query,time\na,good,{'1000000000' if time_format[:2] == 'ep' else '2001-09-09 01:46:40'}\n"
    )
    content += f"b,asked,{text}\n"
    report, rows = _import(tmp_path, "log.csv", content.encode(), time_format=time_format)
    if expected is None:
        assert report.counts() == {Reason.TIME: 1}
    else:
        assert rows[1][2] == expected


def test_json_lines(tmp_path: Path) -> None:
    content = (
        '{"uid": 7, "q": "Crème  brûlée", "ts": 1141197432, "pos": 1, "link": "http://a.example"}\n'
        '{"q": "x", "ts": "2006-03-01T07:17:12.5+00:00", "uid": "u", "more": [1]}\n'
        "\n"
        '{"uid": "canary", "q": "canary", "ts": \n'
        '["canary"]\n'
        '{"uid": true, "q": "canary", "ts": 1}\n'
        '{"uid": "u", "q": ["canary"], "ts": 1}\n'
        '{"uid": "u", "q": "canary", "ts": true}\n'
        '{"uid": "u", "q": "canary", "ts": 1, "pos": 1.5, "link": "x"}\n'
        '{"uid": "u", "q": "canary", "ts": 1, "pos": 1}\n'
        '{"uid": "u", "q": "\\ud800", "ts": 1}\n'
    ).encode()
    content += b'{"uid": "u", "q": "canary \xff", "ts": 1}\n' + b"[" * 100_000 + b"\n"
    report, rows = _import(tmp_path, "log.jsonl", content, mapping=_MAPPED)
    assert rows == [
        ("7", "crème brûlée", datetime(2006, 3, 1, 7, 17, 12), 1, "http://a.example"),
        ("u", "x", datetime(2006, 3, 1, 7, 17, 12, 500_000), None, None),
        ("u", "canary", datetime(1970, 1, 1, 0, 0, 1), 1, None),
    ]
    assert report.files[0].bad.first == {
        Reason.SYNTAX: [4, 5, 13],
        Reason.ENCODING: [11, 12],
        Reason.USER: [6],
        Reason.QUERY: [7],
        Reason.TIME: [8],
        Reason.RANK: [9],
    }
    assert report.files[0].passed_over == {"blank": 1}


@pytest.mark.parametrize(
    "times",
    [
        pa.array([datetime(2006, 3, 1, 7, tzinfo=UTC), None], pa.timestamp("ms", "Europe/Paris")),
        pa.array([1_141_196_400, None], pa.int64()),
        pa.array([1_141_196_400_000.0, float("nan")], pa.float64()),
        pa.array(["2006-03-01 07:00:00", ""], pa.large_string()),
        pa.array(["2006-03-01 07:00:00", None], pa.string()).dictionary_encode(),
    ],
    ids=["zoned", "seconds", "float milliseconds", "text", "dictionary"],
)
def test_parquet_of_many_types(tmp_path: Path, times: pa.Array) -> None:
    table = pa.table(
        {
            "uid": pa.array([12, 13], pa.int32()),
            "other": [1, 2],
            "q": pa.array(["Some Query", "canary"]).dictionary_encode(),
            "ts": times,
            "pos": pa.array([2.0, float("nan")]),
            "link": pa.array(["http://a.example", None], pa.large_string()),
        }
    )
    pq.write_table(table, tmp_path / "raw.parquet")
    report = import_log(
        [tmp_path / "raw.parquet"], tmp_path / "log.parquet", ImportOptions(mapping=_MAPPED), force=True
    )
    assert report.files[0].bad.first == {Reason.TIME: [2]}
    assert [tuple(row.values()) for row in pq.read_table(report.output).to_pylist()] == [
        ("12", "some query", datetime(2006, 3, 1, 7), 2, "http://a.example")
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n", "aol"),
        (b"\xef\xbb\xbfAnonID\tQuery\tQueryTime\tItemRank\tClickURL\r\n", "aol"),
        (b"7\tx\t2006-03-01 00:00:00\t\t\n", "aol"),
        (b"7\tx\t2006-03-01 00:00:00", "aol"),
        (b"7\t970916105432\tx\n", "excite"),
        (b"user\tquery\ttime\trank\turl\n7\tx\t2006-03-01 00:00:00\t\t\n", "tsv"),
        (b'time,"user",query\n', "csv"),
        (b'{"user": 1}\n', "jsonl"),
        (b"PAR1", "parquet"),
    ],
)
def test_a_format_is_told_by_how_a_file_begins(tmp_path: Path, content: bytes, expected: str) -> None:
    for path, stored in ((tmp_path / "plain", content), (tmp_path / "zipped", gzip.compress(content))):
        path.write_bytes(stored)
        reader = reader_for(Source(path), None)
        assert reader is not None and reader.name == expected


def test_what_is_in_no_known_format_is_refused_without_showing_it(tmp_path: Path) -> None:
    for content in (b"canary\n", b"canary,canary\n", b"", b"\x00\xff" * 50, b"\n\n\n"):
        with pytest.raises(LogError, match=r"begins like none|is empty") as caught:
            _import(tmp_path, "file.csv", content)
        assert "canary" not in str(caught.value)
    with pytest.raises(LogError, match="no uid, q, ts, pos, link among the 2 names") as caught:
        _import(tmp_path, "file.csv", b"canary,canary\n", mapping=_MAPPED, format_name="csv")
    assert "canary" not in str(caught.value)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    good = b"7\tx\t2006-03-01 00:00:00\t\t\n" * 100_000
    with pytest.raises(LogError, match="gzip file that is damaged or cut short"):
        _import(tmp_path, "cut.gz", gzip.compress(good)[:-20], format_name="aol")
    with pytest.raises(LogError, match="damaged Parquet file"):
        _import(tmp_path, "cut.parquet", b"PAR1" + b"\x00" * 100)
    with pytest.raises(InputError, match="there is no file or folder"):
        import_log([tmp_path / "absent"], tmp_path / "log.parquet", force=True)
    assert not list(tmp_path.glob("*log.parquet*"))


@pytest.mark.parametrize(
    "text",
    [
        "user",
        "user=a,query=b",
        "who=a,query=b,time=c",
        "user=a,user=b,query=c,time=d",
    ],
)
def test_a_mapping_must_say_what_is_needed(text: str) -> None:
    with pytest.raises(ParameterError):
        ColumnMapping.parse(text)


def test_parameters_out_of_range_are_refused(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_bytes(b"7\tx\t2006-03-01 00:00:00\t\t\n")
    for options in (
        {"format_name": "xml"},
        {"format_name": "aol", "mapping": _MAPPED},
        {"time_format": "roman"},
        {"encoding": "utf-32"},
        {"time_zone": "Middle/Earth"},
        {"delimiter": ";;"},
        {"delimiter": "\n"},
        {"max_bad": 1.5},
    ):
        with pytest.raises(ParameterError):
            import_log([tmp_path / "log.txt"], tmp_path / "log.parquet", ImportOptions(**options), force=True)


def test_too_many_bad_lines_stop_the_import(tmp_path: Path) -> None:
    good, bad = b"7\tx\t2006-03-01 00:00:00\t\t\n", b"7\tcanary\tnever\t\t\n"
    report, rows = _import(tmp_path, "log.txt", good * 95 + bad * 5)
    assert (len(rows), report.bad_lines) == (95, 5)
    (tmp_path / "log.parquet").unlink()
    with pytest.raises(
        LogError, match=r"6 bad lines among the first 101.*6 time \(first in line 96\)"
    ) as caught:
        _import(tmp_path, "log.txt", good * 95 + bad * 6)
    assert "canary" not in str(caught.value)
    assert not (tmp_path / "log.parquet").exists()
    report, _ = _import(tmp_path, "log.txt", good * 95 + bad * 6, max_bad=0.06)
    assert report.bad_lines == 6
    # Too few lines to judge by a share, but no record at all is always refused.
    with pytest.raises(LogError, match="no record in the 3 lines"):
        _import(tmp_path, "log.txt", bad * 3, format_name="aol")


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    source = tmp_path / "logs" / "log.txt"
    source.write_bytes(b"7\tx\t2006-03-01 00:00:00\t\t\n")
    assert import_log([source, tmp_path / "logs", source], tmp_path / "log.parquet", force=True).records == 1


def test_a_folder_is_no_output(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_bytes(b"7\tx\t2006-03-01 00:00:00\t\t\n")
    with pytest.raises(InputError, match="is a folder"):
        import_log([tmp_path / "log.txt"], tmp_path)
    log = import_log([tmp_path / "log.txt"], tmp_path / "log.parquet", force=True).output
    with pytest.raises(InputError, match="is a folder"):
        export_log(log, tmp_path, "aol")
    with pytest.raises(ParameterError):
        export_log(log, tmp_path / "log.xml", "xml")


def test_parquet_columns_of_no_use_are_refused_without_showing_a_value(tmp_path: Path) -> None:
    table = pa.table({"user": ["u"], "query": [["canary"]], "time": [1]})
    pq.write_table(table, tmp_path / "nested.parquet")
    with pytest.raises(LogError, match="column query, of type list") as caught:
        import_log([tmp_path / "nested.parquet"], tmp_path / "log.parquet", force=True)
    assert "canary" not in str(caught.value)
    with pytest.raises(LogError, match=r"has no column uid, q, ts, pos, link; it has user, query, time"):
        import_log(
            [tmp_path / "nested.parquet"],
            tmp_path / "log.parquet",
            ImportOptions(mapping=_MAPPED),
            force=True,
        )


def test_times_outside_the_calendar_are_bad(tmp_path: Path) -> None:
    content = b"user,query,time\na,good,1\nb,far,99999999999999999\nc,farther,999999999999999999\n"
    report, rows = _import(tmp_path, "log.csv", content, time_format="epoch-ms")
    assert (len(rows), report.counts()) == (1, {Reason.TIME: 2})


def test_every_format_and_every_reason_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/commands/import.md").read_text("utf-8")
    assert set(readers()) == set(FORMATS)
    for name in FORMATS:
        assert f"**{name}**" in page
    for reason in Reason:
        assert f"| `{reason}` |" in page


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf7\tx\t2006-03-01 00:00:00\t\t\n"
    _, rows = _import(tmp_path, "log.txt", content)
    assert rows[0][0] == "7"
    _, rows = _import(tmp_path, "log.csv", b"\xef\xbb\xbfuser,query,time\n7,x,2006-03-01 00:00:00\n")
    assert rows[0][0] == "7"
