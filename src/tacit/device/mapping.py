"""Query-topic mapping: which topics a query is about, and which of them the user cares for (Online-1).

The documents that a query retrieves are grouped by topic; the number of documents is a topic's
relevance (section 6.3). Two things the paper leaves open are settled here:

*Overlap.* T(q) must not contain a topic and one below it, but documents may be filed at inner topics.
The lower topics stay; the relevance of a dropped upper topic is shared among the kept ones below it, in
proportion to theirs.

*Overlap with the profile.* The leaves of the seed profile are

- the topics of T(q) in the profile, with the support of all their documents; and
- where a topic of T(q) is not in the profile, the nearest topic above it that is, if the user's own
  documents are filed exactly there: the interest is known at that granularity and covers what lies
  below. Its preference is the number of those documents.

Other topics of the profile on the way to T(q) have no preference of their own (the paper's rules 2 and
3 give them 0) and do not become leaves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.device.kernel import kernel
from tacit.device.power import query_power
from tacit.device.profile import UserProfile
from tacit.device.seed import Floats, Integers, SeedProfile

__all__ = ["MappedQuery", "map_topics", "relevant_topics"]


@dataclass(frozen=True, eq=False)
class MappedQuery:
    """What a query is about."""

    topics: Integers
    """T(q): the relevant topics, none above another, ascending."""
    relevance: Floats
    """rel(t, q): documents of each topic; divided by their sum, Pr(t | q) of equation 8."""
    power: float
    """DP(q, R): the discriminating power of the query alone."""
    seed: SeedProfile | None
    """The part of the profile that the query touches; None where it touches nothing."""


@kernel
def relevant_topics(retrieved: Integers, end: Integers) -> tuple[Integers, Floats]:
    """T(q) without overlap and the relevance of each topic, from the retrieved documents' topics."""
    found = np.sort(retrieved)
    topics = np.empty(found.size, np.int32)
    count = np.empty(found.size)
    distinct = 0
    for topic in found:
        if distinct > 0 and topics[distinct - 1] == topic:
            count[distinct - 1] += 1.0
        else:
            topics[distinct] = topic
            count[distinct] = 1.0
            distinct += 1
    relevance = count[:distinct].copy()
    lowest = np.ones(distinct, np.bool_)
    for place in range(distinct - 1):
        if topics[place + 1] >= end[topics[place]]:
            continue
        lowest[place] = False  # another relevant topic lies below: share this one's documents among those
        total = 0.0
        for lower in range(place + 1, distinct):
            if topics[lower] >= end[topics[place]]:
                break
            if lower == distinct - 1 or topics[lower + 1] >= end[topics[lower]]:
                total += count[lower]
        for lower in range(place + 1, distinct):
            if topics[lower] >= end[topics[place]]:
                break
            if lower == distinct - 1 or topics[lower + 1] >= end[topics[lower]]:
                relevance[lower] += count[place] * count[lower] / total
    return topics[:distinct][lowest], relevance[lowest]


@kernel
def _lowest_common(first: int, last: int, parent: Integers, end: Integers) -> int:
    while end[first] <= last:
        first = parent[first]
    return first


@kernel
def _touched(
    topics: Integers, parent: Integers, end: Integers, support: Floats, own: Floats
) -> tuple[Integers, Floats]:
    """The leaves of the seed profile, ascending, with their preferences."""
    leaves = np.empty(topics.size, np.int32)
    size = 0
    for topic in topics:
        at = topic
        while support[at] <= 0.0 and parent[at] >= 0:
            at = parent[at]
        if at > 0 and (at == topic or own[at] > 0.0):
            leaves[size] = at
            size += 1
    chosen = np.sort(leaves[:size])
    size = 0
    for place in range(chosen.size):
        if place + 1 < chosen.size and chosen[place + 1] < end[chosen[place]]:
            continue  # the same topic again, or one with a leaf below it
        chosen[size] = chosen[place]
        size += 1
    chosen = chosen[:size]
    weights = np.empty(size)
    for place in range(size):
        weights[place] = own[chosen[place]]
    for topic in topics:  # relevant itself: everything below counts
        place = np.searchsorted(chosen, topic)
        if place < size and chosen[place] == topic:
            weights[place] = support[topic]
    return chosen, weights


