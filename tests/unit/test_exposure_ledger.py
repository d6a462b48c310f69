"""The ledger of what was sent: what it sums up, what a neighbouring process marked, and what it forgets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tacit import Guard, InputError, ParameterError
from tacit.device import ProfileStore

START = datetime(2026, 1, 1, tzinfo=UTC)
PAGES = [
    ("Espresso", "strong black coffee brewed by forcing hot water through ground coffee beans"),
    ("Java", "an island in Indonesia to the south of Borneo, with volcanoes and tea plantations"),
]
SENT = [("a", "java"), ("b", "coffee"), ("a", "weather"), ("a", "coffee"), ("a", "tea")]


@pytest.fixture
def guard(tmp_path: Path) -> Guard:
    made = Guard(tmp_path / "p.profile", delta=1.0, taxonomy="wordnet")
    made.learn(
        ("", {"url": f"u{n}", "title": title, "snippet": text}, START + timedelta(hours=n))
        for n, (title, text) in enumerate(PAGES)
    )
    for upstream, query in SENT:
        made.protect(query, upstream=upstream)
    return made


def test_what_was_disclosed_sums_up_the_entries(guard: Guard) -> None:
    every = guard.exposures()
    assert [(one.upstream, one.query) for one in every] == SENT
    assert [one.upstream for one in guard.disclosed()] == ["a", "b"]
    for one in guard.disclosed():
        entries = guard.exposures(one.upstream)
        assert one.queries == len(entries)
        assert one.with_topics == sum(bool(entry.labels) for entry in entries) > 0
        assert one.first == entries[0].time
        assert set(one.labels) == {label for entry in entries for label in entry.labels}
    assert guard.exposure_entries([every[1].number, 10_000]) == {every[1].number: every[1]}
    with pytest.raises(InputError, match="needs a name"):
        guard.protect("java", upstream=" ")


def test_a_topic_protected_elsewhere_a_moment_ago_counts(guard: Guard) -> None:
    assert guard.protect("coffee").names == ("coffee.n.01",)
    with ProfileStore.open(guard.path) as elsewhere:
        elsewhere.protect(elsewhere.tree.named("coffee.n.01"), 1.0)
    assert "coffee.n.01" not in guard.protect("coffee", delta=0.05).names


def test_forgetting_takes_an_entry_out_of_the_file(guard: Guard) -> None:
    assert guard.forget(exposure=guard.exposures()[2].number).exposures == 1
    assert [one.query for one in guard.exposures("a")] == ["java", "coffee", "tea"]
    gone = guard.forget(upstream="a")
    assert gone.exposures == 3
    assert "still knows" in gone.warnings[0]
    assert [one.upstream for one in guard.disclosed()] == ["b"]
    guard.close()
    assert not any(b"weather" in path.read_bytes() for path in guard.path.parent.iterdir())


def test_one_thing_at_a_time_is_forgotten(guard: Guard) -> None:
    with pytest.raises(ParameterError, match="one kind of thing"):
        guard.forget(upstream="a", exposure=1)
