"""What clipping leaves of a count, and what follows for counts and deviations: from noisy numbers alone.

Users' vectors over the found items are clipped to a norm L, and what that leaves of an item's count is the
mean of min(1, L/n) over its holders, n their norms. It is estimated by a model, and the model is put right
by one noisy number, the sum of squared norms (docs/guarantees/adaptive.md, "What a count means").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from tacit.release.schedule import ONE, Tally

Real = NDArray[np.float64]

MODEL_ERROR = 0.1
"""How far the model of clipping is taken to be off: the part of a count that its deviation grows by."""

TOLD_APART = 4.0
"""A count is withheld below so many standard deviations of its noise."""

_SPREAD = 1.1
"""The standard deviation of the logarithm of users' activity."""
_POINTS = 24
"""At so many equally likely activities the model is worked out."""
_PASSES = 12
_LEAST_FACTOR = 0.1
"""Noise never shrinks counts by more than this."""
_LEAST_BOUND = 4
"""A squared norm counts up to so many times the mean square of a weight, at the least."""
_TRUST = 1.0
"""How far the model may be off in what a bound of squared norms cuts away, as a part of it."""


@dataclass(frozen=True)
class Counts:
    """Published counts: of users, the standard deviations of their noise, and which say nothing."""

    counts: NDArray[np.int64]
    noise: Real

    @property
    def withheld(self) -> NDArray[np.bool_]:
        """Find the counts that noise alone may have made."""
        return np.asarray(self.counts < TOLD_APART * self.noise)

    @property
    def deviations(self) -> Real:
        """Compute the deviations of noise and model together."""
        return np.sqrt(self.noise**2 + (MODEL_ERROR * self.counts) ** 2)

    @property
    def below(self) -> Real:
        """Bound a withheld count: two deviations of noise beyond the largest that is withheld."""
        return (TOLD_APART + 2) * self.noise


@dataclass(frozen=True)
class Clipped:
    """Noisy clipped counts of the found items."""

    schedule: Tally  # whose noise is in the numbers
    weights: NDArray[np.int64]  # v of each item, whole numbers
    numbers: NDArray[np.int64]  # the noisy weight of each, on the lattice
    users: int  # the noisy number of users, on the lattice

    @property
    def clipped(self) -> Real:
        """The clipped counts, in users."""
        return self.numbers * (math.sqrt(limit_of(self.weights)) / (ONE * self.weights.astype(np.float64)))

    @property
    def most(self) -> float:
        """Bound how many users there can be, by the noisy number of them."""
        return max(1.0, (self.users + 2 * self.schedule.users_sigma) / ONE)

    @cached_property
    def modelled(self) -> tuple[Real, Holders]:
        """The part that clipping leaves of each count, and the holders that the model supposes."""
        clipped = np.maximum(self.clipped, 0.0)
        squares = self.weights.astype(np.float64) ** 2
        users = max(float(clipped.max(initial=1.0)), self.users / ONE)
        left = np.ones_like(clipped)
        holders = Holders(0.0, 0.0, squares.size)
        for _ in range(_PASSES):
            counts = np.minimum(clipped / left, users)
            total = math.fsum(counts)
            if not total:
                break
            holders = Holders(total / users, math.fsum(counts * squares) / total, squares.size)
            left = holders.mean_part(squares, limit_of(self.weights), 0.5)
        return left, holders

    def bound_of_squares(self) -> int:
        """K: up to which a user's squared norm counts in their sum.

        A larger one lets more noise in, a smaller one leaves more to the model: the least of both is taken.
        """
        whole = int((self.weights**2).sum())
        tried = [_LEAST_BOUND * limit_of(self.weights)]
        while tried[-1] < whole:
            tried.append(2 * tried[-1])
        bounds = [min(bound, whole) for bound in tried]
        return min(bounds, key=lambda bound: self._squares(bound)[1])

    def _squares(self, bound: int) -> tuple[float, float]:
        """Compute what the model expects of bounded squared norms, and how far off their noisy sum may be."""
        squares = self.weights.astype(np.float64) ** 2
        left, holders = self.modelled
        supposed = np.maximum(self.clipped, 0.0) / left * squares
        whole = math.fsum(supposed)
        if not whole:
            return 0.0, math.inf
        part = 1.0 if bound == int(squares.sum()) else holders.mean_part(squares, bound, 1.0)
        expected = math.fsum(supposed * part)
        noise = bound / ONE * self.schedule.squares_sigma / expected
        return expected, noise**2 + (_TRUST * (1 - expected / whole)) ** 2

    def put_right(self, bound: int, noisy_squares: int) -> Counts:
        """Counts of users, by the model and the noisy sum of squared norms, in parts 2^-16 of ``bound``."""
        squares = self.weights.astype(np.float64) ** 2
        left, _ = self.modelled
        expected, drawn = self._squares(bound)
        noise = self.schedule.sigma * math.sqrt(limit_of(self.weights)) / (ONE * np.sqrt(squares) * left)
        factor = 1.0
        if expected:
            own = MODEL_ERROR**2 + math.fsum((noise * squares) ** 2) / expected**2
            factor += own / (own + drawn) * (bound / ONE * noisy_squares / expected - 1)
            factor = max(factor, _LEAST_FACTOR)
        counts = np.clip(np.rint(self.clipped / left * factor), 1, self.most).astype(np.int64)
        return Counts(counts, noise * factor)


@dataclass(frozen=True)
class Holders:
    """Who holds an item, as the model has it: other found items fall to people independently.

    Somebody of activity a has a Poisson number of them with mean aΛ. Activities are lognormal, and who is
    more active holds a given item more likely.
    """

    rate: float  # Λ, found items a user
    square: float  # the mean squared weight of an item that somebody holds
    items: int  # how many there are

    def _numbers(self) -> tuple[Real, Real]:
        """Return how many other found items a holder has, and with which chance; no more than there are."""
        normal = [NormalDist().inv_cdf((place + 0.5) / _POINTS) for place in range(_POINTS)]
        means = self.rate * np.exp(_SPREAD * np.array(normal) + _SPREAD**2 / 2)
        reach = min(self.items - 1, math.ceil(means[-1] + 8 * math.sqrt(means[-1]) + 8))
        numbers = np.arange(reach + 1, dtype=np.float64)
        factorials = np.array([math.lgamma(number + 1) for number in range(reach + 1)])
        logs = numbers * np.log(np.maximum(means, 1e-300))[:, None] - means[:, None] - factorials
        chances = np.exp(logs).mean(axis=0)
        chances[-1] += max(0.0, 1 - math.fsum(chances))
        return numbers, chances

    def mean_part(self, squares: Real, limit: float, power: float) -> Real:
        """The mean of min(1, limit/n²)^power over the holders of items of these squared weights.

        With L² and a power of one half it is what clipping to L leaves, with K and 1 what a bound of squared
        norms leaves.
        """
        numbers, chances = self._numbers()
        kinds, which = np.unique(squares, return_inverse=True)
        norms = kinds[:, None] + self.square * numbers[None, :]
        parts = (np.minimum(1.0, limit / norms) ** power * chances).sum(axis=1)
        return np.asarray(parts[which])


def limit_of(weights: NDArray[np.int64]) -> int:
    """L²: the mean of v² over the found items, "one average key"; a whole number."""
    return max(1, int((weights**2).sum()) // max(1, weights.size))
