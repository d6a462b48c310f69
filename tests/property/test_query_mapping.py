"""What must hold of every mapping of a query onto a profile."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.device import UserProfile
from tacit.device.generalise.algorithms import evaluate
from tacit.device.generalise.mapping import map_topics
from tacit.taxonomy import TopicTree


def common_ancestor(tree: TopicTree, topics: list[int]) -> int:
    """The deepest topic that is each of these or lies above it."""
    above = ({*tree.ancestors(topic), topic} for topic in topics)
    return max(set.intersection(*above), key=lambda topic: tree.depth[topic])


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1.0, 20.0]),
    st.sampled_from([0.0, 0.05, 0.3]),
)
def test_mappings_are_consistent(number: int, pseudo: float, least: float) -> None:
    random = np.random.default_rng(number)
    size = int(random.integers(2, 60))
    parent = [-1, *[int(random.integers(max(0, t - 8), t)) for t in range(1, size)]]
    tree = TopicTree.from_parents(parent, [f"t{t}" for t in range(size)], random.exponential(1, size) + 0.1)
    prior = tree.support / tree.support[0]
    chosen = random.choice(np.arange(1, size), int(random.integers(1, size)), replace=False)
    profile = UserProfile(tree, {int(t): float(random.integers(1, 9)) for t in chosen}, {})
    retrieved = random.integers(0, size, int(random.integers(0, 30))).astype(np.int32)
    mapped = map_topics(profile, prior, retrieved, pseudo=pseudo, least=least)

    topics = mapped.topics.tolist()
    assert topics == sorted(set(topics))
    assert not any(tree.is_ancestor(a, b) for a in topics for b in topics if a != b)
    assert mapped.relevance.sum() == len(retrieved)
    assert all(any(tree.is_ancestor(t, int(r)) for t in topics) for r in retrieved)
    assert 0 <= mapped.power <= 1
    if topics:
        share, content = mapped.relevance / mapped.relevance.sum(), -np.log(prior[mapped.topics])
        gained = np.sum(share * (np.log(share) + content)) - np.log(prior[common_ancestor(tree, topics)])
        expected = float(np.sum(share * content))
        power = min(1.0, max(0.0, gained / (2 * expected))) if expected > 0 else 0.0
        assert mapped.power == pytest.approx(power)
    seed = mapped.seed
    if seed is None:
        return
    assert seed.node[0] == 0
    assert np.all(np.diff(seed.node) > 0)
    assert np.array_equal(seed.node[seed.parent[1:]], tree.parent[seed.node[1:]])
    assert np.all(profile.support[seed.node] > 0)
    inner = set(seed.parent.tolist())
    leaves = [place for place in range(len(seed)) if place not in inner]
    assert sum(seed.mass[place] for place in leaves) == pytest.approx(1.0)
    assert seed.mass[0] == pytest.approx(1.0)
    assert all(seed.mass[place] >= least - 1e-12 for place in leaves)
    assert int(seed.node[seed.lca]) == common_ancestor(tree, [int(seed.node[place]) for place in leaves])
    assert seed.expected_content == pytest.approx(
        -sum(seed.mass[place] * np.log(seed.prior[place]) for place in leaves)
    )
    if pseudo == 0.0 and least == 0.0:  # the paper's rule: T(q) in the profile, preference by support
        expected = {t: profile.support[t] for t in topics if t and profile.support[t] > 0}
        assert [int(seed.node[place]) for place in leaves] == sorted(expected)
        total = sum(expected.values())
        for place in leaves:
            assert seed.mass[place] == pytest.approx(expected[int(seed.node[place])] / total)
    assert 0 <= evaluate(seed).power <= 1
