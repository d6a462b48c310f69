"""Read a browsing history: a browser's own file, Google Takeout, bookmarks, or a table of pages.

Pages that only list search results are left out, and those without a title or an address of the web.
"""

import csv
import json
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tacit.device.profile.store import utc_text
from tacit.errors import InputError

_SEARCH_WORDS = ("q", "query", "p", "wd", "text", "search_query")
_SEARCH_HOSTS = (
    "google. bing. duckduckgo. search.yahoo. yandex. baidu. ecosia. startpage. search.brave. qwant. kagi. "
    "127.0.0.1 localhost".split()
)


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """Something the user read: when, if that is known, and the query that led to it, if there was one."""

    url: str
    title: str
    time: datetime | None
    text: str = ""
    query: str = ""

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal for the same document on a second reading, so that it counts once."""
        if self.time is None:
            return "page", self.url, self.title, self.text
        return "click", self.query, utc_text(self.time), self.url


def _from_epoch(microseconds: float, epoch: datetime = datetime(1970, 1, 1, tzinfo=UTC)) -> datetime:
    """Read a time stored as microseconds since an epoch; the epoch itself where the number means no time."""
    try:
        return epoch + timedelta(microseconds=microseconds)
    except (OverflowError, ValueError):
        return epoch


def _readable(visits: Iterable[SourceDocument]) -> Iterator[SourceDocument]:
    for visit in visits:
        try:
            parts = urlsplit(visit.url)
            host = parts.hostname or ""
        except ValueError:
            continue
        if parts.scheme not in {"http", "https"} or not (visit.title.strip() or visit.text.strip()):
            continue
        listed = any(host.startswith(name) or f".{name}" in f".{host}" for name in _SEARCH_HOSTS)
        if listed and any(word in parse_qs(parts.query) for word in _SEARCH_WORDS):
            continue
        yield visit


_WINDOWS_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_CHROME = "SELECT url, title, last_visit_time FROM urls WHERE hidden = 0 ORDER BY last_visit_time"
_FIREFOX = (
    "SELECT url, coalesce(title, ''), coalesce(last_visit_date, 0), coalesce(description, '') "
    "FROM moz_places WHERE hidden = 0 AND visit_count > 0 ORDER BY last_visit_date"
)
_OLD_FIREFOX = _FIREFOX.replace("coalesce(description, '')", "''")


@dataclass(frozen=True)
class BrowserHistory:
    browser: str
    profile: str
    path: Path


def browser_histories(home: Path | None = None) -> list[BrowserHistory]:
    """Find the histories of the browsers in the person's home folder."""
    home = home or Path.home()
    listed = (resources.files("tacit.device.profile") / "browsers.txt").read_text("utf-8")
    return [
        BrowserHistory(browser, path.parent.name, path)
        for browser, _, pattern in (line.partition(" ") for line in listed.splitlines())
        for path in sorted(home.glob(pattern))
    ]


def _browser_visits(path: Path) -> Iterator[SourceDocument]:
    with tempfile.TemporaryDirectory(prefix="tacit-history-") as folder:  # made with mode 0700
        copy = Path(folder) / "history"
        shutil.copyfile(path, copy)
        for ending in ("-wal", "-journal"):
            beside = path.with_name(path.name + ending)
            if beside.is_file():
                shutil.copyfile(beside, copy.with_name(copy.name + ending))
        connection = sqlite3.connect(copy)
        try:
            yield from _readable(_rows(connection))
        except sqlite3.DatabaseError as error:
            raise InputError(
                "the file is not a history of Chrome's or Firefox's kind.", "Give History or places.sqlite."
            ) from error
        finally:
            connection.close()


def _rows(connection: sqlite3.Connection) -> Iterator[SourceDocument]:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "urls" in tables:
        for url, title, time in connection.execute(_CHROME):
            yield SourceDocument(str(url), str(title or ""), _from_epoch(time or 0, _WINDOWS_EPOCH))
    elif "moz_places" in tables:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(moz_places)")}
        selection = _FIREFOX if "description" in columns else _OLD_FIREFOX
        for url, title, time, description in connection.execute(selection):
            yield SourceDocument(str(url), str(title), _from_epoch(time), str(description))
    else:
        raise sqlite3.DatabaseError("neither urls nor moz_places")


_LARGEST = 500_000_000


def _takeout_visits(path: Path) -> Iterator[SourceDocument]:
    """Read an archive of Google's, or a file of one."""
    if not zipfile.is_zipfile(path):
        yield from _visits(path.read_bytes())
        return
    found = 0
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            name = entry.filename.rsplit("/", 1)[-1]
            if name in {"BrowserHistory.json", "History.json", "MyActivity.json", "My Activity.json"}:
                found += 1
                with archive.open(entry) as opened:  # the size that an archive states may be wrong
                    content = opened.read(_LARGEST + 1)
                if len(content) > _LARGEST:
                    raise InputError(f"{name} in the archive is larger than {_LARGEST / 1e6:g} MB.")
                yield from _visits(content)
    if not found:
        raise InputError(
            "the archive holds neither History.json nor MyActivity.json.",
            "Ask Takeout for Chrome or My Activity, in the format JSON.",
        )


