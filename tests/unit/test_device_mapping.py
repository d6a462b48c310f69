"""Which topics a query is about, and which of them the profile holds."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.device import UserProfile
from tacit.device.mapping import map_topics, relevant_topics
from tacit.device.power import discriminating_power
from tacit.taxonomy import TopicTree

TREE = TopicTree.from_paths(
    [
        (("Arts", "Music", "Jazz"), 1),
        (("Arts", "Music", "Rock"), 3),
        (("Arts", "Film"), 4),
        (("Sports", "Ice", "Figure"), 2),
        (("Sports", "Ice", "Speed"), 2),
        (("Sports", "Ball"), 4),
    ]
)
PRIOR = TREE.support / TREE.support[0]


def topics(*paths: str) -> np.ndarray:
    return np.array([TREE.find("Top/" + path) for path in paths], np.int32)


def test_relevance_counts_documents_and_upper_topics_are_shared_downwards() -> None:
    retrieved = topics("Sports/Ice/Figure", "Arts/Film", "Sports/Ice/Figure", "Sports/Ice/Speed", "Sports")
    found, relevance = relevant_topics(retrieved, TREE.end)
    assert list(found) == sorted(topics("Sports/Ice/Figure", "Sports/Ice/Speed", "Arts/Film"))
    share = dict(zip(found.tolist(), relevance.tolist(), strict=True))
    assert share[TREE.find("Top/Sports/Ice/Figure")] == pytest.approx(2 + 2 / 3)
    assert share[TREE.find("Top/Sports/Ice/Speed")] == pytest.approx(1 + 1 / 3)
    assert relevance.sum() == len(retrieved)


def test_the_seed_profile_is_the_overlap_with_preferences_from_support() -> None:
    music, ice = topics("Arts/Music/Rock")[0], topics("Sports/Ice/Figure")[0]
    profile = UserProfile(TREE, {int(music): 3, int(ice): 1, int(topics("Sports/Ball")[0]): 9}, {})
    mapped = map_topics(profile, PRIOR, topics("Arts/Music/Rock", "Sports/Ice/Figure", "Arts/Film"))
    assert mapped.seed is not None
    assert [TREE.names[t] for t in mapped.seed.node] == [
        "Top",
        "Arts",
        "Music",
        "Rock",
        "Sports",
        "Ice",
        "Figure",
    ]
    mass = dict(zip(mapped.seed.node.tolist(), mapped.seed.mass.tolist(), strict=True))
    assert mass[int(music)] == pytest.approx(0.75)
    assert mass[0] == pytest.approx(1.0)
    assert mapped.seed.lca == 0
    assert 0 < discriminating_power(mapped.seed) <= 1


def test_an_interest_filed_above_a_relevant_topic_covers_it() -> None:
    profile = UserProfile(TREE, {int(topics("Arts/Music")[0]): 2, int(topics("Sports/Ice/Speed")[0]): 1}, {})
    mapped = map_topics(profile, PRIOR, topics("Arts/Music/Jazz", "Sports/Ice/Figure"))
    assert mapped.seed is not None
    # Ice is in the profile only because of Speed: it holds no documents of its own and says nothing.
    assert [TREE.names[t] for t in mapped.seed.node] == ["Top", "Arts", "Music"]


def test_a_query_without_hits_touches_nothing() -> None:
    profile = UserProfile(TREE, {1: 2}, {})
    mapped = map_topics(profile, PRIOR, np.empty(0, np.int32))
    assert mapped.seed is None
    assert mapped.power == 0.0


def test_a_distinct_query_has_full_power() -> None:
    mapped = map_topics(UserProfile(TREE, {1: 1}, {}), PRIOR, topics("Sports/Ball"))
    assert mapped.power == pytest.approx(1.0)
