"""Scrubbing finds what names somebody, by the record's own text, and nothing else."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.engines import open_engine
from tacit.release.document.tables import write_cells
from tacit.release.preparation import LONGEST_KEY, plainly_harmless, withheld
from tacit.searchlog import SCHEMA
from tacit.searchlog.readers.delimited import split_line
from tacit.text import SUSPECT, Sensitive, sensitive_patterns, sensitive_url_patterns

FOUND = {
    "jane.doe@mail.example.org": Sensitive.EMAIL,
    "email jane+x @ mail.co": Sensitive.EMAIL,
    "jane(at)mail.com": Sensitive.EMAIL,
    "call 555-867-5309 now": Sensitive.PHONE,
    "(212) 555 0199": Sensitive.PHONE,
    "+44 20 7946 0958": Sensitive.PHONE,
    "555-0199": Sensitive.PHONE,
    "+442079460958": Sensitive.PHONE,
    "4111 1111 1111 1111": Sensitive.CARD,
    "5500-0000-0000-0004": Sensitive.CARD,
    "ssn 078-05-1120": Sensitive.SOCIAL_SECURITY,
    "078 05 1120": Sensitive.SOCIAL_SECURITY,
    "account 12345678": Sensitive.LONG_DIGITS,
    "123.45.6789": Sensitive.SOCIAL_SECURITY,
    "john.doe%40aol.com": Sensitive.EMAIL,
    "who owns 192.168.17.4": Sensitive.COMPUTER,
    "ping 2001:db8:0:0:1:0:0:1": Sensitive.COMPUTER,
    "fe80::1ff:fe23:4567:890a": Sensitive.COMPUTER,
    "ftp://joe:secret@files.example": Sensitive.PASSWORD,
    "joe:secret@files": Sensitive.PASSWORD,
}
URLS_FOUND = {
    "http://x.example/?m=joe%40mail.example": Sensitive.EMAIL,
    "http://x.example/?ssn=123%2D45%2D6789": Sensitive.SOCIAL_SECURITY,
    "http://x.example/tel/555-867-5309": Sensitive.PHONE,
    "http://x.example/account/123456789012": Sensitive.LONG_DIGITS,
    "http://10.1.2.3/admin": Sensitive.COMPUTER,
    "https://joe:secret@x.example/": Sensitive.PASSWORD,
}
HARMLESS = [
    "weather 2006",
    "windows 95",
    "1600 pennsylvania avenue",
    "route 66 map",
    "rfc 2616",
    "ps3 360",
    "@home",
    "python 3.11.7",
    "java 1.5.0.06 or 1.4.2",
    "12:30:45 clock",
    "c++ std::vector",
    "ratio 16:9",
    "http://www.example.com/2006/03/01/news.html",
]


@pytest.mark.parametrize(("text", "pattern"), FOUND.items())
def test_a_pattern_is_found(text: str, pattern: Sensitive) -> None:
    assert pattern in sensitive_patterns(text)


@pytest.mark.parametrize(("url", "pattern"), URLS_FOUND.items())
def test_a_pattern_is_found_in_the_address_of_a_page(url: str, pattern: Sensitive) -> None:
    assert pattern in sensitive_url_patterns(url)


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_is_left_alone(text: str) -> None:
    assert sensitive_patterns(text) == frozenset()


def test_a_card_number_needs_its_check_digit() -> None:
    assert Sensitive.CARD not in sensitive_patterns("4111 1111 1111 1112")
    assert Sensitive.SOCIAL_SECURITY not in sensitive_patterns("000-05-1120")


@given(st.text("0123456789 .-()+@abAT[]:%", max_size=30))
def test_what_is_found_is_suspect_to_the_engine(text: str) -> None:
    """The engine looks for a simpler pattern first; nothing sensitive may slip through it."""
    if sensitive_patterns(text):
        assert re.search(SUSPECT, text)


def _tables(texts: list[str]) -> dict[str, pa.Table]:
    counts = pa.array([9] * len(texts), pa.int64())
    lists = pa.array([["weather", text] for text in texts], pa.list_(pa.string()))
    return {
        "queries": pa.table({"query": pa.array(texts, pa.string()), "count": counts}),
        "sessions": pa.table({"queries": lists, "count": counts}),
    }


def test_no_key_that_names_somebody_is_published() -> None:
    texts = [*FOUND, *HARMLESS]
    found = withheld(_tables(texts))
    assert found["queries"].column("query").to_pylist() == HARMLESS
    assert [row[1] for row in found["sessions"].column("queries").to_pylist()] == HARMLESS
    kept = withheld(_tables(texts), scrub=False)
    assert kept["queries"].num_rows == kept["sessions"].num_rows == len(texts)


def test_urls_are_judged_as_urls() -> None:
    urls = [*URLS_FOUND, "http://www.example.com/2006/03/01/news.html", "http://x.example/a%20b"]
    table = pa.table({"query": ["news"] * len(urls), "url": urls, "count": [9] * len(urls)})
    assert withheld({"clicks": table})["clicks"].column("url").to_pylist() == urls[-2:]


def test_what_nobody_types_or_sees_is_not_published_either() -> None:
    texts = ["a" * LONGEST_KEY, "a" * (LONGEST_KEY + 1), "b" * 5_000, "safe\u202etxt", "zero\u200bwidth"]
    for scrub in (True, False):
        assert withheld(_tables(texts), scrub=scrub)["queries"].num_rows == 1


def test_what_is_plain_to_see_gives_no_contribution() -> None:
    texts = ["joe@mail.example", "@home", "weather", "mail"]
    urls = [None, None, "http://a.example/2006", "http://x/?q=jane@mail.example.org"]
    time = [datetime(2006, 3, 1)] * len(texts)
    columns = [["u"] * len(texts), texts, time, [None] * len(texts), urls]
    table = pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)
    with open_engine(threads=1) as engine:
        left = engine.table(plainly_harmless(engine.load(table))).column("query").to_pylist()
    assert sorted(left) == ["@home", "mail", "weather"]


def test_cells_run_in_no_spreadsheet_and_need_no_quotes(tmp_path: Path) -> None:
    texts = ["=1+1", "+1", "-x", "@sum(a1)", "a=b", 'say "hi"', "tab\there", "plain"]
    table = _tables(texts)["queries"]
    write_cells(table, tmp_path / "queries.tsv")
    lines = (tmp_path / "queries.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines[1:]] == [
        "'=1+1", "'+1", "'-x", "'@sum(a1)", "a=b", 'say "hi"', "tab here", "plain",
    ]  # fmt: skip
    assert {line.count("\t") for line in lines} == {1}
    read = split_line(lines[6].encode(), "\t")
    assert read == [b'say "hi"', b"9"]
