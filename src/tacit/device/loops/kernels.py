"""Compiled loops: risk, discriminating power, the query's topics, the greedy algorithms; overlap of words.

All trees are flat arrays in depth-first pre-order (:class:`tacit.device.profile.user.SeedProfile`): parents
stand before their children, so that one backward pass aggregates bottom-up. Scratch arrays come from the
caller wherever a loop runs for every query: allocating inside a loop costs more to compile than the loop
itself.

**GreedyDP** (section 5.3.2) evaluates every candidate profile in full; it makes GreedyIL's choices at a far
higher cost, and is the peer to measure against. **GreedyIL** (Algorithm 1) prunes the leaf with the smallest
information loss until the bound holds; case C1 is the case C2 with an empty shadow and no sibling left, so
one formula serves both, and the cheapest parent is found by a scan: seed profiles have a few hundred topics
at most. **Greedy by ratio**, the default, cuts any *subtree* whose cut lowers the risk of the whole, where
the information lost per unit of risk removed is smallest (counting no more risk than still has to go), and
puts back what fits after all, most valuable first. Theorem 2 makes this sound: a topic that adds no risk is
never worth hiding. Where these depart from the printed algorithms, ``docs/guarantees/device.md`` says why.
"""

import math

import numpy as np
import numpy.typing as npt

from tacit.compiled import compiled

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Wide = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]

Seed = tuple[Integers, Floats, Floats, Floats, float]
"""A seed profile: parent, prior, mass, cost and wealth."""


# -- risk and discriminating power ---------------------------------------------------------------------


@compiled
def risk_layer(parent: Integers, cost: Floats, kept: Flags, layer: Floats, below: Floats) -> None:
    """Write Risk(t) of every topic into ``layer`` and the sum over its children into ``below``."""
    for topic in range(parent.size):
        below[topic] = 0.0
    for topic in range(parent.size - 1, -1, -1):
        if not kept[topic]:
            layer[topic] = 0.0
        elif cost[topic] > below[topic]:
            layer[topic] = cost[topic]
        elif below[topic] >= cost[topic]:
            layer[topic] = below[topic]
        else:
            layer[topic] = np.nan  # one of them is no number, which must not pass for a small one
        if topic > 0:
            below[parent[topic]] += layer[topic]


@compiled
def normalised(unnormalised: float, wealth: float) -> float:
    """A risk as a share of the total sensitivity (equation 15); 0 where nothing is sensitive.

    Infinite where the numbers mean nothing (one overflowed, is no number or negative, or something is at
    risk of a total of nothing), so that no bound counts as kept.
    """
    if wealth == 0.0 and unnormalised == 0.0:
        return 0.0
    if not (0.0 < wealth < np.inf and 0.0 <= unnormalised < np.inf):
        return np.inf
    return 1.0 if unnormalised > wealth else unnormalised / wealth  # sums may round to above 1


@compiled
def divergence(mass: float, prior: float) -> float:
    """dp of equation 16: one leaf's share of PG, ``mass * ln(mass / prior)``; 0 for an empty leaf."""
    if mass <= 0.0 or prior <= 0.0:
        return 0.0
    return mass * math.log(mass / prior)


@compiled
def shadows(
    parent: Integers, prior: Floats, mass: Floats, kept: Flags, shadow_mass: Floats, shadow_prior: Floats
) -> None:
    """Write mass and prior of every kept topic's shadow; a leaf's shadow is all of it."""
    for topic in range(parent.size):
        shadow_mass[topic] = mass[topic]
        shadow_prior[topic] = prior[topic]
    for topic in range(1, parent.size):
        if kept[topic]:
            shadow_mass[parent[topic]] -= mass[topic]
            shadow_prior[parent[topic]] -= prior[topic]
    for topic in range(parent.size):
        if shadow_mass[topic] < 1e-15:  # what subtraction leaves of nothing
            shadow_mass[topic] = 0.0
        if shadow_prior[topic] < 0.0:
            shadow_prior[topic] = 0.0


