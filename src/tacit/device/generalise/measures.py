"""Risk and utility of an exposed profile (sections 5.1.1 and 5.1.2).

**Risk**: how much sensitivity an adversary recovers. The adversary knows the taxonomy, sees the exposed
  tree G,
and guesses what was cut off below each exposed topic in proportion to the taxonomy's support. The cost of a
topic is the sensitivity that such a guess recovers in expectation, and the risk of a tree is::

    Risk(t) = max(cost(t), sum of Risk(c) over the exposed children c)      (14)
    risk(G) = Risk(root) / sum of sen(s)                                    (15)

What was sent before counts as exposed too: ``base`` and ``absent`` of the seed profile hold its share,
so the same recursion gives the risk of the union of all exposed trees. Both are 0 for a single query.

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

import math

import numpy as np

from tacit.compiled import kernel
from tacit.device.profile.user import Flags, Floats, Integers, SeedProfile


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


@kernel
def divergence(mass: float, prior: float) -> float:
    """dp of equation 16: one leaf's share of PG, ``mass * ln(mass / prior)``; 0 for an empty leaf."""
    if mass <= 0.0 or prior <= 0.0:
        return 0.0
    return mass * math.log(mass / prior)


@kernel
def shadows(parent: Integers, prior: Floats, mass: Floats, kept: Flags) -> tuple[Floats, Floats]:
    """Mass and prior of every kept topic's shadow; a leaf's shadow is all of it."""
    shadow_mass = mass.copy()
    shadow_prior = prior.copy()
    for position in range(1, parent.size):
        if kept[position]:
            shadow_mass[parent[position]] -= mass[position]
            shadow_prior[parent[position]] -= prior[position]
    for position in range(parent.size):
        if shadow_mass[position] < 1e-15:  # what subtraction leaves of nothing
            shadow_mass[position] = 0.0
        if shadow_prior[position] < 0.0:
            shadow_prior[position] = 0.0
    return shadow_mass, shadow_prior


@kernel
def _granularity(parent: Integers, prior: Floats, mass: Floats, kept: Flags) -> float:
    """PG over the leaves and shadows of the kept topics."""
    shadow_mass, shadow_prior = shadows(parent, prior, mass, kept)
    total = 0.0
    for position in range(parent.size):
        if kept[position]:
            total += divergence(shadow_mass[position], shadow_prior[position])
    return total


@kernel
def _similarity(parent: Integers, prior: Floats, kept: Flags, lca: int) -> float:
    """TS: the lowest kept topic that covers all leaves and shadows."""
    while not kept[lca]:
        lca = parent[lca]
    return -math.log(prior[lca])


@kernel
def power(parent: Integers, prior: Floats, mass: Floats, kept: Flags, lca: int, expected: float) -> float:
    """DP of the kept topics."""
    if expected <= 0.0:
        return 0.0
    total = _granularity(parent, prior, mass, kept) + _similarity(parent, prior, kept, lca)
    return max(0.0, min(1.0, total / (2.0 * expected)))  # rounding must not leave [0, 1]


def profile_granularity(seed: SeedProfile, kept: Flags | None = None) -> float:
    """PG(q, G) of equation 10, where G holds the ``kept`` topics (all, if not given)."""
    return _granularity(seed.parent, seed.prior, seed.mass, _all(seed) if kept is None else kept)


def topic_similarity(seed: SeedProfile, kept: Flags | None = None) -> float:
    """TS(q, G) of equation 11."""
    return _similarity(seed.parent, seed.prior, _all(seed) if kept is None else kept, seed.lca)


def discriminating_power(seed: SeedProfile, kept: Flags | None = None) -> float:
    """DP(q, G) of equation 12, in [0, 1].

    The normaliser belongs to the whole profile, not to G. A query that touches nothing but the root
    tells nothing: its power is 0.
    """
    flags = _all(seed) if kept is None else kept
    return power(seed.parent, seed.prior, seed.mass, flags, seed.lca, seed.expected_content)


def utility(seed: SeedProfile, kept: Flags | None = None) -> float:
    """The gain in discriminating power from exposing the profile: DP(q, G) - DP(q, R).

    It can be negative: a profile that says less than the query itself misleads the engine.
    """
    return discriminating_power(seed, kept) - seed.baseline


@kernel
def query_power(prior: Floats, relevance: Floats, prior_of_lca: float) -> float:
    """DP(q, R): the power of the query alone, from its topics' priors and relevances (section 5.1.1).

    The normaliser is the expected information content of T(q) under Pr(t | q) of equation 8, so that
    the result lies in [0, 1].
    """
    total = relevance.sum()
    if total <= 0.0:
        return 0.0
    expected = 0.0
    gained = 0.0
    for position in range(prior.size):
        share = relevance[position] / total
        expected -= share * math.log(prior[position])
        gained += divergence(share, prior[position])
    if expected <= 0.0:
        return 0.0
    return max(0.0, min(1.0, (gained - math.log(prior_of_lca)) / (2.0 * expected)))


def _all(seed: SeedProfile) -> Flags:
    return np.ones(len(seed), np.bool_)
