"""Risk and utility of an exposed profile (sections 5.1.1 and 5.1.2).

**Risk**: how much sensitivity an adversary recovers. The adversary knows the taxonomy, sees the exposed tree
G, and guesses what was cut off below each exposed topic in proportion to the taxonomy's support. The cost
of a topic is the sensitivity that such a guess recovers in expectation, and the risk of a tree is::

    Risk(t) = max(cost(t), sum of Risk(c) over the exposed children c)      (14)
    risk(G) = Risk(root) / sum of sen(s)                                    (15)

**Utility**: how well a query with a (generalised) profile tells the user's intention.

- information content IC(t) = -ln Pr(t): how specific a topic is (9);
- profile granularity PG: the divergence between the query's topics and the taxonomy's prior (10);
- topic similarity TS: the information content of the topics' least common ancestor (11);
- discriminating power DP: their sum, normalised into [0, 1] (12).

PG and TS count shadows as leaves (:mod:`tacit.device.profile.user`). The leaves and shadows of any rooted
subtree then partition the topics, and pruning a leaf merges two cells of the partition: PG is a
divergence over the partition, so it can only fall (the log-sum inequality), and the least common
ancestor stays where it is until a single leaf is left. This is Theorem 2; without shadows it fails.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.device.loops import kernels as loops
from tacit.device.profile.user import Flags, SeedProfile


class Measures(NamedTuple):
    """What an exposed profile is worth and what it puts at risk."""

    power: float
    """DP(q, G) of equation 12, in [0, 1]."""
    risk: float
    """risk(q, G) of equation 15, in [0, 1]; infinite where the numbers mean nothing."""
    granularity: float
    """PG(q, G) of equation 10."""
    similarity: float
    """TS(q, G) of equation 11."""


def evaluate(seed: SeedProfile, kept: Flags | None = None) -> Measures:
    """Measure a profile G that holds the ``kept`` topics of a seed profile (all, if not given).

    The normaliser of the power belongs to the whole seed profile, not to G. A query that touches nothing but
    the root tells nothing: its power is 0.
    """
    flags = np.ones(len(seed), np.bool_) if kept is None else kept
    scratch = np.empty((2, len(seed)))
    return Measures(
        *loops.evaluate(seed.arrays, seed.lca, seed.expected_content, flags, scratch[0], scratch[1])
    )


def risk(seed: SeedProfile, kept: Flags | None = None) -> float:
    """risk(q, G) of equation 15, in [0, 1]; 0 where nothing is sensitive."""
    return evaluate(seed, kept).risk