@kernel
def _trie(leaves: Integers, parent: Integers) -> tuple[Integers, Integers]:
    """The leaves with all topics above them in pre-order, and each one's parent as a position."""
    depth = 0
    for leaf in leaves:
        at = leaf
        while at >= 0:
            depth += 1
            at = parent[at]
    nodes = np.empty(depth, np.int32)
    parents = np.empty(depth, np.int32)
    path = np.empty(depth, np.int32)  # positions from the root to the last leaf
    height = 0
    size = 0
    for leaf in leaves:
        start = size
        at = leaf
        while at >= 0:  # the new part of the path, bottom-up
            known = False
            while height > 0 and nodes[path[height - 1]] > at:
                height -= 1
            if height > 0 and nodes[path[height - 1]] == at:
                known = True
            if known:
                break
            nodes[size] = at
            size += 1
            at = parent[at]
        nodes[start:size] = nodes[start:size][::-1].copy()
        for place in range(start, size):
            parents[place] = path[height - 1] if height > 0 else -1
            path[height] = place
            height += 1
    return nodes[:size], parents[:size]


@kernel
def _map_topics(
    retrieved: Integers,
    parent: Integers,
    end: Integers,
    prior: Floats,
    support: Floats,
    own: Floats,
    cost: Floats,
) -> tuple[Integers, Floats, float, Integers, Integers, Floats, Floats, Floats, int, float]:
    """The whole mapping in one call: T(q), relevance, DP(q, R) and the arrays of the seed profile."""
    topics, relevance = relevant_topics(retrieved, end)
    alone = 0.0
    if topics.size > 0:
        top = _lowest_common(topics[0], topics[-1], parent, end)
        alone = query_power(prior[topics], relevance, prior[top])
    leaves, weights = _touched(topics, parent, end, support, own)
    nodes, parents = _trie(leaves, parent)
    priors = prior[nodes]
    mass = np.zeros(nodes.size)
    expected = 0.0
    if nodes.size > 0:
        total = weights.sum()
        for place in range(leaves.size):
            position = np.searchsorted(nodes, leaves[place])
            mass[position] = weights[place] / total
            expected -= mass[position] * math.log(priors[position])
        for position in range(nodes.size - 1, 0, -1):
            mass[parents[position]] += mass[position]
    lca = 0
    if nodes.size > 0:
        lca = int(np.searchsorted(nodes, _lowest_common(leaves[0], leaves[-1], parent, end)))
    return topics, relevance, alone, nodes, parents, priors, mass, cost[nodes], lca, expected


def map_topics(profile: UserProfile, prior: Floats, retrieved: Integers) -> MappedQuery:
    """Map a query to topics and to the profile, given the topics of the documents it retrieved.

    Args:
        profile: the user's profile.
        prior: Pr(t) of every topic of the taxonomy.
        retrieved: the topic of each retrieved document.
    """
    tree = profile.tree
    topics, relevance, alone, node, parent, priors, mass, cost, lca, expected = _map_topics(
        retrieved, tree.parent, tree.end, prior, profile.support, profile.own, profile.cost
    )
    if len(node) == 0:
        return MappedQuery(topics, relevance, alone, None)
    nothing = np.zeros(len(node))
    seed = SeedProfile(
        node=node,
        parent=parent,
        prior=priors,
        mass=mass,
        cost=cost,
        absent=nothing,
        base=nothing,
        wealth=profile.wealth,
        lca=lca,
        expected_content=expected,
        baseline=alone,
    )
    return MappedQuery(topics, relevance, alone, seed)
