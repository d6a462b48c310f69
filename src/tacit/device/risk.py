"""Risk: how much sensitivity an adversary recovers from an exposed profile (section 5.1.2).

The adversary knows the taxonomy, sees the exposed tree G, and guesses what was cut off below each
exposed topic in proportion to the taxonomy's support. The cost of a topic is the sensitivity that such
a guess recovers in expectation (:mod:`tacit.device.cost`), and the risk of a tree is::

    Risk(t) = max(cost(t), sum of Risk(c) over the exposed children c)      (14)
    risk(G) = Risk(root) / sum of sen(s)                                    (15)

What was sent before counts as exposed too: ``base`` and ``absent`` of the seed profile hold its share,
so the same recursion gives the risk of the union of all exposed trees. Both are 0 for a single query.
"""

from __future__ import annotations

import numpy as np

from tacit.device.kernel import kernel
from tacit.device.seed import Flags, Floats, Integers, SeedProfile

__all__ = ["acceptable", "normalised", "risk", "risk_layer"]


@kernel
def risk_layer(
    parent: Integers, cost: Floats, absent: Floats, base: Floats, kept: Flags
) -> tuple[Floats, Floats]:
    """Risk(t) of every topic and the sum below it, children first."""
    below = base.copy()
    layer = np.empty(parent.size)
    for position in range(parent.size - 1, -1, -1):
        layer[position] = max(cost[position], below[position]) if kept[position] else absent[position]
        if position > 0:
            below[parent[position]] += layer[position]
    return layer, below


@kernel
def normalised(unnormalised: float, wealth: float) -> float:
    """A risk as a share of the total sensitivity (equation 15); 0 where nothing is sensitive.

    Infinite where the numbers mean nothing (one overflowed, is no number or negative, or something is at
    risk of a total of nothing), so that no bound counts as kept.
    """
    if wealth == 0.0 and unnormalised == 0.0:
        return 0.0
    if not (0.0 < wealth < np.inf and 0.0 <= unnormalised < np.inf):
        return np.inf
    return min(1.0, unnormalised / wealth)  # sums may round to above 1


@kernel
def acceptable(unnormalised: float, wealth: float, delta: float) -> bool:
    """Whether a risk satisfies the bound: risk <= delta (line 5 of Algorithm 1, not the strict <)."""
    return normalised(unnormalised, wealth) <= delta


def risk(seed: SeedProfile, kept: Flags | None = None) -> float:
    """risk(q, G) of equation 15, in [0, 1]; 0 where nothing is sensitive."""
    flags = np.ones(len(seed), np.bool_) if kept is None else kept
    layer, _ = risk_layer(seed.parent, seed.cost, seed.absent, seed.base, flags)
    return normalised(float(layer[0]), seed.wealth)
