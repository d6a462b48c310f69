"""The device over real taxonomies other than WordNet."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.realdata import shared_data

from tacit.device import OnlineProfiler, ProfileStore, SourceDocument, build_profile, load_repository


@pytest.mark.parametrize(
    ("file", "page", "query", "expected"),
    [
        ("odp_topics_level4_background.tsv", "hybrid cars and racing", "racing", "Top/Sports/Motorsports"),
        (
            "topics_taxonomy_v2.md",
            "an evening of jazz",
            "jazz",
            "Top/Arts & Entertainment/Music & Audio/Jazz",
        ),
    ],
)
def test_a_profile_over_a_real_taxonomy(
    file: str, page: str, query: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    repository = load_repository(str(shared_data(file)))
    tree = repository.tree
    topic = tree.find(expected)
    with ProfileStore.create(tmp_path / "p", tree, file) as store:
        documents = [
            SourceDocument(str(n), "", None, f"{tree.names[topic]} {page}", tree.names[topic])
            for n in range(4)
        ]
        assert build_profile(store, repository, documents).filed == 4
        assert store.profile().support[topic] > 0.5  # the five nearest topics share four documents
        store.protect(topic, 1.0)
        profiler = OnlineProfiler(repository, store.profile(), 0.5, distinct=2.0)
        found = profiler.profile_query(query)
    assert found.generalisation is not None
    assert topic not in found.exposed
    assert found.generalisation.risk <= 0.5