@compiled
def evaluate(
    seed: Seed, lca: int, expected: float, kept: Flags, scratch: Floats, scratch_too: Floats
) -> tuple[float, float, float, float]:
    """DP, risk, PG and TS of the kept topics, by their definitions."""
    parent, prior, mass, cost, wealth = seed
    risk_layer(parent, cost, kept, scratch, scratch_too)
    risk = normalised(scratch[0], wealth)
    shadows(parent, prior, mass, kept, scratch, scratch_too)
    granularity = 0.0
    for topic in range(parent.size):
        if kept[topic]:
            granularity += divergence(scratch[topic], scratch_too[topic])
    while not kept[lca]:  # the lowest kept topic that covers all leaves and shadows
        lca = parent[lca]
    similarity = -math.log(prior[lca])
    power = (granularity + similarity) / (2.0 * expected) if expected > 0.0 else 0.0
    # Rounding must not leave [0, 1].
    power = 0.0 if power < 0.0 else 1.0 if power > 1.0 else power
    return power, risk, granularity, similarity


# -- the topics of a query ---------------------------------------------------------------------------


@compiled
def query_topics(
    retrieved: Integers, parent: Integers, end: Integers, prior: Floats, topics: Integers, relevance: Floats
) -> tuple[int, float]:
    """Write T(q) without overlap and the relevance of each topic; gives how many, and DP(q, R).

    ``retrieved`` are the topics of the retrieved documents in ascending order: a topic and those below it are
    then neighbours. The normaliser of DP(q, R) is the expected information content of T(q) under Pr(t | q) of
    equation 8, so that the result lies in [0, 1].
    """
    size = 0
    for topic in retrieved:
        if size > 0 and topic < end[topics[size - 1]]:
            relevance[size - 1] += 1.0
        else:
            topics[size] = topic
            relevance[size] = 1.0
            size += 1
    if size == 0:
        return 0, 0.0
    lca = topics[0]
    while end[lca] <= topics[size - 1]:
        lca = parent[lca]
    expected = 0.0
    gained = -math.log(prior[lca])
    for place in range(size):
        share = relevance[place] / retrieved.size
        expected -= share * math.log(prior[topics[place]])
        gained += share * math.log(share / prior[topics[place]])
    power = gained / (2.0 * expected) if expected > 0.0 else 0.0
    return size, 0.0 if power < 0.0 else 1.0 if power > 1.0 else power


@compiled
def expected_documents(topic: int, parent: Integers, prior: Floats, support: Floats, pseudo: float) -> float:
    """Estimate how many of the user's documents are on ``topic``; sup_H(t) where ``pseudo`` is 0.

    The taxonomy never weighs more than all that is known of the user: ``pseudo`` counts at most as much
    as the user's documents.
    """
    expected = support[0]
    if pseudo > expected:
        pseudo = expected
    while topic > 0 and expected > 0.0:
        above = parent[topic]
        followed = support[topic] + pseudo * prior[topic] / prior[above]
        expected *= followed / (support[above] + pseudo) if followed > 0.0 else 0.0
        topic = above
    return float(expected)


