"""Suggestions from the person's own queries, from released logs and from the dictionary, in that order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit import Guard, InputError
from tacit.web.state import PageState
from tacit.web.suggestions import Suggestions, released_queries


def release(folder: Path, **tables: dict[str, list[Any]]) -> Path:
    folder.mkdir()
    (folder / "manifest.json").write_text("{}")
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Iterator[PageState]:
    Guard(tmp_path / "p.profile").close()
    made = PageState(tmp_path / "p.profile")
    yield made
    made.close()


def test_queries_are_read_from_every_table_that_has_them(tmp_path: Path) -> None:
    folder = release(
        tmp_path / "r",
        queries={"query": ["java coffee", "=sum(a1)", "nobody", "withheld"], "count": [7, 3, -1, None]},
        clicks={"query": ["java coffee", "java"], "url": ["https://a.example/", "b"], "count": [9, 4]},
        keywords={"keyword": ["java"], "count": [99]},
    )
    assert released_queries(folder) == {"java coffee": 9, "=sum(a1)": 3, "java": 4}


def test_a_folder_without_a_release_or_without_queries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tacit release"):
        released_queries(tmp_path)
    with pytest.raises(InputError, match="counts queries"):
        released_queries(release(tmp_path / "k", keywords={"keyword": ["java"], "count": [99]}))
    (release(tmp_path / "d") / "queries.parquet").write_bytes(b"secret-canary")
    with pytest.raises(InputError, match="damaged") as caught:
        released_queries(tmp_path / "d")
    assert "canary" not in str(caught.value)


def test_of_words_those_that_people_use_come_first(state: PageState) -> None:
    words = ["bead", "beau", "beach", "beach towel", "bear", "be"]
    assert Suggestions(state, words).complete("bea") == ["beach", "bear", "beau", "beach towel", "bead"]


def test_own_queries_come_first_then_released_ones_by_count_then_words(state: PageState) -> None:
    asked = {"java island": 3, "java coffee": 8, "javelin throw": 5, "tea": 50}
    found = Suggestions(state, ["java", "Javanese"], asked)
    found.remember("Java at home", "2026-01-01T00:00:00+00:00")
    assert found.complete("jav") == [
        "java at home", "java coffee", "javelin throw", "java island", "java", "javanese",
    ]  # fmt: skip
    assert found.complete("jav", own=False, limit=2) == ["java coffee", "javelin throw"]
    assert found.complete("") == []
    assert Suggestions(state, ["java"]).complete("java i", own=False) == []


def test_a_query_about_something_sensitive_is_not_offered_again(state: PageState) -> None:
    """Accepted by mistake, it would tell an engine what was read."""
    suggestions = Suggestions(state, ())
    for query in ("diabetes insulin dose", "dia de los muertos recipe", "diaper rash"):
        suggestions.remember(query, "2026-01-01")
    assert suggestions.complete("dia") == ["dia de los muertos recipe"]
