"""Greedy by loss per unit of risk: the default, an improvement on the paper's two algorithms.

GreedyIL prunes whatever loses least, also where nothing is sensitive: such prunes cost utility and buy
no safety. This algorithm

1. considers cutting any *subtree*, not just a leaf, and only where that lowers the risk of the whole;
2. cuts where the information lost per unit of risk removed is smallest, counting no more risk than
   still has to go;
3. when the bound holds, puts back what fits after all (an early cut may turn out unnecessary), most
   valuable first.

Theorem 2 makes this sound: a topic that adds no risk is never worth hiding, so only topics at or above
sensitive ones are ever decided on, and they are few.
"""

from __future__ import annotations

import numpy as np

from tacit.device.kernel import kernel
from tacit.device.power import divergence, shadows
from tacit.device.risk import acceptable, risk_layer
from tacit.device.seed import Flags, Floats, Integers

__all__ = ["greedy_ratio"]


@kernel
def _subtree_ends(parent: Integers) -> Integers:
    """One past the last position of each topic's subtree."""
    end = np.arange(1, parent.size + 1).astype(np.int32)
    for position in range(parent.size - 1, 0, -1):
        if end[position] > end[parent[position]]:
            end[parent[position]] = end[position]
    return end


@kernel
def _subtree_shares(parent: Integers, kept: Flags, shadow_mass: Floats, shadow_prior: Floats) -> Floats:
    """The share of PG that each kept subtree holds."""
    share = np.zeros(parent.size)
    for position in range(parent.size - 1, -1, -1):
        if kept[position]:
            share[position] += divergence(shadow_mass[position], shadow_prior[position])
            if position > 0:
                share[parent[position]] += share[position]
    return share


@kernel
def _root_risk_with(
    topic: int, new_layer: float, parent: Integers, cost: Floats, layer: Floats, below: Floats
) -> float:
    """Risk(root) if Risk(topic) were ``new_layer``."""
    while topic > 0:
        above = parent[topic]
        changed = max(cost[above], below[above] - layer[topic] + new_layer)
        if changed == layer[above]:
            return float(layer[0])
        topic, new_layer = above, changed
    return new_layer


@kernel
def _merge_loss(
    topic: int,
    above: int,
    share: Floats,
    prior: Floats,
    mass: Floats,
    shadow_mass: Floats,
    shadow_prior: Floats,
) -> float:
    """Information lost when the whole subtree of ``topic`` goes into its parent's shadow."""
    hidden = divergence(shadow_mass[above], shadow_prior[above])
    merged = divergence(shadow_mass[above] + mass[topic], shadow_prior[above] + prior[topic])
    return float(share[topic]) + hidden - merged


@kernel
def _put_back(
    parent: Integers,
    prior: Floats,
    mass: Floats,
    cost: Floats,
    absent: Floats,
    base: Floats,
    wealth: float,
    delta: float,
    kept: Flags,
    free: Flags,
    order: Integers,
    losses: Floats,
    steps: int,
) -> int:
    """Restore hidden topics while the bound holds, the most informative first.

    A topic comes back with everything below it that adds no risk (``free``). Each is noted as a step
    with its loss counted negative; gives the number of steps so far.
    """
    size = parent.size
    while steps < order.size:
        shadow_mass, shadow_prior = shadows(parent, prior, mass, kept)
        layer, below = risk_layer(parent, cost, absent, base, kept)
        chosen, most = -1, 0.0
        for topic in range(1, size):
            above = parent[topic]
            if kept[topic] or not kept[above]:
                continue
            if not acceptable(
                _root_risk_with(topic, max(cost[topic], below[topic]), parent, cost, layer, below),
                wealth,
                delta,
            ):
                continue
            before = divergence(shadow_mass[above], shadow_prior[above])
            rest = divergence(shadow_mass[above] - mass[topic], shadow_prior[above] - prior[topic])
            gain = rest + divergence(mass[topic], prior[topic]) - before
            if gain > most:
                chosen, most = topic, gain
        if chosen < 0:
            break
        kept[chosen] = True
        for topic in range(chosen + 1, size):
            if not kept[topic] and free[topic] and kept[parent[topic]]:
                kept[topic] = True
        layer, below = risk_layer(parent, cost, absent, base, kept)
        if not acceptable(layer[0], wealth, delta):
            kept[chosen] = False  # rounding at the very edge of the bound
            for topic in range(chosen + 1, size):
                if not kept[parent[topic]]:
                    kept[topic] = False
            break
        order[steps] = chosen
        losses[steps] = -most
        steps += 1
    return steps


@kernel
def greedy_ratio(
    parent: Integers,
    prior: Floats,
    mass: Floats,
    cost: Floats,
    absent: Floats,
    base: Floats,
    wealth: float,
    delta: float,
) -> tuple[Flags, Integers, Floats]:
    """The topics kept, the roots of the subtrees cut in order, and the information loss of each cut."""
    size = parent.size
    kept = np.ones(size, np.bool_)
    order = np.empty(2 * size, np.int32)  # every topic is cut at most once and put back at most once
    losses = np.empty(2 * size)
    steps = 0
    layer, below = risk_layer(parent, cost, absent, base, kept)
    if acceptable(layer[0], wealth, delta):
        return kept, order[:0], losses[:0]
    free = layer <= absent
    end = _subtree_ends(parent)
    while not acceptable(layer[0], wealth, delta):
        shadow_mass, shadow_prior = shadows(parent, prior, mass, kept)
        share = _subtree_shares(parent, kept, shadow_mass, shadow_prior)
        excess = layer[0] - delta * wealth
        chosen, lowest, lost = -1, np.inf, 0.0
        for topic in range(1, size):
            if not kept[topic] or layer[topic] <= absent[topic]:
                continue
            removed = layer[0] - _root_risk_with(topic, absent[topic], parent, cost, layer, below)
            if removed <= 0.0:
                continue
            loss = _merge_loss(topic, parent[topic], share, prior, mass, shadow_mass, shadow_prior)
            ratio = loss / min(removed, excess)
            if ratio < lowest:
                chosen, lowest, lost = topic, ratio, loss
        if chosen < 0:  # not even the root alone satisfies the bound
            kept[1:] = False
            return kept, order[:steps], losses[:steps]
        kept[chosen : end[chosen]] = False
        order[steps] = chosen
        losses[steps] = lost
        steps += 1
        layer, below = risk_layer(parent, cost, absent, base, kept)
    steps = _put_back(
        parent, prior, mass, cost, absent, base, wealth, delta, kept, free, order, losses, steps
    )
    return kept, order[:steps], losses[:steps]
