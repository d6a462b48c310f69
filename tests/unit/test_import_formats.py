"""Formats that people have: each file is made here, read, and compared record by record."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import duckdb
import pyarrow.parquet as pq
import pytest

from tacit import ParameterError
from tacit.errors import LogError
from tacit.searchlog.importing import ImportOptions, ImportReport, import_log, look_at
from tacit.searchlog.readers import ColumnMapping, Reading

RECORDS = [
    (f"u{number % 7}", f"red kite {number % 11}", datetime(2021, 3, 4, 5, number % 60, 7))
    for number in range(60)
]
SECONDS = [int((time - datetime(1970, 1, 1)).total_seconds()) for _, _, time in RECORDS]


def imported(path: Path, **options: Any) -> tuple[list[dict[str, Any]], ImportReport]:
    report = import_log([path], path.parent / "log.parquet", ImportOptions(**options), force=True)
    return pq.read_table(report.output).to_pylist(), report


def triples(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(row["user"], row["query"], row["time"]) for row in rows]


def csv_text(end: str = "\n") -> str:
    return end.join(["user,query,time", *(f"{u},{q},{t:%Y-%m-%d %H:%M:%S}" for u, q, t in RECORDS), ""])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_utf_16_is_recognised(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "log.csv").write_bytes(csv_text("\r\n").replace("kite 1", "küte 1").encode(encoding))
    rows, _ = imported(tmp_path / "log.csv")
    assert triples(rows) == [(u, q.replace("kite 1", "küte 1"), t) for u, q, t in RECORDS]


def test_utf_16_that_breaks_off_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_bytes(csv_text().encode("utf-16") + b"\x00")
    with pytest.raises(LogError, match="UTF-16 throughout"):
        imported(tmp_path / "log.csv")


@pytest.mark.parametrize(
    ("factor", "name"), [(1, "epoch"), (10**3, "epoch-ms"), (10**6, "epoch-us"), (10**9, "epoch-ns")]
)
@pytest.mark.parametrize("said", [False, True])
def test_numbers_since_1970_in_every_unit(tmp_path: Path, factor: int, name: str, said: bool) -> None:
    lines = [f"{u},{q},{s * factor}" for (u, q, _), s in zip(RECORDS, SECONDS, strict=True)]
    (tmp_path / "log.csv").write_text("\n".join(["user,query,time", *lines]))
    rows, _ = imported(tmp_path / "log.csv", time_format=name if said else "auto")
    assert triples(rows) == RECORDS


def test_fractions_of_units_are_exact(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(
        "user,query,time\na,x y,1614834307.25\na,x y,1614834307000001\nb,x,1614834307000001999\n"
    )
    rows, _ = imported(tmp_path / "log.csv")
    assert [row["time"].microsecond for row in rows] == [250_000, 1, 1]


def nested() -> list[dict[str, Any]]:
    return [
        {"who": {"id": u, "age": 3}, "event": {"search": {"q": q}}, "ts": s}
        for (u, q, _), s in zip(RECORDS, SECONDS, strict=True)
    ]


@pytest.mark.parametrize("form", ["lines", "array", "array on one line"])
def test_nested_objects_by_dotted_names(tmp_path: Path, form: str) -> None:
    file = tmp_path / "log.json"
    if form == "lines":
        file.write_text("\n".join(map(json.dumps, nested())))
    else:
        file.write_text(json.dumps(nested(), indent=None if "one" in form else 2))
    mapping = ColumnMapping.parse("user=who.id,query=event.search.q,time=ts")
    rows, _ = imported(file, mapping=mapping)
    assert triples(rows) == RECORDS
    seen = look_at(file, None, Reading(mapping))
    assert {c.name: c.taken_for for c in seen.columns} == {
        "who.id": "user", "who.age": None, "event.search.q": "query", "ts": "time"
    }  # fmt: skip


def test_an_array_that_breaks_off_has_one_bad_record(tmp_path: Path) -> None:
    text = json.dumps(
        [{"user": u, "query": q, "time": s} for (u, q, _), s in zip(RECORDS, SECONDS, strict=True)]
    )
    (tmp_path / "log.json").write_text(text[:-20])
    rows, report = imported(tmp_path / "log.json")
    assert len(rows) == len(RECORDS) - 1 and report.bad_lines == 1


def test_a_name_that_no_object_has_is_said_with_those_they_have(tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text("\n".join(map(json.dumps, nested())))
    with pytest.raises(LogError, match=r"has who\.uid; most have who\.id, who\.age, event\.search\.q, ts"):
        imported(
            tmp_path / "log.json", mapping=ColumnMapping.parse("user=who.uid,query=event.search.q,time=ts")
        )


def test_quoted_line_breaks_and_the_numbers_of_later_lines(tmp_path: Path) -> None:
    text = 'user,query,time\na,"red\nkite",2021-03-04 05:06:07\n'
    text += 'b,"say ""hi""\r\nthere\nagain",2021-03-04 05:06:08\nc,oops,never\n'
    text += 'd,stray " quote,2021-03-04 05:06:09\n"e,open,2021-03-04 05:06:10\nf,fine,2021-03-04 05:06:11\n'
    (tmp_path / "log.csv").write_text(text, newline="")
    rows, report = imported(tmp_path / "log.csv", max_bad=1.0)
    assert [row["query"] for row in rows] == ["red kite", 'say "hi" there again', 'stray " quote', "fine"]
    bad = report.files[0].bad
    assert {str(reason): lines for reason, lines in bad.first.items()} == {"time": [7], "syntax": [9]}
    assert report.files[0].passed_over == {"headers": 1, "continued": 3}


def test_a_record_over_the_end_of_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.searchlog.readers.source.BLOCK_BYTES", 64)
    rows = [f'u{n % 5},"red\nkite {n}",2021-03-04 05:06:{n % 60:02}\n' for n in range(50)]
    (tmp_path / "log.csv").write_text("user,query,time\n" + "".join(rows))
    found, report = imported(tmp_path / "log.csv")
    assert [row["query"] for row in found] == [f"red kite {n}" for n in range(50)]
    assert report.lines == 101


def test_nothing_said_in_the_words_of_tables(tmp_path: Path) -> None:
    lines = ["user,query,time,rank,url", *(f"{u},{q},{t},NULL,\\N" for u, q, t in RECORDS)]
    lines += ["NULL,x,2021-03-04 05:06:07,,"]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    rows, report = imported(tmp_path / "log.csv")
    assert triples(rows) == RECORDS
    assert all(row["rank"] is None and row["url"] is None for row in rows)
    assert {str(reason): n for reason, n in report.counts().items()} == {"user": 1}


@pytest.mark.parametrize(("first_rank", "ranks"), [(1, [None, 1, 2]), (0, [1, 2, 3])])
def test_rank_0_is_kept(tmp_path: Path, first_rank: int, ranks: list[int | None]) -> None:
    lines = [f"a,x y,2021-03-04 05:06:0{n},{n},http://e.org/{n}" for n in range(3)]
    (tmp_path / "log.csv").write_text("\n".join(["user,query,time,rank,url", *lines]))
    rows, report = imported(tmp_path / "log.csv", first_rank=first_rank)
    assert [row["rank"] for row in rows] == ranks
    assert [row["url"] for row in rows] == [f"http://e.org/{n}" for n in range(3)]
    assert report.files[0].remarks == ({"rank 0, kept without a rank": 1} if first_rank else {})


def test_white_space_around_a_user_makes_no_second_person(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(
        'user,query,time\n"u30 ",a,2021-03-04\nu30,b,2021-03-04\n'
        "\u00a0u30\u2003,c,2021-03-04\nu3 0,d,2021-03-04\n"
    )
    rows, report = imported(tmp_path / "log.csv")
    assert [row["user"] for row in rows] == ["u30", "u30", "u30", "u3 0"]
    assert report.figures is not None and report.figures.users == 2


def access_lines(path: str = "/search?lang=en&q={}&page=1", account: str = "-") -> list[str]:
    return [
        f"10.0.0.{n % 9} - {account} [04/Mar/2021:06:{n:02}:07 +0100]"
        f' "GET {path.format(q)} HTTP/1.1" 200 512 "-" "x"'
        for n, q in enumerate(f"caf%C3%A9+number+{n}" for n in range(40))
    ]


def test_the_log_of_a_web_server(tmp_path: Path) -> None:
    others = [
        line.replace("/search?", "/style.css?v=1&x").replace("&q=", "&z=") for line in access_lines()[:30]
    ]
    (tmp_path / "access.log").write_text("\n".join([*access_lines(), *others, "garbage"]))
    rows, report = imported(tmp_path / "access.log")
    assert report.files[0].format_name == "access"
    assert triples(rows)[3] == ("10.0.0.3", "café number 3", datetime(2021, 3, 4, 5, 3, 7))
    assert len(rows) == 40
    assert report.files[0].passed_over == {"lines that are no searches": 30}
    assert {str(reason): n for reason, n in report.counts().items()} == {"syntax": 1}


def test_a_line_of_a_web_server_with_several_names(tmp_path: Path) -> None:
    """Apache's ``vhost_combined``; and an address with colons is no name of a server."""
    lines = access_lines()
    named = [f"www.example.org:443 {line}" for line in lines[:20]]
    more = [line.replace("10.0.0.", "2001:db8::") for line in lines[20:]]
    (tmp_path / "access.log").write_text("\n".join([*named, *more]))
    rows, _ = imported(tmp_path / "access.log")
    assert [row["user"] for row in rows] == [
        f"{'10.0.0.' if n < 20 else '2001:db8::'}{n % 9}" for n in range(40)
    ]


