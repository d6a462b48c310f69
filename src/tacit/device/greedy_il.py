"""GreedyIL: prune the leaf with the smallest information loss until the risk is low enough (Algorithm 1).

Its three heuristics: stop as soon as the bound holds, for what follows only loses more (1); the loss of
a prune is three terms of PG around the parent's shadow (2, equation 16); and it disturbs only the
losses of the pruned topic's siblings (3).

Where the printed algorithm is silent or wrong, this one departs: the queue yields the *smallest* loss;
a parent becomes a candidate when it has no child left in G (line 13 asks for "no operations on
siblings", which is also true of a sibling that still has children). Case C1 is the case C2 with an
empty shadow and no sibling left, so one formula serves both.

The queue holds one entry a parent, its cheapest leaf, rather than one a leaf: a prune rescans the
siblings (heuristic 3 has to visit them anyway) and touches the queue once.
"""

from __future__ import annotations

import numpy as np

from tacit.device.kernel import kernel
from tacit.device.power import divergence, shadows
from tacit.device.queue import pop_smallest, push
from tacit.device.risk import acceptable, risk_layer
from tacit.device.seed import Flags, Floats, Integers

__all__ = ["greedy_il"]


@kernel
def _children(parent: Integers) -> tuple[Integers, Integers, Integers]:
    """Children in one array: where each topic's begin, how many, and the positions themselves."""
    size = parent.size
    count = np.zeros(size, np.int32)
    for position in range(1, size):
        count[parent[position]] += 1
    start = np.zeros(size + 1, np.int32)
    for position in range(size):
        start[position + 1] = start[position] + count[position]
    filled = start.copy()
    listed = np.empty(max(size - 1, 1), np.int32)
    for position in range(1, size):
        above = parent[position]
        listed[filled[above]] = position
        filled[above] += 1
    return start, count, listed


@kernel
def _cheapest_leaf(
    topic: int,
    start: Integers,
    alive: Integers,
    listed: Integers,
    prior: Floats,
    mass: Floats,
    shadow_mass: Floats,
    shadow_prior: Floats,
    share: Floats,
) -> tuple[float, int]:
    """The leaf below ``topic`` whose merging into the shadow loses least (equation 16, case C2)."""
    hidden = divergence(shadow_mass[topic], shadow_prior[topic])
    best = np.inf
    chosen = -1
    for place in range(start[topic], start[topic] + alive[topic]):
        child = listed[place]
        if alive[child] == 0:
            merged = divergence(shadow_mass[topic] + mass[child], shadow_prior[topic] + prior[child])
            loss = share[child] + hidden - merged
            if loss < best or (loss == best and child < chosen):
                best = loss
                chosen = child
    return best, chosen


@kernel
def _forget(topic: int, child: int, start: Integers, alive: Integers, listed: Integers) -> None:
    """Take a pruned child off its parent's list."""
    for place in range(start[topic], start[topic] + alive[topic]):
        if listed[place] == child:
            alive[topic] -= 1
            listed[place] = listed[start[topic] + alive[topic]]
            return


@kernel
def _lower_risk(
    topic: int, change: float, parent: Integers, cost: Floats, layer: Floats, below: Floats
) -> None:
    """A child's risk fell by ``change``: carry it up as far as it matters."""
    while topic >= 0 and change > 0.0:
        before = layer[topic]
        below[topic] -= change
        layer[topic] = max(cost[topic], below[topic])
        change = before - layer[topic]
        topic = parent[topic]


@kernel
def greedy_il(
    parent: Integers,
    prior: Floats,
    mass: Floats,
    cost: Floats,
    absent: Floats,
    base: Floats,
    wealth: float,
    delta: float,
) -> tuple[Flags, Integers, Floats]:
    """The topics kept, the topics pruned in order, and the information loss of each prune."""
    size = parent.size
    kept = np.ones(size, np.bool_)
    order = np.empty(size, np.int32)
    losses = np.empty(size)
    steps = 0
    layer, below = risk_layer(parent, cost, absent, base, kept)
    if acceptable(layer[0], wealth, delta):
        return kept, order[:0], losses[:0]
    start, alive, listed = _children(parent)
    shadow_mass, shadow_prior = shadows(parent, prior, mass, kept)
    share = np.zeros(size)  # dp of every present leaf
    for topic in range(size):
        if alive[topic] == 0:
            share[topic] = divergence(mass[topic], prior[topic])
    best = np.full(size, np.inf)  # of each parent: its cheapest prune, and the leaf
    leaf_of = np.full(size, -1, np.int32)
    key, item = np.empty(2 * size), np.empty(2 * size, np.int32)
    queued = 0
    topic = 0
    for topic in range(size):
        best[topic], leaf_of[topic] = _cheapest_leaf(
            topic, start, alive, listed, prior, mass, shadow_mass, shadow_prior, share
        )
        if leaf_of[topic] >= 0:
            queued = push(key, item, queued, best[topic], topic)
    while queued > 0:
        loss, topic, queued = pop_smallest(key, item, queued)
        leaf = leaf_of[topic]
        if leaf < 0 or loss != best[topic]:
            continue  # a later scan of the same parent replaced this entry
        kept[leaf] = False
        order[steps] = leaf
        losses[steps] = loss
        steps += 1
        _forget(topic, leaf, start, alive, listed)
        shadow_mass[topic] += mass[leaf]
        shadow_prior[topic] += prior[leaf]
        _lower_risk(topic, layer[leaf] - absent[leaf], parent, cost, layer, below)
        if acceptable(layer[0], wealth, delta):
            layer, below = risk_layer(parent, cost, absent, base, kept)  # without accumulated rounding
            if acceptable(layer[0], wealth, delta):
                break
        if alive[topic] == 0:
            leaf_of[topic] = -1
            share[topic] = divergence(mass[topic], prior[topic])
            topic = parent[topic]
        if topic >= 0:
            best[topic], leaf_of[topic] = _cheapest_leaf(
                topic, start, alive, listed, prior, mass, shadow_mass, shadow_prior, share
            )
            if leaf_of[topic] >= 0:
                queued = push(key, item, queued, best[topic], topic)
    return kept, order[:steps], losses[:steps]
