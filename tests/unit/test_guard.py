"""The guard as one object: what programs rely on."""

from __future__ import annotations

import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import tacit
from tacit import Guard, InputError, ParameterError
from tacit.device import Protection

COFFEE = {
    "url": "https://example.org/beans",
    "title": "Java coffee beans",
    "snippet": "A dark roast of arabica coffee from the island, freshly roasted espresso.",
}


@pytest.fixture
def guard(tmp_path: Path) -> Guard:
    return tacit.Guard(tmp_path / "me.profile")


def test_the_profile_is_made_private_and_kept(guard: Guard) -> None:
    assert stat.S_IMODE(guard.path.stat().st_mode) == 0o600
    number = guard.clicked("java", COFFEE)
    guard.sensitive("Astronomy", 2.0)
    guard.close()
    with Guard(guard.path) as again:
        assert [click.number for click in again.history()] == [number]
        assert again.sensitive("Astronomy") == 2.0
        assert again.sensitive("Astronomy", 0) == 0.0


def test_what_goes_out_is_decided_recorded_and_shown(guard: Guard) -> None:
    for minute in range(5):
        guard.clicked("java", COFFEE, time=datetime(2026, 1, 1, 12, minute, tzinfo=UTC))
    answer = guard.protect("java", upstream="engine")
    assert isinstance(answer, Protection)
    assert answer.message["query"] == "java"
    assert list(answer.message.get("topics", [])) == list(answer.topics)
    assert answer.risk <= answer.delta
    (entry,) = guard.exposures("engine")
    assert entry.number == answer.exposure
    assert entry.labels == answer.topics
    assert guard.exposures("other") == []
    assert guard.preview("java").exposure is None
    assert len(guard.exposures()) == 1


def test_results_come_back_as_the_same_objects_with_duplicates(guard: Guard) -> None:
    results = [dict(COFFEE), {"url": "u", "title": "Java island", "snippet": "Indonesia"}]
    results.append(results[0])
    ordered = guard.rerank("java", results)
    assert sorted(map(id, ordered)) == sorted(map(id, results))
    placed = guard.explain("java", results)
    assert [one.rank for one in placed] == [1, 2, 3]
    assert sorted(one.was for one in placed) == [1, 2, 3]
    assert guard.rerank("java", []) == []
    with pytest.raises(InputError, match="result 1"):
        guard.rerank("java", ["not a result"])  # type: ignore[list-item]
    with pytest.raises(InputError, match="found NoneType"):
        guard.learn([(None, COFFEE, None)])  # type: ignore[list-item]


def test_results_that_no_page_explains_stay_where_the_engine_put_them(guard: Guard) -> None:
    words = (
        "an island of Indonesia",
        "a programming language",
        "fossil remains",
        "infusion of ground coffee",
    )
    results = [{"url": f"u{place}", "title": "Java", "snippet": text} for place, text in enumerate(words)]
    for number in range(6):  # near the last result, too faint to be heard
        page = {
            "url": f"c{number}",
            "title": "Coffee",
            "snippet": "A hot beverage of roasted arabica coffee.",
        }
        guard.clicked("coffee", page)
    placed = guard.explain("java", results)
    assert all("says nothing" in one.reason for one in placed)
    assert [one.was for one in placed] == [1, 2, 3, 4]


def test_forgetting(guard: Guard) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    numbers = [guard.clicked("java", COFFEE, time=start + timedelta(days=day)) for day in range(6)]
    with pytest.raises(ParameterError, match="one kind of thing"):
        guard.forget()
    assert guard.forget(click=numbers[0]).clicks == 1
    assert guard.forget(since=start + timedelta(days=4)).clicks == 2
    sent = guard.protect("java").exposure
    assert guard.forget(exposure=sent).exposures == 1
    label = guard.busiest()[0].label.rpartition("/")[0]
    assert guard.forget(topic=label).clicks == 3
    guard.clicked("java", COFFEE)
    assert guard.forget(everything=True).clicks == 1
    assert guard.history() == []
    assert guard.topic().documents == 0
    assert not any(b"arabica" in path.read_bytes() for path in guard.path.parent.iterdir())