def test_a_named_parameter_and_an_account(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text("\n".join(access_lines("/solr/books/select?fq=q&suche={}", "ada")))
    rows, _ = imported(tmp_path / "access.log", query_parameter="suche", accept_unusual=True)
    assert len(rows) == 40 and {row["user"] for row in rows} == {"ada"}


def test_any_line_by_a_pattern(tmp_path: Path) -> None:
    lines = [
        f"{t.isoformat()} INFO session={u} params={{q={q.replace(' ', '+')}&rows=10}}" for u, q, t in RECORDS
    ]
    (tmp_path / "solr.log").write_text("\n".join([*lines, "2021 INFO started"]))
    pattern = r"^(?P<time>\S+) INFO session=(?P<user>\S+) params=\{q=(?P<encoded_query>[^&}]*)"
    rows, report = imported(tmp_path / "solr.log", pattern=pattern)
    assert triples(rows) == RECORDS
    assert report.files[0].passed_over == {"lines that are no searches": 1}


@pytest.mark.parametrize("pattern", ["(", "(?P<user>.)(?P<time>.)"])
def test_a_pattern_that_cannot_serve(pattern: str) -> None:
    with pytest.raises(ParameterError, match="`pattern`"):
        ImportOptions(pattern=pattern)


def ga4() -> list[dict[str, Any]]:
    return [
        {
            "event_name": "page_view",
            "user_pseudo_id": "z",
            "event_timestamp": "1614834307000000",
            "event_params": [],
        }
    ] + [
        {
            "event_name": "view_search_results",
            "user_pseudo_id": u,
            "event_timestamp": str(s * 10**6),
            "event_params": [
                {"key": "page", "value": {"int_value": 1}},
                {"key": "search_term", "value": {"string_value": q}},
            ],
        }
        for (u, q, _), s in zip(RECORDS, SECONDS, strict=True)
    ]


def matomo() -> list[dict[str, Any]]:
    return [
        {
            "visitorId": u,
            "actionDetails": [
                {"type": "action", "timestamp": s - 5},
                {"type": "search", "siteSearchKeyword": q, "timestamp": s},
            ],
        }
        for (u, q, _), s in zip(RECORDS, SECONDS, strict=True)
    ]


def ubi() -> list[dict[str, Any]]:
    return [
        {
            "_index": "ubi_queries",
            "_source": {"client_id": u, "query_id": "x", "user_query": q, "timestamp": s * 1000},
        }
        for (u, q, _), s in zip(RECORDS, SECONDS, strict=True)
    ]


@pytest.mark.parametrize("name", ["ga4", "matomo", "ubi"])
@pytest.mark.parametrize("form", ["lines", "array"])
@pytest.mark.parametrize("said", [False, True])
def test_exports_by_name_and_by_content(tmp_path: Path, name: str, form: str, said: bool) -> None:
    events = {"ga4": ga4, "matomo": matomo, "ubi": ubi}[name]()
    text = "\n".join(map(json.dumps, events)) if form == "lines" else json.dumps(events)
    (tmp_path / "export.json").write_text(text)
    rows, report = imported(tmp_path / "export.json", format_name=name if said else None)
    assert report.files[0].format_name == name
    assert triples(rows) == RECORDS
    assert look_at(tmp_path / "export.json").format_name == name


def test_a_click_of_user_behavior_insights(tmp_path: Path) -> None:
    click = {
        "client_id": "u1", "query_id": "x", "user_query": "red kite", "timestamp": "2021-03-04T05:06:07Z",
        "action_name": "click",
        "event_attributes": {"object": {"object_id": "b9"}, "position": {"ordinal": 3}},
    }  # fmt: skip
    (tmp_path / "events.json").write_text(
        "\n".join(json.dumps(click | {"timestamp": 1614834307 + n}) for n in range(3))
    )
    rows, _ = imported(tmp_path / "events.json")
    assert [(row["rank"], row["url"]) for row in rows] == [(3, "b9")] * 3


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_databases(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "searches.db"
    database: Any = sqlite3.connect(path) if kind == "sqlite" else duckdb.connect(str(path))
    counted = " primary key autoincrement" * (kind == "sqlite")  # which keeps a table of its own
    database.execute(f"create table other (a integer{counted}, b text)")
    database.execute("create table searches (n integer, person text, query text, time timestamp)")
    database.executemany(
        "insert into searches values (?, ?, ?, ?)",
        [(n, u, q, t.isoformat(" ")) for n, (u, q, t) in enumerate(RECORDS)],
    )
    if kind == "sqlite":
        database.commit()
    database.close()
    mapping = ColumnMapping.parse("user=person,query=query,time=time")
    rows, report = imported(path, mapping=mapping)
    assert report.files[0].format_name == kind
    assert triples(rows) == RECORDS
    seen = look_at(path, None, Reading(mapping))
    assert {c.name: c.taken_for for c in seen.columns} == {
        "n": None, "person": "user", "query": "query", "time": "time"
    }  # fmt: skip
    with pytest.raises(
        LogError, match=r"0 tables with the columns of a log\. Its tables: other \(a, b\); searches"
    ):
        imported(path)
    assert "0 tables" in look_at(path).refusal and "sqlite_sequence" not in look_at(path).refusal
    with pytest.raises(LogError, match="no table absent"):
        imported(path, mapping=mapping, table="absent")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\x03\x04" + b"\0" * 20 + b"[Content_Types].xml", "an Excel workbook"),
        (b"PK\x03\x04" + b"\0" * 20 + b"log.csv", "a zip archive"),
        (b"\xd0\xcf\x11\xe0" + bytes(range(256)), "an Excel workbook"),
        (b"Obj\x01" + bytes(range(256)), "an Avro file"),
        (b"2021-03-04 INFO [ x:a] webapp=/solr path=/select params={q=a&rows=1} hits=0\n", "Solr's own log"),
    ],
)  # fmt: skip
def test_other_files_are_called_what_they_are(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(LogError, match=said):
        imported(tmp_path / "log")
    assert said in look_at(tmp_path / "log").refusal


def test_an_archive_of_a_table_is_no_table(tmp_path: Path) -> None:
    """Stored as it is, the table's lines are there to be read."""
    with ZipFile(tmp_path / "log.zip", "w") as archive:
        archive.writestr("log.csv", csv_text())
    with pytest.raises(LogError, match="a zip archive"):
        imported(tmp_path / "log.zip")
    assert "a zip archive" in look_at(tmp_path / "log.zip").refusal


def test_an_array_within_an_object_is_refused_with_the_way_in(tmp_path: Path) -> None:
    objects = [{"user": u, "query": q, "time": t.isoformat()} for u, q, t in RECORDS]
    (tmp_path / "log.json").write_text(json.dumps({"hits": objects}, indent=1))
    with pytest.raises(LogError, match="no line at the beginning"):
        imported(tmp_path / "log.json")
    assert "jq -c" in look_at(tmp_path / "log.json").refusal


def test_a_table_without_a_record_is_refused_by_both(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,query,time\n")
    with pytest.raises(LogError, match="there is no record"):
        imported(tmp_path / "log.csv")
    assert "there is no record" in look_at(tmp_path / "log.csv").refusal


def test_dates_of_either_order_are_refused_with_what_to_say(tmp_path: Path) -> None:
    lines = [f"u{n % 9},red kite {n},0{n % 9 + 1}.03.2021 05:06:07" for n in range(200)]
    (tmp_path / "log.csv").write_text("\n".join(["user,query,time", *lines]))
    with pytest.raises(LogError, match="time_format=day-first"):
        imported(tmp_path / "log.csv")
    assert len(imported(tmp_path / "log.csv", time_format="day-first")[0]) == 200


def test_names_of_several_words_need_no_mapping(tmp_path: Path) -> None:
    text = csv_text().replace("user,query,time", "User ID,Search-Term,Created at")
    (tmp_path / "log.csv").write_text(text)
    assert triples(imported(tmp_path / "log.csv")[0]) == RECORDS


def _workbook(path: Path, rows: Iterable[str], strings: str = "", styles: str = "") -> Path:
    """A workbook as Excel writes it, with these rows of XML in its first sheet."""
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    with ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", f"<workbook {space}/>")
        archive.writestr("xl/worksheets/sheet10.xml", f"<worksheet {space}><sheetData/></worksheet>")
        sheet = f"<worksheet {space}><sheetData>{''.join(rows)}</sheetData></worksheet>"
        archive.writestr("xl/worksheets/sheet2.xml", sheet)
        archive.writestr("xl/sharedStrings.xml", f"<sst {space}>{strings}</sst>")
        archive.writestr("xl/styles.xml", f"<styleSheet {space}>{styles}</styleSheet>")
    return path


def test_the_first_sheet_of_a_workbook_is_read(tmp_path: Path) -> None:
    strings = "<si><t>tea, green</t></si><si><r><t>two </t></r><r><t>runs</t></r><rPh><t>no</t></rPh></si>"
    styles = (
        '<numFmts><numFmt numFmtId="170" formatCode="dd\\.mm\\.yyyy hh:mm"/>'
        '<numFmt numFmtId="171" formatCode="0.0&quot;m&quot;"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="22"/><xf numFmtId="170"/><xf numFmtId="171"/></cellXfs>'
    )
    named = "".join(
        f'<c t="inlineStr"><is><t>{name}</t></is></c>' for name in ("user", "query", "time", "rank", "url")
    )
    rows = [
        f"<row>{named}</row>",
        '<row><c r="A2" t="n"><v>7</v></c><c r="B2" t="s"><v>0</v></c>'
        '<c r="C2" s="1"><v>39142.5</v></c></row>',
        '<row><c r="A3" t="str"><v>ann</v></c><c r="B3" t="s"><v>1</v></c>'
        '<c r="C3" s="2"><v>39142.50001157</v></c>'
        '<c r="E3" t="inlineStr"><is><t>http://a.b</t></is></c></row>',
        '<row><c r="A4" s="3"><v>7</v></c><c r="B4" t="inlineStr"><is><t>x\ny</t></is></c>'
        '<c r="C4" t="d"><v>2007-03-01T12:00:02</v></c><c r="D4"><v>3</v></c></row>',
    ]
    found, report = imported(_workbook(tmp_path / "log.xlsx", rows, strings, styles))
    assert report.files[0].format_name == "csv"
    noon = datetime(2007, 3, 1, 12)
    assert [tuple(row.values()) for row in found] == [
        ("7", "tea, green", noon, None, None),
        ("ann", "two runs", noon + timedelta(seconds=1), None, "http://a.b"),
        ("7", "x y", noon + timedelta(seconds=2), 3, None),
    ]
    assert look_at(tmp_path / "log.xlsx").format_name == "csv"


@pytest.mark.parametrize("rows", [("<row><c",), ('<row><c t="s"><v>9</v></c></row>',)])
def test_a_damaged_workbook_is_our_error(tmp_path: Path, rows: tuple[str, ...]) -> None:
    with pytest.raises(LogError, match="an Excel workbook that is damaged"):
        imported(_workbook(tmp_path / "log.xlsx", rows))


def test_a_damaged_database_is_our_error(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"SQLite format 3\0" + b"\x07" * 5000)
    (tmp_path / "b.db").write_bytes(b"\x07" * 8 + b"DUCK" + b"\x07" * 5000)
    for name in ("a.db", "b.db"):
        with pytest.raises(LogError, match="cannot be read"):
            imported(tmp_path / name)
        assert "cannot be read" in look_at(tmp_path / name).refusal
