"""Generalise a seed profile under a risk bound (Problem 1): what it is worth, and all algorithms.

**Risk**: how much sensitivity an adversary recovers. The adversary knows the taxonomy, sees the exposed tree
G, and guesses what was cut off below each exposed topic in proportion to the taxonomy's support. The cost
of a topic is the sensitivity that such a guess recovers in expectation, and the risk of a tree is::

    Risk(t) = max(cost(t), sum of Risk(c) over the exposed children c)      (14)
    risk(G) = Risk(root) / sum of sen(s)                                    (15)

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

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from tacit.device.loops import kernels
from tacit.device.profile.user import Flags, Floats, Integers, SeedProfile
from tacit.errors import ParameterError


class Measures(NamedTuple):
    """What an exposed profile is worth and what it puts at risk."""

    power: float
    """DP(q, G) of equation 12, in [0, 1]."""
    risk: float
    """risk(q, G) of equation 15, in [0, 1]; infinite where the numbers mean nothing."""
    granularity: float
    """PG(q, G) of equation 10."""
    similarity: float
    """TS(q, G) of equation 11."""


def evaluate(seed: SeedProfile, kept: Flags | None = None) -> Measures:
    """Measure a profile G that holds the ``kept`` topics of a seed profile (all, if not given).

    The normaliser of the power belongs to the whole seed profile, not to G. A query that touches nothing but
    the root tells nothing: its power is 0.
    """
    flags = np.ones(len(seed), np.bool_) if kept is None else kept
    scratch = np.empty((2, len(seed)))
    return Measures(
        *kernels.evaluate(seed.arrays, seed.lca, seed.expected_content, flags, scratch[0], scratch[1])
    )


class Algorithm(StrEnum):
    """How to look for the best profile within the bound."""

    GREEDY_RATIO = "greedy-ratio"
    """Cut where least information is lost per unit of risk: the default."""
    GREEDY_IL = "greedy-il"
    """The paper's GreedyIL: prune the leaf with the smallest information loss."""
    GREEDY_DP = "greedy-dp"


class Step(NamedTuple):
    """One step of a generalisation."""

    topic: int
    loss: float
    """Information lost, as a difference of PG; negative where a topic was put back."""


@dataclass(frozen=True, eq=False)
class Generalisation:
    """A generalised profile: what may be exposed with a query, and what that means."""

    seed: SeedProfile
    kept: Flags
    """Which topics of the seed profile are exposed."""
    algorithm: Algorithm
    delta: float
    power: float
    risk: float
    order: Integers
    """The positions cut away, in order."""
    losses: Floats

    @property
    def steps(self) -> tuple[Step, ...]:
        topics = self.seed.node[self.order].tolist()
        return tuple(Step(topic, loss) for topic, loss in zip(topics, self.losses.tolist(), strict=True))

    @property
    def feasible(self) -> bool:
        """Whether the bound holds. If not even the root alone satisfies it, nothing must be sent."""
        return self.risk <= self.delta

    @property
    def utility(self) -> float:
        """util(q, G): the gain in discriminating power over sending the query alone.

        It can be negative: a profile that says less than the query itself misleads the engine.
        """
        return self.power - self.seed.baseline

    @property
    def topics(self) -> Integers:
        """The exposed topics as numbers of the taxonomy; none where the bound cannot be met."""
        return self.seed.node[self.kept] if self.feasible else self.seed.node[:0]

    @property
    def leaves(self) -> Integers:
        """T_G(q): the exposed topics with no exposed topic below them."""
        return self.seed.node[self._leaf_flags]

    @property
    def preferences(self) -> Floats:
        """The user's preference for each of :attr:`leaves`, adding up to 1.

        Shadows are left out: what is hidden below an exposed topic must not show in what the
        exposed subtopics lack to their parent's preference.
        """
        mass: Floats = self.seed.mass[self._leaf_flags]
        shares: Floats = mass / mass.sum()
        return shares

    @property
    def _leaf_flags(self) -> Flags:
        if not self.feasible:
            return np.zeros(len(self.seed), np.bool_)
        leaf = self.kept.copy()
        leaf[self.seed.parent[1:][self.kept[1:]]] = False
        return leaf


def generalise(
    seed: SeedProfile, delta: float, algorithm: Algorithm | str = Algorithm.GREEDY_RATIO
) -> Generalisation:
    """Find a profile of high utility whose risk is at most ``delta``.

    The result satisfies risk <= delta, or is marked infeasible: then no profile may be sent.

    Raises:
        ParameterError: ``delta`` lies outside [0, 1], or the algorithm is not known.
    """
    if not 0 <= delta <= 1:
        raise ParameterError.outside("delta", delta, "in [0, 1]")
    try:
        chosen = Algorithm(algorithm)
    except ValueError:
        raise ParameterError.outside("algorithm", algorithm, f"one of {', '.join(Algorithm)}") from None
    kept = np.ones(len(seed), np.bool_)
    order, losses = np.empty(0, np.int32), np.empty(0)
    found = evaluate(seed, kept)
    if not found.risk <= delta:  # otherwise all of it is best: hiding a topic only loses (Theorem 2)
        match chosen:
            case Algorithm.GREEDY_RATIO:
                kept, order, losses = kernels.greedy_ratio(seed.arrays, delta)
            case Algorithm.GREEDY_IL:
                kept, order, losses = kernels.greedy_il(seed.arrays, delta)
            case Algorithm.GREEDY_DP:
                kept, order, powers = kernels.greedy_dp(seed.arrays, delta, seed.lca, seed.expected_content)
                # The losses behind a falling sequence of discriminating powers.
                losses = -np.diff(powers, prepend=found.power) * 2 * seed.expected_content
        found = evaluate(seed, kept)
    return Generalisation(seed, kept, chosen, delta, found.power, found.risk, order, losses)
