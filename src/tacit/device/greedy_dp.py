"""GreedyDP: prune the leaf that leaves the most discriminating power, down to the root (section 5.3.2).

As the paper describes it: every iteration evaluates the full discriminating power and risk of every
candidate profile, and the best profile within the bound is remembered. It makes the same choices as
GreedyIL (maximising what is left is minimising what is lost) at a far higher cost; it is here as the
peer to measure against.
"""

from __future__ import annotations

import numpy as np

from tacit.device.kernel import kernel
from tacit.device.power import power
from tacit.device.risk import acceptable, risk_layer
from tacit.device.seed import Flags, Floats, Integers

__all__ = ["greedy_dp"]


@kernel
def _is_leaf(parent: Integers, kept: Flags, topic: int) -> bool:
    for position in range(topic + 1, parent.size):
        if kept[position] and parent[position] == topic:
            return False
    return True


@kernel
def greedy_dp(
    parent: Integers,
    prior: Floats,
    mass: Floats,
    cost: Floats,
    absent: Floats,
    base: Floats,
    wealth: float,
    delta: float,
    lca: int,
    expected: float,
) -> tuple[Flags, Integers, Floats]:
    """The best profile met, the prunes that led to it, and the power after each."""
    size = parent.size
    kept = np.ones(size, np.bool_)
    order = np.empty(size, np.int32)
    powers = np.empty(size)
    best = kept.copy()
    best_steps = size - 1 if size > 1 else 0
    best_power = -1.0
    steps = 0
    layer, _ = risk_layer(parent, cost, absent, base, kept)
    if acceptable(layer[0], wealth, delta):
        return kept, order[:0], powers[:0]
    while steps < size - 1:
        chosen = -1
        highest = -1.0
        chosen_risk = 0.0
        for candidate in range(1, size):
            if not kept[candidate] or not _is_leaf(parent, kept, candidate):
                continue
            kept[candidate] = False
            left = power(parent, prior, mass, kept, lca, expected)
            layer, _ = risk_layer(parent, cost, absent, base, kept)
            if left > highest:
                chosen, highest, chosen_risk = candidate, left, layer[0]
            kept[candidate] = True
        kept[chosen] = False
        order[steps] = chosen
        powers[steps] = highest
        steps += 1
        if acceptable(chosen_risk, wealth, delta) and highest > best_power:
            best = kept.copy()
            best_power = highest
            best_steps = steps
    if best_power < 0.0:  # nothing satisfies the bound; the root is what is left
        best = kept
    return best, order[:best_steps], powers[:best_steps]
