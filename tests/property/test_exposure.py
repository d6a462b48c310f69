"""The risk of the union of exposed trees, by the seed profile's arrays and by definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.device import Algorithm, UserProfile, generalise
from tacit.device.generalise.mapping import map_topics
from tacit.device.generalise.measures import risk
from tacit.device.sending.exposure import union_risk, with_exposed
from tacit.taxonomy import TopicTree


def world(number: int) -> tuple[UserProfile, np.ndarray, np.random.Generator]:
    random = np.random.default_rng(number)
    size = int(random.integers(5, 50))
    parent = [-1, *[int(random.integers(max(0, t - 6), t)) for t in range(1, size)]]
    tree = TopicTree.from_parents(parent, [f"t{t}" for t in range(size)], random.exponential(1, size) + 0.1)
    documents = {int(t): 1.0 for t in random.choice(np.arange(1, size), size // 2, replace=False)}
    sensitivity: dict[int, float] = {}
    for topic in random.permutation(UserProfile(tree, documents, {}).topics[1:]).tolist()[:6]:
        if not any(tree.is_ancestor(topic, s) or tree.is_ancestor(s, topic) for s in sensitivity):
            sensitivity[topic] = float(random.exponential(1.0) + 0.1)
    return UserProfile(tree, documents, sensitivity), tree.support / tree.support[0], random


def some_rooted_subtree(profile: UserProfile, random: np.random.Generator) -> np.ndarray:
    chosen = random.choice(profile.topics, int(random.integers(1, len(profile.topics))))
    closed = {a for t in chosen.tolist() for a in [*profile.tree.ancestors(t), t]}
    return np.array(sorted(closed), np.int32)


def naive_union_risk(profile: UserProfile, exposed: set[int], topic: int = 0) -> float:
    below = [int(c) for c in profile.tree.children(topic) if int(c) in exposed]
    return max(float(profile.cost[topic]), sum(naive_union_risk(profile, exposed, c) for c in below))


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_the_seed_profile_knows_the_risk_of_the_union(number: int, delta: float) -> None:
    profile, prior, random = world(number)
    before = some_rooted_subtree(profile, random)
    retrieved = random.choice(profile.topics, 4).astype(np.int32)
    mapped = map_topics(profile, prior, retrieved, least=0.0)
    if mapped.seed is None:
        return
    seed = with_exposed(mapped.seed, profile, before)
    for algorithm in (Algorithm.GREEDY_RATIO, Algorithm.GREEDY_IL):
        result = generalise(seed, delta, algorithm)
        union = np.union1d(before, seed.node[result.kept]).astype(np.int32)
        assert risk(seed, result.kept) == pytest.approx(union_risk(profile, union), abs=1e-12)
        naive = naive_union_risk(profile, set(union.tolist()))
        assert union_risk(profile, union) == pytest.approx(naive / profile.wealth, abs=1e-12)
        root = np.zeros(len(seed), np.bool_)
        root[0] = True
        assert result.feasible == (risk(seed, root) <= delta)


@given(st.integers(0, 2**32 - 1))
def test_exposing_more_never_lowers_the_risk(number: int) -> None:
    profile, _, random = world(number)
    first, second = some_rooted_subtree(profile, random), some_rooted_subtree(profile, random)
    union = np.union1d(first, second).astype(np.int32)
    assert union_risk(profile, union) >= max(union_risk(profile, first), union_risk(profile, second)) - 1e-12
