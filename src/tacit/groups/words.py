"""What cohorts show of their people: words under user-level differential privacy, and a vote for λ.

This is the only module of the guard that draws noise. What it draws, and why that is enough, is derived in
docs/guarantees/groups.md; of the lattice's part see :mod:`tacit.privacy.accounting.loss`.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tacit.errors import ParameterError
from tacit.groups.cohorts import Cohorts, Integers
from tacit.privacy.accounting.events import Composed, Event, GaussianRounds, LaplaceCounts
from tacit.privacy.accounting.loss import gaussian_mu
from tacit.privacy.noise.randomness import RandomSource
from tacit.privacy.noise.samplers import discrete_gaussian, discrete_laplace
from tacit.validation import real

UNIT = 1 << 10
"""The length of a person's vector, at most."""
SHOWN_ABOVE = Fraction(9, 2)
"""In standard deviations of the noise."""
MOST_WORDS = 150
STRENGTHS = (0.0, 0.5, 2.0, 6.0, 12.0)
"""What people vote on; 0 is the engine's own order."""
_LATTICE = 4
"""η² of docs/guarantees/adaptive.md, "From the normal to the integers"."""

Words = dict[int, dict[int, int]]
"""For each cohort the numbers of its words with their noisy counts."""


@dataclass(frozen=True)
class Generation:
    """What one generation of words, and the vote beside it, costs and draws; fixed before anybody is counted.

    Args:
        epsilon: ε of the words; None shows no words at all.
        delta: δ of the words.
        vote_epsilon: ε of the vote; None where none is held.
    """

    epsilon: float | None = None
    delta: float = 1e-6
    vote_epsilon: float | None = None

    def __post_init__(self) -> None:
        for name in ("epsilon", "vote_epsilon"):
            value = getattr(self, name)
            if value is not None and not 0 < real(name, value) <= 20:
                raise ParameterError.outside(name, value, "above 0 and at most 20")
        if not 0 < real("delta", self.delta) < 1:
            raise ParameterError.outside("delta", self.delta, "in (0, 1)")

    @cached_property
    def mu(self) -> float:
        """Words are no easier to tell from those without a person than N(0, 1) from N(μ, 1)."""
        return gaussian_mu(self.epsilon, self.delta) if self.epsilon else 0.0

    @cached_property
    def sigma(self) -> int:
        """Of the noise on each pair."""
        square = (UNIT / Fraction(self.mu)) ** 2 + _LATTICE
        root = math.isqrt(math.floor(square))
        return root + (root * root < square)

    @property
    def event(self) -> Event | None:
        """What is charged before anything is drawn; None where nothing is."""
        found: list[Event] = []
        if self.epsilon:
            found.append(GaussianRounds(self.mu, 0.0, float(self.epsilon)))
        if self.vote_epsilon:
            found.append(LaplaceCounts(1 / float(self.vote_epsilon), 1))
        return Composed(tuple(found)) if len(found) > 1 else next(iter(found), None)

    def words(
        self, keys: Iterable[Iterable[tuple[int, int]]], cohorts: Cohorts, source: RandomSource
    ) -> Words:
        """The words that cohorts show, from the pairs that each person marked."""
        if not self.epsilon:
            return {}
        domain, threshold = cohorts.domain, math.floor(SHOWN_ABOVE * self.sigma)
        counts = marked(keys, cohorts)
        shown: Words = {}
        for cohort in range(len(cohorts)):
            noisy = self.noisy(counts[cohort], source)
            above = np.flatnonzero(noisy > threshold)
            best = above[np.lexsort((above, -noisy[above]))][:MOST_WORDS]
            if best.size:
                shown[cohort] = dict(zip(domain[best].tolist(), noisy[best].tolist(), strict=True))
        return shown

    def noisy(self, counts: Integers, source: RandomSource) -> Integers:
        """Exact weights under the noise of this generation."""
        return counts + discrete_gaussian(self.sigma, counts.size, source)

    def strength(self, votes: Mapping[str, float], source: RandomSource) -> float:
        """The strength that most people voted for, under noise; the weakest of equals."""
        assert self.vote_epsilon is not None
        counts = np.array([sum(vote == each for vote in votes.values()) for each in STRENGTHS], np.int64)
        noisy = counts + discrete_laplace(1 / float(self.vote_epsilon), len(STRENGTHS), source)
        return STRENGTHS[int(noisy.argmax())]


def marked(keys: Iterable[Iterable[tuple[int, int]]], cohorts: Cohorts) -> Integers:
    """The exact weight of every pair of the domain: secret, and only to be used under noise."""
    place = np.full(len(cohorts.table), -1, np.int64)
    place[cohorts.domain] = np.arange(cohorts.domain.size)
    counts = np.zeros((len(cohorts), cohorts.domain.size), np.int64)
    for pairs in keys:
        if held := list(pairs):
            cohort, word = np.array(held, np.int64).T
            counts[cohort, place[word]] += math.isqrt(UNIT * UNIT // len(held))
    return counts
