"""Which topics a query is about, and which of them the profile holds."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.device import UserProfile
from tacit.device.generalise.algorithms import evaluate
from tacit.device.generalise.mapping import map_topics
from tacit.device.loops.kernels import expected_documents
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


def test_relevance_counts_documents_and_an_upper_topic_covers_those_below() -> None:
    retrieved = topics("Sports/Ice/Figure", "Arts/Film", "Sports/Ice/Figure", "Sports/Ice", "Sports/Ball")
    mapped = map_topics(UserProfile(TREE, {1: 1}, {}), PRIOR, retrieved)
    found, relevance = mapped.topics, mapped.relevance
    assert list(found) == sorted(topics("Sports/Ice", "Sports/Ball", "Arts/Film"))
    share = dict(zip(found.tolist(), relevance.tolist(), strict=True))
    assert share[TREE.find("Top/Sports/Ice")] == 3
    assert relevance.sum() == len(retrieved)


def test_the_papers_rule_takes_the_overlap_with_preferences_from_support() -> None:
    rock, figure, ball = topics("Arts/Music/Rock", "Sports/Ice/Figure", "Sports/Ball").tolist()
    profile = UserProfile(TREE, {rock: 3, figure: 1, ball: 9}, {})
    retrieved = topics("Arts/Music/Rock", "Sports/Ice/Figure", "Sports/Ice/Speed", "Arts/Film")
    mapped = map_topics(profile, PRIOR, retrieved, pseudo=0.0, least=0.0)
    assert mapped.seed is not None
    names = [TREE.names[t] for t in mapped.seed.node]
    assert names == ["Top", "Arts", "Music", "Rock", "Sports", "Ice", "Figure"]
    mass = dict(zip(mapped.seed.node.tolist(), mapped.seed.mass.tolist(), strict=True))
    assert mass[rock] == pytest.approx(0.75)
    assert mass[0] == pytest.approx(1.0)
    assert mapped.seed.lca == 0
    assert mapped.seed.expected_content == pytest.approx(
        -0.75 * np.log(PRIOR[rock]) - 0.25 * np.log(PRIOR[figure])
    )
    assert 0 < evaluate(mapped.seed).power <= 1


def test_smoothing_lets_an_interest_speak_for_its_neighbours() -> None:
    jazz, speed = topics("Arts/Music/Jazz", "Sports/Ice/Speed").tolist()
    profile = UserProfile(TREE, {jazz: 8, speed: 1}, {})
    mapped = map_topics(profile, PRIOR, topics("Arts/Music/Rock", "Sports/Ice/Figure"), pseudo=2.0, least=0.0)
    assert mapped.seed is not None
    # Neither topic was ever clicked; the nearest known topics above them stand for them.
    leaves = [TREE.names[t] for t in mapped.seed.node if t not in mapped.seed.node[mapped.seed.parent[1:]]]
    assert leaves == ["Music", "Ice"]
    music = dict(zip(mapped.seed.node.tolist(), mapped.seed.mass.tolist(), strict=True))[
        topics("Arts/Music")[0]
    ]
    assert music > 0.5
    only = map_topics(profile, PRIOR, topics("Arts/Music/Rock", "Sports/Ice/Figure"), pseudo=2.0, least=0.4)
    assert only.seed is not None
    assert [TREE.names[t] for t in only.seed.node] == ["Top", "Arts", "Music"]


def test_expected_documents_add_up_over_children() -> None:
    profile = UserProfile(TREE, {int(topics("Arts/Music/Jazz")[0]): 8, int(topics("Sports")[0]): 3}, {})
    arts = int(topics("Arts")[0])
    whole = expected_documents(arts, TREE.parent, PRIOR, profile.support, 5.0)
    parts = [
        expected_documents(int(c), TREE.parent, PRIOR, profile.support, 5.0) for c in TREE.children(arts)
    ]
    assert sum(parts) == pytest.approx(whole)


def test_a_query_without_hits_touches_nothing() -> None:
    profile = UserProfile(TREE, {1: 2}, {})
    mapped = map_topics(profile, PRIOR, np.empty(0, np.int32))
    assert mapped.seed is None
    assert mapped.power == 0.0


def test_a_distinct_query_has_full_power() -> None:
    mapped = map_topics(UserProfile(TREE, {1: 1}, {}), PRIOR, topics("Sports/Ball"))
    assert mapped.power == pytest.approx(1.0)
