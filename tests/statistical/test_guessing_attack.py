"""The adversary of the device's guarantee, simulated: what guessing really recovers from an exposed profile.

False-alarm rate: each simulated mean is compared with a bound at 5 standard errors; a true bound fails with
probability below 3e-7 a comparison (normal approximation; the quantities are bounded by the wealth), and
there are fewer than 1,000 comparisons.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tacit.device import UserProfile, generalise
from tacit.device.generalise.mapping import map_topics
from tacit.taxonomy import TopicTree

GUESSES = 20_000


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


def guess(profile: UserProfile, topic: int, random: np.random.Generator) -> float:
    """One guess: follow the taxonomy from ``topic`` down; what a hit on a sensitive topic recovers."""
    tree = profile.tree
    while True:
        if topic in profile.sensitivity and profile.support[topic] > 0:
            return profile.sensitivity[topic]
        children = tree.children(topic)
        if len(children) == 0:
            return 0.0
        topic = int(random.choice(children, p=tree.support[children] / tree.support[children].sum()))


def cuts(tree: TopicTree, exposed: set[int], topic: int) -> list[tuple[int, ...]]:
    """All cuts through the exposed tree below ``topic``."""
    below = [int(c) for c in tree.children(topic) if int(c) in exposed]
    found: list[tuple[int, ...]] = [(topic,)]
    if below:
        for parts in product(*(cuts(tree, exposed, child) for child in below)):
            found.append(tuple(t for part in parts for t in part))
    return found


def recovered(profile: UserProfile, cut: tuple[int, ...], random: np.random.Generator) -> tuple[float, float]:
    """Mean share of the total sensitivity recovered by guessing from a cut, and its standard error."""
    each = [
        np.array([guess(profile, topic, random) for _ in range(GUESSES // 20)]) / profile.wealth
        for topic in cut
    ]
    mean = sum(float(values.mean()) for values in each)
    error = float(np.sqrt(sum(values.var() / len(values) for values in each)))
    return mean, error


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
        tried = [best, *[every[i] for i in random.integers(0, len(every), 5)]]
        for cut in tried:
            mean, error = recovered(profile, cut, random)
            assert mean <= result.risk + 5 * error + 1e-12
        mean, error = recovered(profile, best, random)
        assert abs(mean - result.risk) <= 5 * error + 1e-12


def test_forbidding_is_caught() -> None:
    """Removing only the sensitive topics leaves their parents, from which they are guessed."""
    tree = TopicTree.from_paths(
        [(("Ice", "Figure"), 1), (("Ice", "Speed"), 1), (("Ball", "Foot"), 4), (("Ball", "Hand"), 4)]
    )
    figure = tree.find("Top/Ice/Figure")
    profile = UserProfile(tree, {figure: 1, tree.find("Top/Ball/Foot"): 3}, {figure: 1.0})
    forbidding = {int(t) for t in profile.topics if t != figure}
    random = np.random.default_rng(1)
    mean, error = recovered(profile, (tree.find("Top/Ice"), tree.find("Top/Ball/Foot")), random)
    assert max(sum(profile.cost[list(cut)]) for cut in cuts(tree, forbidding, 0)) == pytest.approx(0.5)
    assert mean == pytest.approx(0.5, abs=5 * error)
    delta = 0.2
    assert mean - 5 * error > delta, "the attack must catch a mechanism without generalisation"
    retrieved = np.array([figure, tree.find("Top/Ball/Foot")], np.int32)
    mapped = map_topics(profile, tree.support / tree.support[0], retrieved)
    assert mapped.seed is not None
    safe = generalise(mapped.seed, delta)
    assert tree.find("Top/Ice") not in safe.topics
    assert tree.find("Top/Ball/Foot") in safe.topics
