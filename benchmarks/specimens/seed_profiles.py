"""Random seed profiles, to measure and to test algorithms on shapes that no data set happens to have."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tacit.device.generalise.mapping import map_topics
from tacit.device.profile.user import Floats, Integers, SeedProfile, UserProfile
from tacit.taxonomy import TopicTree

__all__ = ["random_seed_profile", "seed_profile", "taxonomy_seed_profile"]

_Wholes = npt.NDArray[np.int64]


def seed_profile(
    parent: Sequence[int] | Integers,
    prior: Sequence[float] | Floats,
    leaf_mass: Sequence[float] | Floats,
    cost: Sequence[float] | Floats,
    wealth: float,
) -> SeedProfile:
    """A seed profile from its tree, parents first, and the (unnormalised) preferences of its leaves."""
    parents = np.asarray(parent, np.int32)
    priors, costs = np.asarray(prior, np.float64), np.asarray(cost, np.float64)
    mass = np.array(leaf_mass, np.float64)
    mass[parents[1:]] = 0.0
    mass /= mass.sum()
    expected = float(np.sum(mass * -np.log(priors)))
    for position in range(len(parents) - 1, 0, -1):
        mass[parents[position]] += mass[position]
    lca = 0
    while len(children := np.flatnonzero(parents == lca)) == 1:
        lca = int(children[0])
    nodes = np.arange(len(parents), dtype=np.int32)
    return SeedProfile(nodes, parents, priors, mass, costs, float(wealth), lca, expected)


def random_seed_profile(
    random: np.random.Generator, size: int, sensitive: int = 3, *, climb: float = 0.5
) -> SeedProfile:
    """A seed profile of ``size`` topics as a taxonomy, a profile and a query might give it.

    The taxonomy is larger than the profile: most inner topics have further subtopics outside, and some
    of the sensitive topics lie there, so that costs do not only come from topics in sight.

    Args:
        random: where the randomness comes from.
        size: number of topics.
        sensitive: number of sensitive topics to aim for; fewer where they would overlap.
        climb: how far the tree climbs back after each topic: towards 0 a chain, towards 1 a bush.
    """
    parent = np.full(size, -1, np.int32)
    for topic in range(1, size):
        above = topic - 1
        while above > 0 and random.random() < climb:
            above = int(parent[above])
        parent[topic] = above
    end = np.arange(1, size + 1)
    inner = np.zeros(size, bool)
    for topic in range(size - 1, 0, -1):
        end[parent[topic]] = max(end[parent[topic]], end[topic])
        inner[parent[topic]] = True
    outside = np.where(inner & (random.random(size) < 0.7), random.exponential(1.0, size), 0.0)
    support = np.where(inner, outside, random.exponential(1.0, size) + 1e-3)
    for topic in range(size - 1, 0, -1):
        support[parent[topic]] += support[topic]
    prior = support / support[0]
    sensitivity, hidden = _sensitive_topics(random, parent.tolist(), end, sensitive)
    free = np.where(inner, outside / support, 1.0)  # the share of each topic outside the seed profile
    cost = np.zeros(size)
    for topic in range(size - 1, -1, -1):
        if sensitivity[topic] > 0:
            cost[topic] = sensitivity[topic]
        else:
            cost[topic] += hidden[topic] * free[topic] * random.random()
        if topic > 0:
            cost[parent[topic]] += cost[topic] * prior[topic] / prior[parent[topic]]
    weights = random.exponential(1.0, size) + 1e-6
    return seed_profile(parent, prior, weights, cost, float(sensitivity.sum() + hidden.sum()))


def taxonomy_seed_profile(
    random: np.random.Generator, tree: TopicTree, size: int, sensitive: int = 5
) -> SeedProfile:
    """A seed profile of about ``size`` topics of a real taxonomy.

    Random topics are the user's documents, and the query is about all of them. The sensitive topics are
    drawn from the profile at depth 3 and below, as in the paper's experiments (section 7.1).
    """
    documents: dict[int, float] = {}
    covered: set[int] = {0}
    while len(covered) < size:
        topic = int(random.integers(1, len(tree)))
        documents[topic] = documents.get(topic, 0.0) + float(random.integers(1, 10))
        covered.update([*tree.ancestors(topic), topic])
    sensitivity: dict[int, float] = {}
    for topic in random.permutation([topic for topic in sorted(covered) if tree.depth[topic] >= 3]).tolist():
        if len(sensitivity) >= sensitive:
            break
        if not any(tree.is_ancestor(topic, s) or tree.is_ancestor(s, topic) for s in sensitivity):
            sensitivity[topic] = float(random.exponential(1.0) + 0.05)
    profile = UserProfile(tree, documents, sensitivity)
    # A relevant topic covers those below it; only the lowest ones give a tree of the size asked for.
    found = [*sorted(documents), len(tree)]
    lowest = [topic for topic, after in pairwise(found) if after >= tree.end[topic]]
    retrieved = np.array(lowest, np.int32)
    mapped = map_topics(profile, tree.support / tree.support[0], retrieved, least=0.0)
    assert mapped.seed is not None
    return mapped.seed


def _sensitive_topics(
    random: np.random.Generator, parent: list[int], end: _Wholes, wanted: int
) -> tuple[Floats, Floats]:
    """Sensitivities of topics in the tree, and of unseen topics directly below each; no overlap."""
    size = len(parent)
    sensitivity, hidden = np.zeros(size), np.zeros(size)
    covered = np.zeros(size, bool)  # at, above or below a sensitive topic
    for topic in random.permutation(size):
        if np.count_nonzero(sensitivity) + np.count_nonzero(hidden) >= wanted:
            break
        value = random.exponential(1.0) + 0.05
        if random.random() < 0.25 and not sensitivity[_path(parent, topic)].any():
            hidden[topic] = value
            covered[_path(parent, topic)] = True
        elif topic > 0 and not covered[topic]:
            sensitivity[topic] = value
            covered[topic : end[topic]] = True
            covered[_path(parent, topic)] = True
    return sensitivity, hidden


def _path(parent: list[int], topic: int) -> list[int]:
    path = [int(topic)]
    while parent[path[-1]] >= 0:
        path.append(parent[path[-1]])
    return path
