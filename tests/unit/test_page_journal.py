"""The journal of a profile file is written into the file beside the searches, not by one of them."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from tacit.device import Guard
from tacit.web import state as state_module
from tacit.web.state import PageState


def rows_without_journal(path: Path, aside: Path) -> int:
    """How many rows the file itself holds, as if its journal were lost."""
    shutil.copy(path, aside)
    connection = sqlite3.connect(aside)
    try:
        tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'page_query'").fetchone()
        (found,) = connection.execute("SELECT count(*) FROM page_query").fetchone() if tables[0] else (0,)
    finally:
        connection.close()
    return int(found)


@pytest.mark.parametrize("long", [True, False])
def test_a_long_journal_is_written_into_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: bool
) -> None:
    path = tmp_path / "me.profile"
    with Guard(path):
        monkeypatch.setattr(state_module, "_LONG_JOURNAL", 10_000 if long else 10**9)
        state = PageState(path)
        with state.transaction() as connection:
            connection.executemany(
                "INSERT INTO page_query VALUES (?, '2026-01-01', 1)", [(f"{n:0100}",) for n in range(500)]
            )
        assert rows_without_journal(path, tmp_path / "before") == 0
        state.shorten_journal()
        assert rows_without_journal(path, tmp_path / "after") == (500 if long else 0)
        state.close()
