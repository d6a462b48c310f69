"""Privacy loss distributions with every error on the safe side.

The **privacy loss** of an outcome is the logarithm of how much likelier it is under one log than under its
neighbour. Losses of independent parts add, so their distributions are convolved; at a total ε the release is
(ε, δ)-indistinguishable with δ = E[(1 - e^(ε - loss))₊].

Here every number errs upwards, by proof. Losses lie on a lattice, exactly where noise is discrete Laplace,
rounded up otherwise. Masses are floats that are not below the true ones: a sum of n products of positive
floats is off by a part of (n + 1)·2^-53 at most, in whatever order it is taken, and is raised by more than
that. Convolutions are direct; a Fourier transform would leave an error of 10^-16 of the *largest* mass in
every cell, which is far above the masses that a small δ is made of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.enclosure import enclose_exponential
from tacit.privacy.rounding import round_up

__all__ = ["LossDistribution", "gaussian_loss", "laplace_loss", "split_delta", "together"]

Masses = NDArray[np.float64]

_ULP = 2.0**-52
_CUT = 1e-60
"""Tails of less mass are cut: those of large losses count as infinite, those of small ones as the smallest
kept.
"""
_CELLS = 1 << 14
_LARGEST_LATTICE = 1 << 22


@dataclass(frozen=True, eq=False)
class LossDistribution:
    """The loss is start + k·unit with a probability of at most ``masses[k]``, infinite with at most
    ``infinite``.
    """

    start: Fraction
    unit: Fraction
    masses: Masses
    infinite: float = 0.0

    def losses(self) -> Masses:
        """Each not below the true one."""
        places = float(self.start) + float(self.unit) * np.arange(self.masses.size)
        return np.asarray(places + (np.abs(places) + abs(float(self.start))) * 4 * _ULP)

    def delta(self, epsilon: float) -> float:
        """δ at ε, not below the true one."""
        losses = self.losses()
        gap = epsilon - losses - (abs(epsilon) + np.abs(losses)) * 2 * _ULP
        parts = self.masses * -np.expm1(np.minimum(gap, 0.0))
        total = float(parts.sum()) * (1 + (self.masses.size + 8) * _ULP)
        return min(1.0, math.nextafter(total + self.infinite * (1 + 2 * _ULP), math.inf))

    def epsilon(self, delta: float) -> float:
        """The least ε ≥ 0 (to 12 digits) whose δ is at most this one; infinite where there is none."""
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, float(max(self.losses()[-1], 1e-300)) * (1 + 4 * _ULP)
        if not self.delta(high) <= delta:
            return math.inf
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            if self.delta(middle) <= delta:
                high = middle
            else:
                low = middle
        return high

    def cut(self) -> LossDistribution:
        """The same without its far tails."""
        above = np.cumsum(self.masses[::-1])[::-1] * (1 + self.masses.size * _ULP)
        last = int(np.searchsorted(-above, -_CUT, side="left"))
        below = np.cumsum(self.masses) * (1 + self.masses.size * _ULP)
        first = min(int(np.searchsorted(below, _CUT, side="left")), last)
        if last == 0:
            return LossDistribution(self.start, self.unit, np.zeros(1), min(1.0, self.infinite + _CUT))
        kept = self.masses[first : max(last, first + 1)].copy()
        if first:
            kept[0] += below[first - 1]
        lost = float(above[last]) if last < self.masses.size else 0.0
        infinite = 0.0 if not (lost or self.infinite) else math.nextafter(self.infinite + lost, 1.0)
        return LossDistribution(self.start + first * self.unit, self.unit, kept, infinite)


def _convolved(one: LossDistribution, other: LossDistribution) -> LossDistribution:
    """The sum of two independent losses on lattices of one unit."""
    assert one.unit == other.unit
    terms = min(one.masses.size, other.masses.size)
    # What is lost to underflow, at most 2^-1074 a product, is far below the 10^-300 that are added.
    masses = np.convolve(one.masses, other.masses) * (1 + (terms + 4) * _ULP) + 1e-300
    infinite = (one.infinite + other.infinite) * (1 + 2 * _ULP)
    return LossDistribution(one.start + other.start, one.unit, masses, min(1.0, infinite)).cut()


def _repeated(loss: LossDistribution, times: int) -> LossDistribution:
    """``times`` independent copies together, by repeated doubling."""
    total: LossDistribution | None = None
    power = loss
    while times:
        if times & 1:
            total = power if total is None else _convolved(total, power)
        times >>= 1
        if times:
            power = _convolved(power, power)
    assert total is not None
    return total


@lru_cache(maxsize=1024)
def laplace_loss(rate: Fraction, step: int, times: int) -> LossDistribution:
    """``times`` counts under discrete Laplace noise, a = exp(-rate), each moved by ``step``.

    One count moved by s has the loss (s - 2j)·rate with probability a^j·w_j/(1+a), w = 1 for j = 0 and j = s
    and 1 - a in between. With s = 1 the sum is binomial. Randomised response of ε is the same with rate = ε,
    s = 1.
    """
    bits = 160
    low, high = (Fraction(end, 1 << bits) for end in enclose_exponential(rate, bits))
    upper = []
    for j in range(step + 1):
        inner = 1 if j in (0, step) else 1 - low
        upper.append(round_up(high**j * inner / (1 + low)))
    # Ascending losses: j runs from s down to 0.
    single = LossDistribution(-step * rate, 2 * rate, np.array(upper[::-1]))
    return _repeated(single, times)


def gaussian_loss(mu: float, unit: Fraction) -> LossDistribution:
    """Gaussian noise of μ in all: the loss is normal of mean μ²/2 and deviation μ, rounded up to the lattice.

    A cell's mass is the difference of two tails, each good to 10^-14 of itself; what that means for the
    difference is added to it.
    """
    from scipy.special import ndtr

    mean = mu * mu / 2
    reach = 17.0 * mu
    start = math.floor((mean - reach) / float(unit))
    count = math.ceil(2 * reach / float(unit)) + 2
    edges = (float(unit) * (start + np.arange(count + 1)) - mean) / mu
    upper = ndtr(-edges)
    lower = ndtr(edges)
    right = edges[:-1] > 0
    larger = np.where(right, upper[:-1], lower[1:])
    masses = np.where(right, upper[:-1] - upper[1:], lower[1:] - lower[:-1]) + larger * 4e-14
    masses[0] += float(lower[0]) * 2
    loss = LossDistribution(Fraction(start + 1) * unit, unit, np.maximum(masses, 0.0), float(upper[-1]) * 2)
    return loss.cut()


def _on(loss: LossDistribution, unit: Fraction) -> LossDistribution:
    """The same on a lattice through 0, losses rounded up."""
    places = [math.ceil((loss.start + k * loss.unit) / unit) for k in (0, loss.masses.size - 1)]
    masses = np.zeros(places[1] - places[0] + 2)
    cells = np.ceil(loss.losses() / float(unit) * (1 + 4 * _ULP) + 1e-9).astype(np.int64) - places[0]
    np.add.at(masses, np.clip(cells, 0, masses.size - 1), loss.masses)
    masses *= 1 + loss.masses.size * _ULP
    return LossDistribution(places[0] * unit, unit, masses, loss.infinite)


def together(
    lattices: Sequence[LossDistribution], mu: float = 0.0, disclosure: float = 0.0
) -> LossDistribution:
    """Independent parts as one: lattices of discrete noise, Gaussian noise of μ in all, and a disclosure.

    A single lattice stays as it is. Several are rounded up to a common one, each once.
    """
    parts = list(lattices)
    if mu or len({part.unit for part in parts}) > 1:
        spans = [float(part.unit) * part.masses.size for part in parts] + ([34.0 * mu] if mu else [])
        unit = Fraction(max(sum(spans), 1e-6) / _CELLS)
        parts = [_on(part, unit) for part in parts]
        if mu:
            parts.append(gaussian_loss(mu, unit))
    if not parts:
        parts = [LossDistribution(Fraction(0), Fraction(1), np.ones(1))]
    total = parts[0]
    for part in parts[1:]:
        total = _convolved(total, part)
    infinite = 0.0 if not (total.infinite or disclosure) else math.nextafter(total.infinite + disclosure, 2.0)
    return LossDistribution(total.start, total.unit, total.masses, min(1.0, infinite))


@lru_cache(maxsize=1024)
def split_delta(rate: Fraction, counts: int, chance: float, epsilon: float) -> float:
    """The δ at ε of ``counts`` keys of which each is either moved by 1 under noise or shown with ``chance``.

    With j keys of the second kind it is d_j + (1 - d_j)·δ(noise on the others), d_j = 1 - (1 - chance)^j ≤
    j·chance; the worst j counts. Of very many, j is tried in steps: within one, more of d_j and of the
    noise's δ than either end has.
    """
    step = max(1, counts // 128)
    worst = 0.0
    for j in range(0, counts + 1, step):
        moved = counts - j
        noise = laplace_loss(rate, 1, moved).delta(epsilon) if moved else 0.0
        shown = min(counts, j + step - 1) * chance
        worst = max(worst, (noise + shown) * (1 + 8 * _ULP))
    return min(1.0, worst)
