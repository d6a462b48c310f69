"""The user's profile: a trie of topics with supports, and the privacy requirements on it (section 3.1).

A document of the user is filed under one topic, anywhere in the taxonomy. The support of a topic is
the number of documents filed under it or below it (equation 4, with documents at inner topics too), and
a topic is in the profile when its support is above 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.device.cost import check_requirements, cost_layer
from tacit.device.seed import Floats, Integers
from tacit.errors import ParameterError
from tacit.taxonomy import TopicTree

__all__ = ["UserProfile"]


@dataclass(frozen=True, eq=False)
class UserProfile:
    """What a user is interested in, and what of it is sensitive.

    Attributes:
        tree: the taxonomy.
        documents: how many of the user's documents are filed under each topic itself.
        sensitivity: sen(s) of every sensitive topic, whether in the profile yet or not.
        everywhere: whether every sensitive topic counts, not only those in the profile. Then costs do not
            depend on what the person reads.
    """

    tree: TopicTree
    documents: Mapping[int, float]
    sensitivity: Mapping[int, float]
    everywhere: bool = False

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
    def own(self) -> Floats:
        """Documents filed under each topic of the taxonomy itself."""
        own = np.zeros(len(self.tree))
        own[list(self.documents)] = list(self.documents.values())
        return own

    @cached_property
    def support(self) -> Floats:
        """The user support of each topic of the taxonomy: documents under it or below."""
        running = np.concatenate(([0.0], np.cumsum(self.own)))
        return running[self.tree.end] - running[:-1]

    @cached_property
    def topics(self) -> Integers:
        """The topics in the profile H, ascending: those with documents, and all above them."""
        return np.flatnonzero(self.support > 0).astype(np.int32)

    @cached_property
    def _cost_layer(self) -> tuple[Floats, float]:
        counted = np.ones(len(self.tree)) if self.everywhere else self.support
        return cost_layer(self.tree, counted, self.sensitivity)

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
        """The sensitive topics that are in the profile."""
        return sorted(topic for topic in self.sensitivity if self.support[topic] > 0)
