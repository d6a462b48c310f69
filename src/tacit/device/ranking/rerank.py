"""Reranking with a profile: at the server with the exposed one, or on the device with all of it (7.5).

Results are scored against the profile, and the final order fuses that ranking with the engine's own by
Borda count. Two scores (the paper's own, by words, is in ``benchmarks/device_quality.py``):

- :func:`topic_scores`, for engines that file documents under topics: how much more likely than in the
  taxonomy at large the exposed profile makes the result's topic, ``ln(Pr(t | q, G) / Pr(t))`` of the
  lowest exposed topic t that covers it. Its expectation is PG (equation 10), the utility that
  generalisation preserves;
- :func:`interest_scores`, on the device only: the same ratio from the complete profile.

What a profile says nothing good about scores 0, and stays in the engine's order.
"""

import math
from collections.abc import Sequence

from tacit.device.loops.kernels import expected_documents
from tacit.device.profile.user import PSEUDO_DOCUMENTS, Floats, Integers, UserProfile
from tacit.taxonomy import TopicTree


def topic_scores(
    tree: TopicTree, prior: Floats, leaves: Integers, preferences: Floats, of_results: Integers
) -> list[float]:
    """The score of each result's topic under an exposed profile.

    Args:
        tree: the taxonomy.
        prior: Pr(t) of its topics.
        leaves: T_G(q), the exposed leaves.
        preferences: the user's preference for each, or equal shares where none are told.
        of_results: the topic of each result.
    """
    share: dict[int, float] = {}
    for leaf, preference in zip(leaves.tolist(), preferences.tolist(), strict=True):
        for topic in (*tree.ancestors(leaf), leaf):
            share[topic] = share.get(topic, 0.0) + preference
    scores = []
    for result in of_results.tolist():
        topic = result
        while topic > 0 and topic not in share:
            topic = int(tree.parent[topic])
        scores.append(max(0.0, math.log(share.get(topic, 0.0) / prior[topic])) if topic else 0.0)
    return scores


def interest_scores(
    profile: UserProfile, prior: Floats, of_results: Integers, pseudo: float = PSEUDO_DOCUMENTS
) -> list[float]:
    """The score of each result's topic under the complete profile. For the device only."""
    documents, support = float(profile.support[0]), profile.support
    scores = []
    for topic in of_results.tolist():
        expected = expected_documents(topic, profile.tree.parent, prior, support, pseudo)
        chance = documents * prior[topic]
        scores.append(math.log(expected / chance) if expected > chance else 0.0)
    return scores


def borda_fusion(*rankings: Sequence[int]) -> list[int]:
    """Fuse several orders of the same items: each gives an item a point for every item below it.

    Ties go to the order of the first ranking.
    """
    points: dict[int, int] = {}
    for ranking in rankings:
        for place, item in enumerate(ranking):
            points[item] = points.get(item, 0) + len(ranking) - place
    first = {item: place for place, item in enumerate(rankings[0])}
    return sorted(points, key=lambda item: (-points[item], first.get(item, len(first))))


def rerank(results: Sequence[int], scores: Sequence[float]) -> list[int]:
    """The engine's results in personalised order: Borda fusion of its order with that by score."""
    by_score = sorted(range(len(results)), key=lambda place: -scores[place])
    return borda_fusion(results, [results[place] for place in by_score])
