"""The greedy algorithms as compiled loops: GreedyDP and GreedyIL of the paper, and greedy by ratio.

**GreedyDP** (section 5.3.2) prunes the leaf that leaves the most discriminating power, down to the root:
  every
iteration evaluates the full discriminating power and risk of every candidate profile, and the best profile
within the bound is remembered. It makes the same choices as GreedyIL (maximising what is left is minimising
what is lost) at a far higher cost; it is here as the peer to measure against.

**GreedyIL** (Algorithm 1) prunes the leaf with the smallest information loss until the risk is low enough.
  Its
three heuristics: stop as soon as the bound holds, for what follows only loses more (1); the loss of a prune
is
three terms of PG around the parent's shadow (2, equation 16); and it disturbs only the losses of the pruned
topic's siblings (3). Where the printed algorithm is silent or wrong, this one departs: the queue yields the
*smallest* loss; a parent becomes a candidate when it has no child left in G (line 13 asks for "no
  operations
on siblings", which is also true of a sibling that still has children). Case C1 is the case C2 with an empty
shadow and no sibling left, so one formula serves both. The queue holds one entry a parent, its cheapest
leaf,
rather than one a leaf: a prune rescans the siblings (heuristic 3 has to visit them anyway) and touches the
queue once.

**Greedy by ratio**, the default: GreedyIL prunes whatever loses least, also where nothing is sensitive:
  such
prunes cost utility and buy no safety. This algorithm

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

from tacit.compiled import kernel
from tacit.device.generalise.measures import acceptable, divergence, power, risk_layer, shadows
from tacit.device.profile.user import Flags, Floats, Integers


@kernel
def _before(key: Floats, item: Integers, left: int, right: int) -> bool:
    """Smaller key first; equal keys by item, so that the order never depends on history."""
    if key[left] != key[right]:
        return bool(key[left] < key[right])
    return bool(item[left] < item[right])


@kernel
def _swap(key: Floats, item: Integers, left: int, right: int) -> None:
    key[left], key[right] = key[right], key[left]
    item[left], item[right] = item[right], item[left]


@kernel
def push(key: Floats, item: Integers, size: int, new_key: float, new_item: int) -> int:
    """Add an entry; gives the new size. The arrays must have room."""
    place = size
    key[place] = new_key
    item[place] = new_item
    while place > 0 and _before(key, item, place, (place - 1) // 2):
        _swap(key, item, place, (place - 1) // 2)
        place = (place - 1) // 2
    return size + 1


@kernel
def pop_smallest(key: Floats, item: Integers, size: int) -> tuple[float, int, int]:
    """Take the smallest entry off: its key, its item and the new size."""
    first_key, first_item = key[0], item[0]
    size -= 1
    key[0], item[0] = key[size], item[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _before(key, item, child + 1, child):
            child += 1
        if not _before(key, item, child, place):
            break
        _swap(key, item, child, place)
        place = child
    return first_key, first_item, size


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
