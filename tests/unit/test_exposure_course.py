"""What each upstream was told, summed up inside the file: against the entries themselves, and forgotten."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tacit.device import Guard
from tacit.errors import ParameterError

START = datetime(2026, 1, 1, tzinfo=UTC)
PAGES = [
    ("Espresso", "strong black coffee brewed by forcing hot water through ground coffee beans"),
    ("Java", "an island in Indonesia to the south of Borneo, with volcanoes and tea plantations"),
]


@pytest.fixture
def guard(tmp_path: Path) -> Guard:
    made = Guard(tmp_path / "p.profile", delta=1.0, taxonomy="wordnet")
    made.sensitive("beverage.n.01", 1.0)
    made.sensitive("island.n.01", 1.0)
    made.learn(
        ("", {"url": f"u{n}", "title": title, "snippet": text}, START + timedelta(hours=n))
        for n, (title, text) in enumerate(PAGES)
    )
    for upstream, query in (("a", "java"), ("b", "coffee"), ("a", "weather"), ("a", "coffee"), ("a", "tea")):
        made.protect(query, upstream=upstream)
    return made


def test_a_course_sums_up_the_entries(guard: Guard) -> None:
    for course in guard.courses():
        entries = guard.exposures(course.upstream)
        assert course.queries == len(entries)
        assert course.with_topics == sum(bool(entry.labels) for entry in entries)
        assert (course.first, course.last) == (entries[0].time, entries[-1].time)
        assert course.used == entries[-1].union_risk
        assert set(course.labels) == {label for entry in entries for label in entry.labels}
        points = [(p.time, p.union_risk, p.with_topics) for p in course.points]
        assert points == [(e.time, e.union_risk, bool(e.labels)) for e in entries]
    assert [course.upstream for course in guard.courses()] == ["a", "b"]
    assert any(course.with_topics for course in guard.courses())


def test_a_long_course_is_thinned_to_its_highest_points(guard: Guard) -> None:
    course = guard.courses(points=3)[0]
    entries = guard.exposures("a")
    assert len(course.points) <= 3
    assert max(point.union_risk for point in course.points) == max(e.union_risk for e in entries)
    assert course.points[-1].time == entries[-1].time


def test_what_was_told_before_the_period_does_not_count(guard: Guard) -> None:
    late = datetime.now(UTC) + timedelta(days=1)
    assert all(course.labels == () and course.used == 0.0 for course in guard.courses(late))


def test_entries_are_found_by_number(guard: Guard) -> None:
    every = guard.exposures()
    assert guard.exposure_entries([every[1].number, 10_000]) == {every[1].number: every[1]}


def test_all_that_one_upstream_was_told_is_forgotten(guard: Guard) -> None:
    gone = guard.forget(upstream="https://www.A/")
    assert gone.exposures == 4
    assert "still knows" in gone.warnings[0]
    assert guard.upstreams() == {"b": 1}
    connection = sqlite3.connect(guard.path)
    for table in ("exposure", "told"):
        assert {name for (name,) in connection.execute(f"SELECT upstream FROM {table}")} == {"b"}
    connection.close()
    guard.close()
    assert b"weather" not in guard.path.read_bytes()


def test_one_thing_at_a_time_is_forgotten(guard: Guard) -> None:
    with pytest.raises(ParameterError, match="one kind of thing"):
        guard.forget(upstream="a", exposure=1)
