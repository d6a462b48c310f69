"""Query-topic mapping: which topics a query is about, and which of them the user cares for (Online-1).

The documents that a query retrieves are grouped by topic; the number of documents is a topic's
relevance (section 6.3). Three things the paper leaves open are settled here:

*Overlap.* T(q) must not contain a topic and one below it, but documents may be filed at inner topics.
The upper topic stays, and the documents of those below it count as its own, as in the paper's index.

*Preference.* The paper takes the user's documents on a topic, sup_H(t), as the preference for it. That
overrates a narrow topic with a single click, and leaves out every topic never clicked before, however
close to the user's interests. The default is the number of documents to expect on t, smoothed level by
level towards the taxonomy with ``pseudo`` documents: on the way from a topic a down to its child b, the
user follows b with probability (sup_H(b) + pseudo Pr(b|a)) / (sup_H(a) + pseudo). With pseudo = 0 this
is the paper's rule exactly.

*Seed profile.* A relevant topic outside the profile is represented by the nearest topic above it that
is in the profile: the overlap of the query's trie with the profile. Topics that make up less than a
``least`` share of all preference are noise and are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.compiled import kernel
from tacit.device.generalise.measures import query_power
from tacit.device.profile.user import Floats, Integers, SeedProfile, UserProfile

PSEUDO_DOCUMENTS = 20.0
"""How many documents the taxonomy's own proportions count for, beside the user's."""

LEAST_SHARE = 0.05
"""The least share of all preference that a topic must have to be exposed."""


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
    topics = np.empty(retrieved.size, np.int32)
    relevance = np.empty(retrieved.size)
    size = 0
    for topic in np.sort(retrieved):
        if size > 0 and topic < end[topics[size - 1]]:
            relevance[size - 1] += 1.0
        else:
            topics[size] = topic
            relevance[size] = 1.0
            size += 1
    return topics[:size], relevance[:size]


@kernel
def _lowest_common(first: int, last: int, parent: Integers, end: Integers) -> int:
    while end[first] <= last:
        first = parent[first]
    return first


@kernel
def expected_documents(topic: int, parent: Integers, prior: Floats, support: Floats, pseudo: float) -> float:
    """How many of the user's documents to expect on ``topic``; sup_H(t) where ``pseudo`` is 0.

    The taxonomy never weighs more than all that is known of the user: ``pseudo`` counts at most as much
    as the user's documents.
    """
    expected = support[0]
    pseudo = min(pseudo, expected)
    while topic > 0 and expected > 0.0:
        above = parent[topic]
        followed = support[topic] + pseudo * prior[topic] / prior[above]
        expected *= followed / (support[above] + pseudo) if followed > 0.0 else 0.0
        topic = above
    return float(expected)


@kernel
def _touched(
    topics: Integers,
    parent: Integers,
    end: Integers,
    prior: Floats,
    support: Floats,
    pseudo: float,
    least: float,
) -> tuple[Integers, Floats]:
    """The leaves of the seed profile, ascending, with their preferences."""
    leaves = np.empty(topics.size, np.int32)
    preference = np.empty(topics.size)
    size = 0
    for topic in topics:  # ascending, so the topics that represent them are in order too
        expected = expected_documents(topic, parent, prior, support, pseudo)
        at = topic
        while at > 0 and support[at] <= 0.0:
            at = parent[at]
        if at == 0 or expected <= 0.0:
            continue
        if size > 0 and leaves[size - 1] == at:
            preference[size - 1] += expected
        elif size > 0 and at < leaves[size - 1]:
            continue  # it stands above a leaf, and is not one itself
        else:
            while size > 0 and at < end[leaves[size - 1]]:
                size -= 1  # what stood for its own unknown subtopics has a leaf below now
            leaves[size] = at
            preference[size] = expected
            size += 1
    enough = preference[:size] >= least * preference[:size].sum()
    return leaves[:size][enough], preference[:size][enough]


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
    cost: Floats,
    pseudo: float,
    least: float,
) -> tuple[Integers, Floats, float, Integers, Integers, Floats, Floats, Floats, int, float]:
    """The whole mapping in one call: T(q), relevance, DP(q, R) and the arrays of the seed profile."""
    topics, relevance = relevant_topics(retrieved, end)
    alone = 0.0
    if topics.size > 0:
        top = _lowest_common(topics[0], topics[-1], parent, end)
        alone = query_power(prior[topics], relevance, prior[top])
    leaves, weights = _touched(topics, parent, end, prior, support, pseudo, least)
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


def map_topics(
    profile: UserProfile,
    prior: Floats,
    retrieved: Integers,
    *,
    pseudo: float = PSEUDO_DOCUMENTS,
    least: float = LEAST_SHARE,
) -> MappedQuery:
    """Map a query to topics and to the profile, given the topics of the documents it retrieved.

    Args:
        profile: the user's profile.
        prior: Pr(t) of every topic of the taxonomy.
        retrieved: the topic of each retrieved document.
        pseudo: how strongly preferences are smoothed towards the taxonomy; 0 for the paper's rule.
        least: the least share of all preference a topic needs; 0 for the paper's rule.
    """
    tree = profile.tree
    topics, relevance, alone, node, parent, priors, mass, cost, lca, expected = _map_topics(
        retrieved, tree.parent, tree.end, prior, profile.support, profile.cost, pseudo, least
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


def seed_of_leaves(
    profile: UserProfile, prior: Floats, leaves: Integers, preferences: Floats, baseline: float
) -> SeedProfile:
    """The seed profile over given topics with preferences.

    Args:
        profile: for its taxonomy and costs.
        prior: Pr(t) of every topic of the taxonomy.
        leaves: the topics, ascending, none above another.
        preferences: the preference for each.
        baseline: DP(q, R), the discriminating power of the query alone.
    """
    node, parent = _trie(leaves, profile.tree.parent)
    mass = np.zeros(len(node))
    mass[np.searchsorted(node, leaves)] = preferences
    return SeedProfile.from_arrays(
        parent, prior[node], mass, profile.cost[node], profile.wealth, node=node, baseline=baseline
    )