def _visits(content: bytes) -> Iterator[SourceDocument]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError("the file is not JSON.") from error
    if isinstance(data, dict) and isinstance(data.get("Browser History"), list):
        return _readable(_history(data["Browser History"]))
    if isinstance(data, list):
        return _readable(_activity(data))
    raise InputError("the file is neither a browser history nor an activity of Google's archive.")


def _history(rows: list[Any]) -> Iterator[SourceDocument]:
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("url"), str):
            time = row.get("time_usec")
            moment = _from_epoch(time if isinstance(time, int | float) else 0)
            yield SourceDocument(row["url"], str(row.get("title") or ""), moment)


def _activity(rows: list[Any]) -> Iterator[SourceDocument]:
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("titleUrl"), str):
            continue
        title = str(row.get("title") or "")
        if title.startswith("Visited "):
            url = row["titleUrl"].removeprefix("https://www.google.com/url?q=").partition("&usg=")[0]
            yield SourceDocument(url, title.removeprefix("Visited "), _moment(row.get("time")))
        elif title.startswith("Watched "):
            yield SourceDocument(row["titleUrl"], title.removeprefix("Watched "), _moment(row.get("time")))


def _moment(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[SourceDocument] = []
        self._folders: list[str] = []
        self._open: dict[str, str] | None = None
        self._heading = False
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self._open, self._text = {name: value or "" for name, value in attrs}, ""
        elif tag == "h3":
            self._heading, self._text = True, ""

    def handle_data(self, data: str) -> None:
        if self._open is not None or self._heading:
            self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._open is not None:
            added = self._open.get("add_date", "")
            seconds = float(added) if added.isdigit() else 0.0
            seconds = seconds / 1e6 if seconds > 1e14 else seconds  # Firefox writes microseconds at times
            folder = self._folders[-1] if self._folders else ""
            url, time = self._open.get("href", ""), _from_epoch(seconds * 1e6)
            self.found.append(SourceDocument(url, self._text.strip(), time, folder))
            self._open = None
        elif tag == "h3":
            self._heading = False
            self._folders.append(self._text.strip())
        elif tag == "dl" and self._folders:
            self._folders.pop()


def _bookmark_visits(path: Path) -> Iterator[SourceDocument]:
    """Read exported bookmarks; the name of a bookmark's folder counts as its text."""
    parser = _Links()
    parser.feed(path.read_text(encoding="utf-8", errors="replace"))
    parser.close()
    if not parser.found:
        raise InputError("the file has no bookmarks.", "Export them from your browser as HTML.")
    return _readable(parser.found)


def browsing_history(path: str | Path) -> Iterator[SourceDocument]:
    """Read the pages of any file that can be imported.

    A table (CSV or TSV) names its columns in its first line: url, and any of title, text, query and time.

    Raises:
        InputError: it is none of the known kinds.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no browsing history at {path}.")
    with path.open("rb") as opened:
        beginning = opened.read(2048)
    if beginning.startswith(b"SQLite format 3\x00"):
        return _browser_visits(path)
    if beginning.startswith(b"PK"):
        return _takeout_visits(path)
    head = beginning.decode("utf-8", errors="replace").lstrip("\ufeff \t\r\n")
    if head[:100].lower().startswith(("<!doctype netscape", "<!doctype html", "<html")):
        return _bookmark_visits(path)
    if head.startswith(("{", "[")):
        return _takeout_visits(path)
    if "," in head.partition("\n")[0] or "\t" in head.partition("\n")[0]:
        return _readable(_table(path))
    raise InputError(
        "the file is of no known kind.",
        "Give History or places.sqlite of a browser, Takeout's JSON or zip, bookmarks as HTML, or a table.",
    )


def _table(path: Path) -> Iterator[SourceDocument]:
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as lines:
        first = lines.readline()
        lines.seek(0)
        reader = csv.DictReader(lines, delimiter="\t" if "\t" in first else ",")
        named = {(name or "").strip().lower() for name in reader.fieldnames or ()}
        if "url" not in named or not named & {"title", "text", "query"}:
            raise InputError("the table needs the columns url and title.", "Name them in its first line.")
        try:
            for row in reader:
                known = {(name or "").strip().lower(): str(value or "") for name, value in row.items()}
                url, title, text, query, time = (
                    known.get(name, "") for name in ("url", "title", "text", "query", "time")
                )
                yield SourceDocument(url, title or query, _moment(time), text, query)
        except csv.Error as error:
            raise InputError(f"line {reader.line_num} of the table cannot be read.") from error
