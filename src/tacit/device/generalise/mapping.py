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

from dataclasses import dataclass

import numpy as np

from tacit.device.loops import kernels as loops
from tacit.device.profile.user import PSEUDO_DOCUMENTS, Floats, Integers, SeedProfile, UserProfile

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
    topics, relevance = np.empty(len(retrieved), np.int32), np.empty(len(retrieved))
    size, alone = loops.query_topics(np.sort(retrieved), tree.parent, tree.end, prior, topics, relevance)
    topics, relevance = topics[:size], relevance[:size]
    room = len(topics) * (tree.height + 1)
    node, parent, mass = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room)
    size, lca, expected = loops.seed_profile(
        topics, tree.parent, tree.end, prior, profile.support, pseudo, least,
        np.empty_like(topics), np.empty_like(relevance), node, parent, mass,
    )  # fmt: skip
    if size == 0:
        return MappedQuery(topics, relevance, alone, None)
    node = node[:size]
    seed = SeedProfile(
        node=node,
        parent=parent[:size],
        prior=prior[node],
        mass=mass[:size],
        cost=profile.cost[node],
        wealth=profile.wealth,
        lca=lca,
        expected_content=expected,
        baseline=alone,
    )
    return MappedQuery(topics, relevance, alone, seed)