def test_export(guard: Guard) -> None:
    guard.clicked("java", COFFEE)
    data = guard.export()
    assert data["history"][0]["query"] == "java"


def test_an_engine_that_takes_no_profile_is_told_queries_only(guard: Guard) -> None:
    guard.clicked("java", COFFEE)
    answer = guard.send_alone("java", upstream="engine")
    assert not answer.sent
    (entry,) = guard.exposures("engine")
    assert (entry.number, entry.query, entry.labels) == (answer.exposure, "java", ())


def test_many_pages_are_learnt_once_and_what_is_forgotten_can_be_put_back(guard: Guard) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    pages = [("java", COFFEE, start + timedelta(minutes=place)) for place in range(250)]
    told: list[int] = []
    assert guard.learn(pages, told.append) == 250
    assert sum(told) == 250
    assert guard.learn(pages) == 0
    before = guard.export()
    gone = guard.forget(since=start + timedelta(minutes=100))
    assert gone.clicks == len(gone.documents) == 150
    assert "arabica" not in repr(gone)
    assert guard.restore(gone.documents) == 150
    after = guard.export()
    supports = [{row["topic"]: row["documents"] for row in data["topics"]} for data in (before, after)]
    assert supports[0] == pytest.approx(supports[1])
    assert len(after["history"]) == 250


def test_the_busiest_topics_come_first_and_topics_are_found_by_name(guard: Guard) -> None:
    for minute in range(4):
        guard.clicked("java", COFFEE, time=datetime(2026, 1, 1, 12, minute, tzinfo=UTC))
    busiest = guard.busiest(5)
    assert busiest and all(node.documents > 0 for node in busiest)
    assert [node.documents for node in busiest] == sorted((n.documents for n in busiest), reverse=True)
    assert guard.topic(busiest[0].label) == busiest[0] == guard.find(busiest[0].name)[0]


def test_a_guard_loads_no_library_of_tables_and_stays_small(tmp_path: Path) -> None:
    code = (
        "import sys; from tacit import Guard; guard = Guard(sys.argv[1]);"
        "page = {'url': 'u', 'title': 'Java', 'snippet': 'the island of Java'};"
        "guard.clicked('java', page); guard.protect('java'); guard.rerank('java', [page] * 100);"
        "guard.topic('Top');"
        "print(*[name for name in ('pandas', 'duckdb', 'ibis', 'pyarrow') if name in sys.modules]);"
        "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])"
    )
    for name in ("first", "second"):  # the first fills the caches, which may take more
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / name)], capture_output=True, text=True, check=True
        )
    loaded, peak = done.stdout.splitlines()
    assert loaded == ""
    assert int(peak) < 250 * 1024


def test_times_are_datetimes_or_text_and_what_is_neither_is_refused(guard: Guard) -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    guard.clicked("java", COFFEE, time="2026-01-01T12:00")
    with pytest.raises(InputError, match="in the history already"):
        guard.clicked("java", COFFEE, time=noon)
    assert guard.learn([("java", COFFEE, "2026-01-02"), ("java", {**COFFEE, "url": "u"}, None)]) == 2
    for wrong in (1767225600, "yesterday"):
        with pytest.raises(ParameterError, match="time must be a day or time"):
            guard.learn([("java", COFFEE, wrong)])  # type: ignore[list-item]


def test_capitals_do_not_count_in_the_name_of_a_topic(guard: Guard) -> None:
    guard.sensitive("astronomy", 1.0)
    assert list(guard.sensitive_topics().values()) == [1.0]
    guard.mark("religion")  # a concept of the list, sensitive already
    with pytest.raises(tacit.TacitError, match=r"no topics have that name.*Guard\.find"):
        guard.mark("astronomies")
