"""Whoever forgets means what the search page kept too: the requests and the queries it would suggest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tacit import Guard
from tacit.web.state import PageState, SentRequests
from tacit.web.suggestions import Suggestions


def asked(path: Path) -> tuple[Guard, list[int]]:
    """A guard over a file in which the page noted three requests to two engines, and two queries."""
    guard, state = Guard(path), PageState(path)
    suggestions = Suggestions(state, ())
    numbers = []
    for upstream, query in (("one", "my secret illness"), ("two", "my secret illness"), ("two", "TEA")):
        number = guard.send_alone(query, upstream=upstream).exposure
        assert number is not None
        numbers.append(number)
        wire = f"GET /?q={query}".encode()
        SentRequests(state).record(upstream, number, "https://engine.example", wire)
        suggestions.remember(query, datetime.now(UTC).isoformat())
    suggestions.remember("asked here alone", datetime.now(UTC).isoformat())
    state.close()
    return guard, numbers


def left(path: Path) -> tuple[list[object], list[object]]:
    """The engines of the requests that are left, and the queries."""
    state = PageState(path)
    requests = [engine for (engine,) in state.rows("SELECT engine FROM page_sent ORDER BY number")]
    queries = [query for (query,) in state.rows("SELECT query FROM page_query ORDER BY query")]
    state.close()
    return requests, queries


def test_an_exposure_takes_its_request_along_and_its_query_once_no_other_has_it(tmp_path: Path) -> None:
    guard, numbers = asked(tmp_path / "p")
    guard.forget(exposure=numbers[0])
    assert left(tmp_path / "p") == (["two", "two"], ["asked here alone", "my secret illness", "tea"])
    guard.forget(exposure=numbers[1])
    assert left(tmp_path / "p") == (["two"], ["asked here alone", "tea"])
    guard.close()


def test_an_upstream_takes_its_requests_along(tmp_path: Path) -> None:
    guard, _ = asked(tmp_path / "p")
    guard.forget(upstream="two")
    assert left(tmp_path / "p") == (["one"], ["asked here alone", "my secret illness"])
    guard.close()


@pytest.mark.parametrize("way", ["everything", "since", "until"])
def test_nothing_is_left_of_a_time_that_is_forgotten(tmp_path: Path, way: str) -> None:
    guard, _ = asked(tmp_path / "p")
    hour = timedelta(hours=1)
    if way == "everything":
        guard.forget(everything=True)
    elif way == "since":
        guard.forget(since=datetime.now(UTC) - hour)
    else:
        guard.forget(until=datetime.now(UTC) + hour)
    assert left(tmp_path / "p") == ([], [])
    guard.close()
    for file in tmp_path.iterdir():
        assert b"secret" not in file.read_bytes(), file.name


def test_what_is_of_another_time_stays(tmp_path: Path) -> None:
    guard, _ = asked(tmp_path / "p")
    guard.forget(until=datetime.now(UTC) - timedelta(hours=1))
    assert left(tmp_path / "p") == (["one", "two", "two"], ["asked here alone", "my secret illness", "tea"])
    guard.close()


def test_forgetting_waits_for_whoever_writes_the_journal_into_the_file(tmp_path: Path) -> None:
    import sqlite3
    import threading

    guard, _ = asked(tmp_path / "p")
    reader = sqlite3.connect(tmp_path / "p", check_same_thread=False, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM exposure").fetchone()  # a reader holds the journal as it is
    ending = threading.Timer(0.5, reader.rollback)
    ending.start()
    guard.forget(everything=True)
    ending.join()
    reader.close()
    guard.close()
    assert b"secret" not in (tmp_path / "p").read_bytes()
