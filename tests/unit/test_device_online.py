"""The online decision: when a profile goes out with a query, and when not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit import InputError, ParameterError
from tacit.device import (
    Decision,
    OnlineProfiler,
    ProfileStore,
    Repository,
    UserProfile,
)
from tacit.device.profile.repository import taxonomy_repository
from tacit.retrieval import Hit
from tacit.taxonomy import TopicTree

TREE = TopicTree.from_paths(
    [
        (("Drinks", "Coffee"), 5),
        (("Drinks", "Tea"), 5),
        (("Places", "Java"), 4),
        (("Places", "Bali"), 4),
        (("Code", "Java"), 3),
        (("Code", "Python"), 3),
    ]
)
COFFEE, ISLAND, CODE = (TREE.find(f"Top/{path}") for path in ("Drinks/Coffee", "Places/Java", "Code/Java"))


ANSWERS = {"java": [ISLAND, CODE, COFFEE], "coffee": [COFFEE], "nothing": []}


class FixedEngine:
    """Answers each query with known documents; document t is about topic t."""

    def search(self, query: str, k: int = 10) -> list[Hit]:
        return [Hit(topic, 1.0) for topic in ANSWERS[query]][:k]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    return Repository(taxonomy_repository(TREE).corpus, FixedEngine(), np.arange(len(TREE), dtype=np.int32))


def test_an_ambiguous_query_is_personalised(repository: Repository) -> None:
    profile = UserProfile(TREE, {CODE: 20, COFFEE: 1}, {COFFEE: 1.0})
    found = OnlineProfiler(repository, profile, 0.5).profile_query("java")
    assert found.decision is Decision.PERSONALISED
    assert CODE in found.exposed
    assert COFFEE not in found.exposed


def test_a_distinct_query_goes_out_alone(repository: Repository) -> None:
    profile = UserProfile(TREE, {CODE: 20}, {})
    found = OnlineProfiler(repository, profile).profile_query("coffee")
    assert found.decision is Decision.DISTINCT
    assert found.exposed == []
    off = OnlineProfiler(repository, profile, distinct=2.0).profile_query("coffee")
    assert off.decision is not Decision.DISTINCT


def test_an_unknown_or_empty_profile_says_nothing(repository: Repository) -> None:
    assert OnlineProfiler(repository, UserProfile(TREE, {CODE: 1}, {})).profile_query("nothing").exposed == []
    empty = OnlineProfiler(repository, UserProfile(TREE, {}, {})).profile_query("java")
    assert empty.decision is Decision.UNTOUCHED


def test_an_unattainable_bound_and_a_bare_root_send_nothing(repository: Repository) -> None:
    profile = UserProfile(TREE, {CODE: 20}, {CODE: 1.0})
    least = float(profile.cost[0])
    below = OnlineProfiler(repository, profile, least / 2).profile_query("java")
    assert below.decision is Decision.INFEASIBLE
    bare = OnlineProfiler(repository, profile, least * 1.01).profile_query("java")
    assert bare.decision is Decision.NOTHING_LEFT
    assert bare.exposed == []


def test_parameters_are_checked(repository: Repository) -> None:
    profile = UserProfile(TREE, {CODE: 1}, {})
    with pytest.raises(ParameterError, match="delta"):
        OnlineProfiler(repository, profile, -0.1)
    with pytest.raises(ParameterError, match="distinct must be"):
        OnlineProfiler(repository, profile, distinct=float("nan"))


def test_a_changed_taxonomy_is_noticed(tmp_path: Path) -> None:
    ProfileStore.create(tmp_path / "p", TREE).close()
    other = TopicTree.from_paths([(("Drinks", "Coffee"), 5), (("Drinks", "Milk"), 5)])
    with pytest.raises(InputError, match="another taxonomy"):
        ProfileStore.open(tmp_path / "p", other)


def test_what_goes_out_says_nothing_about_what_is_hidden(repository: Repository) -> None:
    """The message is the same however much the user reads on the hidden topic."""
    messages = []
    for tea in (1, 40):
        documents = {CODE: 20, COFFEE: 2, TREE.find("Top/Drinks/Tea"): tea, ISLAND: 5}
        profile = UserProfile(TREE, documents, {COFFEE: 1.0})
        found = OnlineProfiler(repository, profile, 0.3).profile_query("java")
        assert COFFEE not in found.exposed
        messages.append(found.exposed)
    assert messages[0] == messages[1]
