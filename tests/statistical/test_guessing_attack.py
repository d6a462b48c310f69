"""The adversary of the device's guarantee: what guessing recovers from an exposed profile."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tacit.audit import device
from tacit.audit.device import hidden_alone, recovered, skating
from tacit.device import UserProfile, generalise
from tacit.device.generalise.mapping import map_topics
from tacit.taxonomy import TopicTree


def random_world(number: int) -> tuple[TopicTree, UserProfile, np.random.Generator]:
    """A taxonomy of 60 topics, a profile in it, four sensitive topics."""
    random = np.random.default_rng(number)
    parent = [-1, *[int(random.integers(max(0, t - 12), t)) for t in range(1, 60)]]
    tree = TopicTree.from_parents(parent, [f"t{t}" for t in range(60)], (random.exponential(1, 60) + 0.1))
    documents = {int(t): float(random.integers(1, 9)) for t in random.choice(np.arange(1, 60), 25, False)}
    sensitivity: dict[int, float] = {}
    for topic in random.permutation(UserProfile(tree, documents, {}).topics[1:]).tolist():
        if len(sensitivity) < 4 and not any(
            tree.is_ancestor(topic, s) or tree.is_ancestor(s, topic) for s in sensitivity
        ):
            sensitivity[topic] = float(random.exponential(1.0) + 0.2)
    return tree, UserProfile(tree, documents, sensitivity), random


def cuts(tree: TopicTree, exposed: set[int], topic: int) -> list[tuple[int, ...]]:
    """All cuts through the exposed tree below ``topic``."""
    below = [int(c) for c in tree.children(topic) if int(c) in exposed]
    found: list[tuple[int, ...]] = [(topic,)]
    if below:
        for parts in product(*(cuts(tree, exposed, child) for child in below)):
            found.append(tuple(t for part in parts for t in part))
    return found


@pytest.mark.parametrize("number", range(6))
def test_no_cut_recovers_more_than_the_risk_and_the_best_recovers_as_much(number: int) -> None:
    tree, profile, random = random_world(number)
    topics = random.choice(profile.topics[1:], 5, replace=False).astype(np.int32)
    mapped = map_topics(profile, tree.support / tree.support[0], topics, least=0.0)
    assert mapped.seed is not None
    least = profile.cost[0] / profile.wealth
    for delta in (min(1.0, least * 1.5), 0.4):
        result = generalise(mapped.seed, delta)
        if not result.feasible:
            continue
        exposed = set(result.topics.tolist())
        every = cuts(tree, exposed, 0)
        expected = [sum(profile.cost[t] for t in cut) / profile.wealth for cut in every]
        assert max(expected) == pytest.approx(result.risk)
        assert result.risk <= delta
        best = every[int(np.argmax(expected))]
        for cut in [every[i] for i in random.integers(0, len(every), 5)]:
            assert recovered(profile, cut) <= result.risk + 1e-12
        assert recovered(profile, best) == pytest.approx(result.risk)


def test_forbidding_is_caught() -> None:
    """Removing only the sensitive topics leaves their parents, from which they are guessed."""
    profile = skating()
    tree = profile.tree
    forbidding = {int(t) for t in profile.topics if t not in profile.sensitivity}
    assert max(sum(profile.cost[list(cut)]) for cut in cuts(tree, forbidding, 0)) == pytest.approx(0.5)
    says, holds, _ = hidden_alone()
    assert holds and "50%" in says
    mapped = map_topics(
        profile,
        tree.support / tree.support[0],
        np.array([*profile.sensitivity, tree.find("Top/Ball/Foot")], np.int32),
    )
    assert mapped.seed is not None
    safe = generalise(mapped.seed, 0.2)
    assert tree.find("Top/Ice") not in safe.topics
    assert tree.find("Top/Ball/Foot") in safe.topics


def test_a_profile_that_hides_topics_alone_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit of a device fails where generalising leaves the parents of what is severe."""

    def lazily(seed: object, delta: float) -> object:
        del delta
        return generalise(seed, 1.0)  # type: ignore[arg-type]

    monkeypatch.setattr(device, "generalise", lazily)
    _, holds, _ = hidden_alone()
    assert not holds