@compiled
def seed_profile(
    topics: Integers,
    parent: Integers,
    end: Integers,
    prior: Floats,
    support: Floats,
    pseudo: float,
    least: float,
    leaves: Integers,
    preference: Floats,
    nodes: Integers,
    parents: Integers,
    mass: Floats,
) -> tuple[int, int, float]:
    """Write the seed profile over T(q); gives its size, its LCA's position and the expected IC of its leaves.

    ``leaves`` and ``preference`` are scratch as long as ``topics``; ``nodes``, ``parents`` and ``mass`` have
    room for every topic with all above it. ``parents`` are positions among ``nodes``.
    """
    found = 0
    for topic in topics:  # ascending, so the topics that represent them are in order too
        documents = expected_documents(topic, parent, prior, support, pseudo)
        at = topic
        while at > 0 and support[at] <= 0.0:
            at = parent[at]
        if at == 0 or documents <= 0.0:
            continue
        if found > 0 and leaves[found - 1] == at:
            preference[found - 1] += documents
        elif found > 0 and at < leaves[found - 1]:
            continue  # it stands above a leaf, and is not one itself
        else:
            while found > 0 and at < end[leaves[found - 1]]:
                found -= 1  # what stood for its own unknown subtopics has a leaf below now
            leaves[found] = at
            preference[found] = documents
            found += 1
    total = 0.0
    for place in range(found):
        total += preference[place]
    enough = 0  # leaves with the least share of all preference, moved to the front
    left = 0.0
    for place in range(found):
        if preference[place] >= least * total:
            leaves[enough] = leaves[place]
            preference[enough] = preference[place]
            left += preference[place]
            enough += 1
    size = 0
    last = 0  # where the leaf before stands
    first = 0
    expected = 0.0
    for place in range(enough):
        begin = size
        at = leaves[place]
        # A topic above this leaf that is not beyond the leaf before is above that one too, and there already.
        while at >= 0 and (begin == 0 or at > nodes[last]):
            nodes[size] = at
            size += 1
            at = parent[at]
        if begin > 0:
            while nodes[last] != at:
                last = parents[last]
        for offset in range((size - begin) // 2):  # it was written bottom-up
            low, high = begin + offset, size - 1 - offset
            nodes[low], nodes[high] = nodes[high], nodes[low]
        for position in range(begin, size):
            parents[position] = position - 1 if position > begin or begin == 0 else last
            mass[position] = 0.0
        last = size - 1
        if place == 0:
            first = last
        mass[last] = preference[place] / left
        expected -= mass[last] * math.log(prior[nodes[last]])
    for position in range(size - 1, 0, -1):
        mass[parents[position]] += mass[position]
    lca = first
    if size > 0:
        while end[nodes[lca]] <= nodes[last]:
            lca = parents[lca]
    return size, lca, expected


# -- the greedy algorithms -----------------------------------------------------------------------------
# Each takes a seed profile's arrays and the bound, and gives the topics kept, the positions cut in order, and
# the information lost with each cut (GreedyDP: the power after it).


@compiled
def greedy_dp(seed: Seed, delta: float, lca: int, expected: float) -> tuple[Flags, Integers, Floats]:
    """GreedyDP: the best profile met, the prunes that led to it, and the power after each."""
    parent = seed[0]
    size = parent.size
    kept = np.ones(size, np.bool_)
    order, powers = np.empty(size, np.int32), np.empty(size)
    scratch, scratch_too = np.empty(size), np.empty(size)
    best, best_steps, best_power = kept.copy(), max(0, size - 1), -1.0
    for steps in range(1, size):
        chosen, highest, chosen_risk = -1, -1.0, 0.0
        for candidate in range(1, size):
            leaf = kept[candidate]
            for topic in range(candidate + 1, size):
                if kept[topic] and parent[topic] == candidate:
                    leaf = False
            if not leaf:
                continue
            kept[candidate] = False
            left, risk, _, _ = evaluate(seed, lca, expected, kept, scratch, scratch_too)
            kept[candidate] = True
            if left > highest:
                chosen, highest, chosen_risk = candidate, left, risk
        kept[chosen] = False
        order[steps - 1] = chosen
        powers[steps - 1] = highest
        if chosen_risk <= delta and highest > best_power:
            best, best_steps, best_power = kept.copy(), steps, highest
    if best_power < 0.0:  # nothing satisfies the bound; the root is what is left
        best = kept
    return best, order[:best_steps], powers[:best_steps]


@compiled
def _children(parent: Integers) -> tuple[Integers, Integers, Integers]:
    """Children in one array: where each topic's begin, how many, and the positions themselves."""
    size = parent.size
    count = np.zeros(size, np.int32)
    for topic in range(1, size):
        count[parent[topic]] += 1
    start = np.zeros(size + 1, np.int32)
    for topic in range(size):
        start[topic + 1] = start[topic] + count[topic]
    filled = start.copy()
    listed = np.empty(max(size - 1, 1), np.int32)
    for topic in range(1, size):
        above = parent[topic]
        listed[filled[above]] = topic
        filled[above] += 1
    return start, count, listed


@compiled
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
            # Siblings are listed in the order of earlier prunes, so ties go to the lower position.
            if loss < best or (loss == best and child < chosen):
                best = loss
                chosen = child
    return best, chosen


@compiled
def greedy_il(seed: Seed, delta: float) -> tuple[Flags, Integers, Floats]:
    """GreedyIL: the topics kept, the topics pruned in order, and the information loss of each prune."""
    parent, prior, mass, cost, wealth = seed
    size = parent.size
    kept = np.ones(size, np.bool_)
    order, losses = np.empty(size, np.int32), np.empty(size)
    layer, below = np.empty(size), np.empty(size)
    shadow_mass, shadow_prior = np.empty(size), np.empty(size)
    risk_layer(parent, cost, kept, layer, below)
    shadows(parent, prior, mass, kept, shadow_mass, shadow_prior)
    start, alive, listed = _children(parent)
    share = np.zeros(size)  # dp of every present leaf
    for topic in range(size):
        if alive[topic] == 0:
            share[topic] = divergence(mass[topic], prior[topic])
    best = np.full(size, np.inf)  # of each parent: its cheapest prune, and the leaf
    leaf_of = np.full(size, -1, np.int32)
    steps = 0
    for topic in range(size):
        best[topic], leaf_of[topic] = _cheapest_leaf(
            topic, start, alive, listed, prior, mass, shadow_mass, shadow_prior, share
        )
    while True:
        topic = int(np.argmin(best))  # of equal losses the first
        leaf = leaf_of[topic]
        if leaf < 0:
            break
        kept[leaf] = False
        order[steps] = leaf
        losses[steps] = best[topic]
        steps += 1
        for place in range(start[topic], start[topic] + alive[topic]):  # off its parent's list
            if listed[place] == leaf:
                alive[topic] -= 1
                listed[place] = listed[start[topic] + alive[topic]]
                break
        shadow_mass[topic] += mass[leaf]
        shadow_prior[topic] += prior[leaf]
        # The leaf's risk is gone: carry the change up as far as it matters.
        above = topic
        change = layer[leaf]
        while above >= 0 and change > 0.0:
            before = layer[above]
            below[above] -= change
            layer[above] = max(cost[above], below[above])
            change = before - layer[above]
            above = parent[above]
        if normalised(layer[0], wealth) <= delta:
            risk_layer(parent, cost, kept, layer, below)  # without accumulated rounding
            if normalised(layer[0], wealth) <= delta:
                break
        if alive[topic] == 0:
            best[topic], leaf_of[topic] = np.inf, -1
            share[topic] = divergence(mass[topic], prior[topic])
            topic = parent[topic]
        if topic >= 0:
            best[topic], leaf_of[topic] = _cheapest_leaf(
                topic, start, alive, listed, prior, mass, shadow_mass, shadow_prior, share
            )
    return kept, order[:steps], losses[:steps]


@compiled
def _root_risk_with(
    topic: int, new_layer: float, parent: Integers, cost: Floats, layer: Floats, below: Floats
) -> float:
    """Risk(root) if Risk(topic) were ``new_layer``."""
    while topic > 0:
        above = parent[topic]
        changed = below[above] - layer[topic] + new_layer
        if cost[above] > changed:
            changed = cost[above]
        if changed == layer[above]:
            return float(layer[0])  # nothing changes further up
        topic, new_layer = above, changed
    return new_layer


@compiled
def greedy_ratio(seed: Seed, delta: float) -> tuple[Flags, Integers, Floats]:
    """Greedy by ratio: the topics kept, the roots of the subtrees cut in order, and the loss of each cut.

    A topic that was put back is noted as a step too, its loss counted negative.
    """
    parent, prior, mass, cost, wealth = seed
    size = parent.size
    kept, free = np.empty(size, np.bool_), np.empty(size, np.bool_)
    end = np.empty(size, np.int32)
    order = np.empty(2 * size, np.int32)  # every topic is cut at most once and put back at most once
    losses = np.empty(2 * size)
    layer, below = np.empty(size), np.empty(size)
    shadow_mass, shadow_prior = np.empty(size), np.empty(size)
    share = np.empty(size)  # what each kept subtree holds of PG
    steps = 0
    for topic in range(size):
        kept[topic] = True
        end[topic] = topic + 1
    risk_layer(parent, cost, kept, layer, below)
    for topic in range(size - 1, -1, -1):
        free[topic] = layer[topic] <= 0.0  # it adds no risk, so it is never worth hiding
        if topic > 0 and end[topic] > end[parent[topic]]:
            end[parent[topic]] = end[topic]
    while not normalised(layer[0], wealth) <= delta:
        shadows(parent, prior, mass, kept, shadow_mass, shadow_prior)
        for topic in range(size):
            share[topic] = 0.0
        for topic in range(size - 1, -1, -1):
            if kept[topic]:
                share[topic] += divergence(shadow_mass[topic], shadow_prior[topic])
                if topic > 0:
                    share[parent[topic]] += share[topic]
        excess = layer[0] - delta * wealth
        chosen, lowest, lost = -1, np.inf, 0.0
        for topic in range(1, size):
            if not kept[topic] or layer[topic] <= 0.0:
                continue
            removed = layer[0] - _root_risk_with(topic, 0.0, parent, cost, layer, below)
            if removed <= 0.0:
                continue
            above = parent[topic]  # the whole subtree would go into its shadow
            hidden = divergence(shadow_mass[above], shadow_prior[above])
            merged = divergence(shadow_mass[above] + mass[topic], shadow_prior[above] + prior[topic])
            loss = share[topic] + hidden - merged
            ratio = loss / (removed if removed < excess else excess)
            if ratio < lowest:
                chosen, lowest, lost = topic, ratio, loss
        if chosen < 0:  # not even the root alone satisfies the bound
            for topic in range(1, size):
                kept[topic] = False
            return kept, order[:steps], losses[:steps]
        for topic in range(chosen, end[chosen]):
            kept[topic] = False
        order[steps] = chosen
        losses[steps] = lost
        steps += 1
        risk_layer(parent, cost, kept, layer, below)
    # Put hidden topics back while the bound holds, the most informative first, each with everything below it
    # that adds no risk.
    while steps < order.size:
        shadows(parent, prior, mass, kept, shadow_mass, shadow_prior)
        chosen, most = -1, 0.0
        for topic in range(1, size):
            above = parent[topic]
            if kept[topic] or not kept[above]:
                continue
            own = cost[topic] if cost[topic] > below[topic] else below[topic]
            risk = normalised(_root_risk_with(topic, own, parent, cost, layer, below), wealth)
            if not risk <= delta:
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
        risk_layer(parent, cost, kept, layer, below)
        if not normalised(layer[0], wealth) <= delta:
            kept[chosen] = False  # rounding at the very edge of the bound
            for topic in range(chosen + 1, size):
                if not kept[parent[topic]]:
                    kept[topic] = False
            break
        order[steps] = chosen
        losses[steps] = -most
        steps += 1
    return kept, order[:steps], losses[:steps]


# -- ranking on the device -----------------------------------------------------------------------------
# Everything else about attention is a few operations on whole arrays; this visits single words of thousands
# of documents, which arrays cannot do without writing every product down first (five times as slow).


@compiled
def add_overlap(
    begins: Wide,
    ends: Wide,
    words: Integers,
    weights: Singles,
    lengths: Singles,
    slot: Integers,
    posted: Wide,
    holders: Wide,
    held: Singles,
    similarity: Singles,
) -> None:
    """Add the cosine of word weights of every document (a row) and every result (a column) to ``similarity``.

    A document's words are ``words[begins[row]:ends[row]]``. ``slot`` says which of the results' words a word
    is, from 1, and 0 for none; the query's words have none, so that they are left out. Word ``n`` of the
    results is held by ``holders[posted[n - 1]:posted[n]]``, with weight ``held`` at length 1.
    """
    for row in range(begins.size):
        if lengths[row] > 0.0:
            for spot in range(begins[row], ends[row]):
                word = slot[words[spot]]
                if word > 0:
                    weight = weights[spot] / lengths[row]
                    for place in range(posted[word - 1], posted[word]):
                        similarity[row, holders[place]] += weight * held[place]
