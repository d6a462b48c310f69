"""Privacy loss of integer noise, with every error on the safe side (docs/guarantees/ledger.md, adaptive.md).

**Tails of the normal distribution**, in integer arithmetic: P(Z ≥ x) = 1/2 - φ(x)·Σ_k x^(2k+1)/(2k+1)!!, with
every step rounded outwards and digits enough that the subtraction leaves as many as were asked for.

**Gaussian noise.** δ(ε; μ) and what whole numbers add to it: docs/guarantees/adaptive.md.

**Privacy loss distributions.** The loss of an outcome is the logarithm of how much likelier it is under one
log than under its neighbour; losses of independent parts add, and δ = E[(1 - e^(ε - loss))₊]. Every number
errs upwards, by proof. Losses lie on a lattice, exactly where noise is discrete Laplace, rounded up
otherwise. A sum of n products of positive floats is off by a part of (n + 1)·2^-53 at most, and is raised by
more than that. Convolutions are direct: a Fourier transform would leave an error of 10^-16 of the *largest*
mass in every cell, far above the masses that a small δ is made of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InfeasibleError
from tacit.privacy.arithmetic import Enclosure, enclose_exponential, enclose_fraction, multiply, round_up
from tacit.privacy.guarantee import require

_PI_DIGITS = (
    "314159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651"
    "328230664709384460955058223172535940812848111745028410270193852110555964462294895493038196442881097566593344612847"
)
_PI = int(_PI_DIGITS)
_PI_PLACES = len(_PI_DIGITS) - 1
LARGEST = 30
"""Beyond 30 standard deviations a tail is under 10^-190; bounds are stated for 30 then."""


def enclose_upper_tail(x: Fraction, bits: int) -> Enclosure:
    """Integers (low, high) with low ≤ P(Z ≥ x)·2^bits ≤ high, Z standard normal."""
    if x < 0:
        low, high = enclose_upper_tail(-x, bits)
        return (1 << bits) - high, (1 << bits) - low
    if x > LARGEST:
        return 0, enclose_upper_tail(Fraction(LARGEST), bits)[1]
    # The series grows to exp(x²/2) before its factor brings it down: so many digits more.
    guard = 64 + math.ceil(x * x)
    work = bits + guard
    # A point to either side, with few digits, keeps the series' fractions short.
    low, high = enclose_fraction(x, work)
    below = _area(low, work)
    above = below if high == low else _area(high, work)
    half = 1 << (work - 1)
    return max(0, half - above[1]) >> guard, -(-max(0, half - below[0]) >> guard)


def _area(x: int, bits: int) -> Enclosure:
    """An enclosure of P(0 ≤ Z ≤ x/2^bits)."""
    square = (x * x >> bits, -(-x * x >> bits))
    low = high = 0
    least = most = x  # an enclosure of the next term; made by hand, since most of all planning is here
    odd = 1
    while most > 1 or (odd + 2) << bits <= 2 * square[1]:
        low, high = low + least, high + most
        odd += 2
        least, most = (least * square[0] >> bits) // odd, -((-most * square[1] >> bits) // odd)
    # From here on each term is at most half the one before it.
    high += 2 * most
    one = 1 << bits
    density = enclose_exponential(Fraction(x * x, 2 * one * one), bits)
    root = _root_of_two_pi(bits)
    peak = (density[0] << bits) // root[1], -(-(density[1] << bits) // root[0])
    return multiply((low, high), peak, bits)


@lru_cache(maxsize=64)
def _root_of_two_pi(bits: int) -> Enclosure:
    scale = 10**_PI_PLACES
    low = math.isqrt((2 * _PI << (2 * bits)) // scale)
    high = math.isqrt(-(-(2 * (_PI + 1) << (2 * bits)) // scale)) + 1
    return low, high


@lru_cache(maxsize=1024)
def upper_tail(x: float | Fraction) -> Fraction:
    """An upper bound of P(Z ≥ x), within 10^-70 of it."""
    return Fraction(enclose_upper_tail(Fraction(x), 256)[1], 1 << 256)


LATTICE_LOSS = Fraction(1, 10**25)
"""An upper bound of a, the logarithm of the factor between discrete noise and its origin, over all numbers
that
one user moves: for σ ≥ η = 2 each costs at most ln((1+κ)/(1-κ)), κ = 1.1·10^-34, so that it holds for up to
4·10^8 of them."""

_BITS = 320


def root_above(value: Fraction) -> Fraction:
    """A rational number not below the square root, within 10^-30 of it relatively."""
    shift = 240
    scaled = -(-(value.numerator << shift) // value.denominator)
    return Fraction(math.isqrt(scaled) + 1, 1 << (shift // 2))


@lru_cache(maxsize=1024)
def lattice_delta(epsilon: float | Fraction, mu: float | Fraction) -> float:
    """The δ of discrete Gaussian noise whose continuous origin is μ-Gaussian private, rounded up."""
    less = Fraction(epsilon) - 2 * LATTICE_LOSS
    # e^a ≤ 1 + 2a for a ≤ 1; at ε = 0 there is nothing to take from, and δ changes by less than its slope.
    if less < 0:
        return round_up((1 + 2 * LATTICE_LOSS) * (_delta(Fraction(0), Fraction(mu)) + 2 * LATTICE_LOSS))
    return round_up((1 + 2 * LATTICE_LOSS) * _delta(less, Fraction(mu)))


def _delta(epsilon: Fraction, mu: Fraction) -> Fraction:
    require(mu >= 0 and epsilon >= 0, "epsilon and mu", float(min(mu, epsilon)), "at least 0")
    if mu == 0:
        return Fraction(0)
    near = enclose_upper_tail(epsilon / mu - mu / 2, _BITS)
    far = enclose_upper_tail(epsilon / mu + mu / 2, _BITS)
    # e^ε rounded down is 1 over e^(-ε) rounded up.
    factor = Fraction(1 << _BITS, enclose_exponential(epsilon, _BITS)[1])
    return max(Fraction(0), near[1] - factor * far[0]) / (1 << _BITS)


def _mu_in_floats(epsilon: float, delta: float) -> float:
    """About the largest μ with δ(ε; μ) ≤ δ: where to look for it. Nothing rests on it."""
    low, high = 2.0**-60, 2.0**20
    factor = math.exp(min(epsilon, 700.0))
    while low < (middle := math.sqrt(low * high)) < high:
        near, far = ((epsilon / middle + each * middle / 2) / math.sqrt(2) for each in (-1, 1))
        if math.erfc(near) - factor * math.erfc(far) <= 2 * delta:
            low = middle
        else:
            high = middle
    return low


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest μ (to 12 digits) with δ(ε; μ) ≤ δ."""
    require(epsilon >= 0 and 0 < delta < 1, "delta", delta, "in (0, 1)")
    low, high = Fraction(0), Fraction(1)
    while lattice_delta(epsilon, high) <= delta:
        low, high = high, 2 * high
        if high > 1 << 20:
            raise InfeasibleError("there is no Gaussian noise so small.", "Ask for a smaller epsilon.")
    held, exceeded = low, high  # what these say is known of all numbers beyond them
    nearly = _mu_in_floats(epsilon, delta)
    for near in (Fraction(nearly * (1 - 1e-12)), Fraction(nearly * (1 + 1e-12))):
        if lattice_delta(epsilon, near) <= delta:
            held = max(held, near)
        else:
            exceeded = min(exceeded, near)
    while high - low > high / 10**13:
        middle = Fraction(float((low + high) / 2))
        if middle <= held or (middle < exceeded and lattice_delta(epsilon, middle) <= delta):
            low = middle
        else:
            high = middle
    return float(low)


Masses = NDArray[np.float64]

_ULP = 2.0**-52
_CUT = 1e-60
"""Tails of less mass are cut: those of large losses count as infinite, those of small ones as the smallest
kept.
"""
_CELLS = 1 << 14


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
        """Return the losses, each not below the true one."""
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
    require(times >= 1, "the number of releases", times, "at least 1")
    power = loss
    while not times & 1:
        power, times = _convolved(power, power), times >> 1
    total = power
    while times := times >> 1:
        power = _convolved(power, power)
        if times & 1:
            total = _convolved(total, power)
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
