"""Histories from real files in the browsers' own formats."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tacit import InputError
from tacit.device.profile.imports import SourceDocument, browser_histories, browsing_history

WHEN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
MICROSECONDS = int(WHEN.timestamp() * 1_000_000)


def chrome(path: Path, *, journal: str = "DELETE") -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute(
        "CREATE TABLE urls (id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, visit_count INTEGER,"
        " typed_count INTEGER, last_visit_time INTEGER NOT NULL, hidden INTEGER DEFAULT 0)"
    )
    windows = MICROSECONDS + 11_644_473_600_000_000
    rows = [
        ("https://beans.example/", "Coffee beans", windows, 0),
        ("https://www.google.com/search?q=coffee", "coffee - Google Search", windows, 0),
        ("https://untitled.example/", "", windows, 0),
        ("https://hidden.example/", "Hidden", windows, 1),
        ("chrome://settings/", "Settings", windows, 0),
    ]
    connection.executemany("INSERT INTO urls (url, title, last_visit_time, hidden) VALUES (?, ?, ?, ?)", rows)
    return connection


def test_chrome_even_while_it_runs(tmp_path: Path) -> None:
    """What was visited last is in a log beside the file, and the browser holds the file."""
    held = chrome(tmp_path / "History", journal="WAL")
    held.execute("BEGIN IMMEDIATE")
    before = (tmp_path / "History").read_bytes()
    assert list(browsing_history(tmp_path / "History")) == [
        SourceDocument("https://beans.example/", "Coffee beans", WHEN)
    ]
    assert (tmp_path / "History").read_bytes() == before
    held.close()


@pytest.mark.parametrize("described", [True, False])
def test_firefox(tmp_path: Path, described: bool) -> None:
    path = tmp_path / "places.sqlite"
    connection = sqlite3.connect(path)
    extra = ", description TEXT" if described else ""
    connection.execute(
        "CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT, title TEXT, visit_count INTEGER,"
        f" hidden INTEGER, last_visit_date INTEGER{extra})"
    )
    columns = "url, title, visit_count, hidden, last_visit_date" + (", description" if described else "")
    row = ("https://beans.example/", "Coffee", 3, 0, MICROSECONDS, *(["Beans and more"] if described else []))
    connection.execute(f"INSERT INTO moz_places ({columns}) VALUES ({', '.join('?' * len(row))})", row)
    connection.commit()
    connection.close()
    assert list(browsing_history(path)) == [
        SourceDocument("https://beans.example/", "Coffee", WHEN, "Beans and more" if described else "")
    ]


def test_takeout_alone_and_in_its_archive(tmp_path: Path) -> None:
    history = {
        "Browser History": [{"title": "Coffee", "url": "https://beans.example/", "time_usec": MICROSECONDS}]
    }
    activity = [
        {"title": "Visited Tea", "titleUrl": "https://www.google.com/url?q=https://tea.example/&usg=x",
         "time": "2026-03-04T05:06:07.000Z"},
        {"header": "Search", "title": "Searched for tea", "titleUrl": "https://www.google.com/search?q=tea"},
    ]  # fmt: skip
    alone = tmp_path / "BrowserHistory.json"
    alone.write_text(json.dumps(history))
    assert list(browsing_history(alone)) == [SourceDocument("https://beans.example/", "Coffee", WHEN)]
    archive = tmp_path / "takeout.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("Takeout/Chrome/History.json", json.dumps(history))
        opened.writestr("Takeout/My Activity/Search/MyActivity.json", json.dumps(activity))
    assert [visit.url for visit in browsing_history(archive)] == [
        "https://beans.example/",
        "https://tea.example/",
    ]


def test_bookmarks_with_their_folders(tmp_path: Path) -> None:
    path = tmp_path / "bookmarks.html"
    path.write_text(
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p><DT><H3>Drinks</H3><DL><p>"
        f'<DT><A HREF="https://beans.example/?a=1&amp;b=2" ADD_DATE="{MICROSECONDS // 1_000_000}">'
        "Coffee &amp; beans</A>"
        '</DL><p><DT><A HREF="javascript:alert(1)">script</A></DL>'
    )
    assert list(browsing_history(path)) == [
        SourceDocument("https://beans.example/?a=1&b=2", "Coffee & beans", WHEN, "Drinks")
    ]


def test_tables_of_clicks(tmp_path: Path) -> None:
    table = tmp_path / "clicks.csv"
    table.write_text(
        "time,query,url,title\n2026-03-04T05:06:07+00:00,espresso,https://beans.example/,Coffee\n"
    )
    assert list(browsing_history(table)) == [
        SourceDocument("https://beans.example/", "Coffee", WHEN, "", "espresso")
    ]


@pytest.mark.parametrize("content", [b"", b"nothing", b"{}", b"[", b"SQLite format 3\x00" + b"\x00" * 2000,
                                     b"a,b\n1,2\n",
                                     b"PK\x03\x04broken", b"<html></html>", b"PAR1broken"])  # fmt: skip
def test_what_is_no_history_is_refused_without_repeating_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError):
        list(browsing_history(path))


def test_browsers_of_the_home_folder_are_found(tmp_path: Path) -> None:
    for place in (".config/chromium/Default/History", ".mozilla/firefox/abc.default/places.sqlite"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).touch()
    assert [(one.browser, one.profile) for one in browser_histories(tmp_path)] == [
        ("Chromium", "Default"),
        ("Firefox", "abc.default"),
    ]
