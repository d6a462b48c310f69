"""The history that Chrome, Chromium, Brave, Edge, Vivaldi, Opera and Firefox keep: an SQLite file each.

A running browser holds its file, so it is copied first, with what is still in its journal, into a folder that
only the person can read; the copy is deleted afterwards.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tacit.errors import InputError
from tacit.web.imports.visit import Visit, from_epoch, readable

__all__ = ["BrowserHistory", "browser_histories", "browser_visits"]

_WINDOWS_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_CHROME = "SELECT url, title, last_visit_time FROM urls WHERE hidden = 0 ORDER BY last_visit_time"
_FIREFOX = (
    "SELECT url, coalesce(title, ''), coalesce(last_visit_date, 0), coalesce(description, '') "
    "FROM moz_places WHERE hidden = 0 AND visit_count > 0 ORDER BY last_visit_date"
)
_OLD_FIREFOX = _FIREFOX.replace("coalesce(description, '')", "''")

_PLACES = {
    "Chrome": (".config/google-chrome/*/History", "Library/Application Support/Google/Chrome/*/History"),
    "Chromium": (
        ".config/chromium/*/History",
        "snap/chromium/common/chromium/*/History",
        "Library/Application Support/Chromium/*/History",
    ),
    "Brave": (".config/BraveSoftware/Brave-Browser/*/History",),
    "Edge": (".config/microsoft-edge/*/History",),
    "Vivaldi": (".config/vivaldi/*/History",),
    "Opera": (".config/opera/History",),
    "Firefox": (
        ".mozilla/firefox/*/places.sqlite",
        "snap/firefox/common/.mozilla/firefox/*/places.sqlite",
        ".var/app/org.mozilla.firefox/.mozilla/firefox/*/places.sqlite",
        "Library/Application Support/Firefox/Profiles/*/places.sqlite",
    ),
}


@dataclass(frozen=True)
class BrowserHistory:
    """A history found on this machine."""

    browser: str
    profile: str
    path: Path


def browser_histories(home: Path | None = None) -> list[BrowserHistory]:
    """The histories of the browsers in the person's home folder."""
    home = home or Path.home()
    return [
        BrowserHistory(browser, path.parent.name, path)
        for browser, patterns in _PLACES.items()
        for pattern in patterns
        for path in sorted(home.glob(pattern))
    ]


def browser_visits(path: str | Path) -> Iterator[Visit]:
    """The pages of a browser's history file, the oldest first.

    Raises:
        InputError: it is no history of Chrome's or Firefox's kind.
    """
    path = Path(path)
    with tempfile.TemporaryDirectory(prefix="tacit-history-") as folder:  # made with mode 0700
        copy = Path(folder) / "history"
        shutil.copyfile(path, copy)
        for ending in ("-wal", "-journal"):
            beside = path.with_name(path.name + ending)
            if beside.is_file():
                shutil.copyfile(beside, copy.with_name(copy.name + ending))
        connection = sqlite3.connect(copy)
        try:
            yield from readable(_rows(connection))
        except sqlite3.DatabaseError as error:
            raise InputError(
                "the file is not a history of Chrome's or Firefox's kind.", "Give History or places.sqlite."
            ) from error
        finally:
            connection.close()


def _rows(connection: sqlite3.Connection) -> Iterator[Visit]:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "urls" in tables:
        for url, title, time in connection.execute(_CHROME):
            yield Visit(str(url), str(title or ""), from_epoch(time or 0, _WINDOWS_EPOCH))
    elif "moz_places" in tables:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(moz_places)")}
        selection = _FIREFOX if "description" in columns else _OLD_FIREFOX
        for url, title, time, description in connection.execute(selection):
            yield Visit(str(url), str(title), from_epoch(time), str(description))
    else:
        raise sqlite3.DatabaseError("neither urls nor moz_places")
