"""The user's profile: topics with supports, what is sensitive, and the part that a query touches.

A document of the user is filed under one topic, anywhere in the taxonomy. The support of a topic is the
number of documents filed under it or below it (equation 4, with documents at inner topics too), and a topic
is in the profile when its support is above 0.

**Privacy requirements** (Offline-2). The user names sensitive topics and a positive sensitivity for each;
their subtrees must not overlap (Definitions 3 and 4). The *cost* of a topic is what exposing it puts at risk:
a sensitive topic its sensitivity; a topic above sensitive ones the sensitivity that guessing its subtopics in
proportion to the taxonomy recovers (equation 6). Only topics in the profile count.

**Seed profile** (section 4, Online-1). All generalisation works on the small tree of topics that a query
touches: flat arrays in depth-first pre-order, so that a parent always stands before its children and one
backward pass aggregates bottom-up.

**Shadows.** What is hidden below a topic s is merged into the *shadow* of s, which stands for "any other
subtopic of s" (section 5.3.3, footnote 4). Shadows count as leaves: in mass, in prior and for the least
common ancestor. The shadow's share follows from what is kept::

    shadow mass(s)  = mass(s)  - sum of mass(c)  over the kept children c of s
    shadow prior(s) = prior(s) - sum of prior(c) over the kept children c of s

A leaf is a topic with everything in its shadow, so one formula serves leaves and inner topics alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.errors import InputError, ParameterError
from tacit.taxonomy import TopicTree

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SeedProfile:
    """A rooted subtree of the user's profile with everything that utility and risk depend on.

    Attributes:
        node: topic numbers in the taxonomy, ascending (pre-order); position 0 is the root.
        parent: position (not number) of each topic's parent; -1 for the root.
        prior: Pr(t), the share of topic t in the taxonomy (equations 2 and 3); 1 for the root.
        mass: Pr(t | q, H), the normalised preference (equation 7); 1 for the root.
        cost: cost(t), the sensitivity at risk when t is exposed (equation 6).
        wealth: total sensitivity of the profile, the sum of sen(s) (equation 15).
        lca: position of the least common ancestor of the query's topics.
        expected_content: expected IC of the query's topics, half the normaliser of equation 12.
        baseline: DP(q, R), the discriminating power of the query alone.
    """

    node: Integers
    parent: Integers
    prior: Floats
    mass: Floats
    cost: Floats
    wealth: float
    lca: int
    expected_content: float
    baseline: float = 0.0

    def __len__(self) -> int:
        return len(self.node)

    @property
    def arrays(self) -> tuple[Integers, Floats, Floats, Floats, float]:
        return self.parent, self.prior, self.mass, self.cost, self.wealth


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


@dataclass(frozen=True, eq=False)
class UserProfile:
    """What a user is interested in, and what of it is sensitive.

    Attributes:
        tree: the taxonomy.
        documents: how many of the user's documents are filed under each topic itself.
        sensitivity: sen(s) of every sensitive topic, whether in the profile yet or not.
    """

    tree: TopicTree
    documents: Mapping[int, float]
    sensitivity: Mapping[int, float]

    def __post_init__(self) -> None:
        for topic, count in self.documents.items():
            if not (count > 0 and math.isfinite(count)):
                raise ParameterError.outside(
                    "number of documents of a topic", count, "finite and greater than 0"
                )
            if not 0 <= topic < len(self.tree):
                raise ParameterError.outside("topic", topic, f"a number below {len(self.tree)}")
        check_requirements(self.tree, self.sensitivity)

    @cached_property
    def support(self) -> Floats:
        """The user support of each topic of the taxonomy: documents under it or below."""
        own = np.zeros(len(self.tree))
        own[list(self.documents)] = list(self.documents.values())
        running = np.concatenate(([0.0], np.cumsum(own)))
        return running[self.tree.end] - running[:-1]

    @cached_property
    def topics(self) -> Integers:
        """The topics in the profile H, ascending: those with documents, and all above them."""
        return np.flatnonzero(self.support > 0).astype(np.int32)

    @cached_property
    def _cost_layer(self) -> tuple[Floats, float]:
        """cost(t) of every topic of the taxonomy, and the total sensitivity in the profile.

        Equation 6 unrolled: on the way up, a sensitive topic s adds sen(s) times the product of the
        conditional probabilities, which is Pr(s | t), to every topic t above it.
        """
        cost, wealth = np.zeros(len(self.tree)), 0.0
        for topic, value in self.sensitivity.items():
            if self.support[topic] > 0:
                wealth += value
                cost[topic] = value
                for above in self.tree.ancestors(topic):
                    cost[above] += value * self.tree.probability(topic, given=above)
        return cost, wealth

    @property
    def cost(self) -> Floats:
        """cost(t) of each topic of the taxonomy (equation 6)."""
        return self._cost_layer[0]

    @property
    def wealth(self) -> float:
        """The total sensitivity of the profile, by which risk is normalised."""
        return self._cost_layer[1]

    @property
    def sensitive(self) -> list[int]:
        return sorted(topic for topic in self.sensitivity if self.support[topic] > 0)

    def as_data(self) -> dict[str, Any]:
        return {
            "topics": [
                {
                    "topic": self.tree.label(topic),
                    "documents": self.documents.get(topic, 0.0),
                    "support": float(self.support[topic]),
                }
                for topic in self.topics.tolist()
            ],
            "sensitive": [
                {"topic": self.tree.label(topic), "sensitivity": value}
                for topic, value in sorted(self.sensitivity.items())
            ],
        }


PSEUDO_DOCUMENTS = 20.0
"""How many documents the taxonomy's own proportions count for, beside the user's."""
