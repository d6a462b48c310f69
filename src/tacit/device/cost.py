"""Privacy requirements: which topics are sensitive, how much, and what that makes others cost (Offline-2).

The user names sensitive topics and a positive sensitivity for each; their subtrees must not overlap
(Definitions 3 and 4). The **cost layer** says what exposing a topic puts at risk: a sensitive topic its
sensitivity; a topic above sensitive ones the sensitivity that guessing its subtopics in proportion to
the taxonomy recovers (equation 6).

Only topics in the profile count: a sensitive topic that the user has no documents about cannot be
recovered from the profile, and is kept for the day it appears there.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from tacit.device.seed import Floats
from tacit.errors import InputError, ParameterError
from tacit.taxonomy import TopicTree

__all__ = ["HIGHEST_SENSITIVITY", "LOWEST_SENSITIVITY", "check_requirements", "cost_layer"]

LOWEST_SENSITIVITY, HIGHEST_SENSITIVITY = 1e-6, 1e6
"""Only ratios of sensitivities matter. Within these limits no sum of them overflows and no share of one
rounds to nothing: either would make every risk 0."""


def check_requirements(tree: TopicTree, sensitivity: Mapping[int, float]) -> None:
    """Make sure that requirements can be used.

    Raises:
        ParameterError: a sensitivity lies outside its limits, or the root is named.
        InputError: the subtree of one sensitive topic lies inside that of another.
    """
    for topic, value in sensitivity.items():
        if not LOWEST_SENSITIVITY <= value <= HIGHEST_SENSITIVITY:
            raise ParameterError.outside(
                "sensitivity",
                value,
                f"a number from {LOWEST_SENSITIVITY:g} to {HIGHEST_SENSITIVITY:g}",
                "A profile that holds another: `tacit profile protect … --remove`, then protect it again.",
            )
        if topic == 0:
            raise ParameterError(
                "the root cannot be sensitive: it covers everything.", "Name a topic below it."
            )
    ordered = sorted(sensitivity)
    overlapping = sum(lower < tree.end[upper] for upper, lower in pairwise(ordered))
    if overlapping:
        raise InputError(
            f"{overlapping} of {len(ordered)} sensitive topics lie inside another; they must not overlap.",
            "Protect either the wider topic or the narrower ones, not both.",
        )


def cost_layer(tree: TopicTree, support: Floats, sensitivity: Mapping[int, float]) -> tuple[Floats, float]:
    """cost(t) of every topic of the taxonomy, and the total sensitivity in the profile.

    Equation 6 unrolled: on the way up, a sensitive topic s adds sen(s) times the product of the
    conditional probabilities, which is Pr(s | t), to every topic t above it.

    Args:
        tree: the taxonomy.
        support: the user's support of every topic; above 0 where the topic is in the profile.
        sensitivity: sen(s) of every sensitive topic.
    """
    check_requirements(tree, sensitivity)
    cost = np.zeros(len(tree))
    wealth = 0.0
    for topic, value in sensitivity.items():
        if support[topic] <= 0:
            continue
        wealth += value
        cost[topic] = value
        for above in tree.ancestors(topic):
            cost[above] += value * tree.probability(topic, given=above)
    return cost, wealth
