"""Integer noise, exact and vectorised: discrete Laplace, capped Laplace and discrete Gaussian.

No floating-point number is near a sample: every draw is an exact inversion of random bits
(:mod:`tacit.privacy.noise.inversion`). Proofs: docs/guarantees/noise.md. With a = exp(-1/b):

- **Discrete Laplace** noise of scale b has P(X = x) = (1-a)/(1+a)·a^|x|.
- **Discrete Gaussian** noise of σ has P(X = x) ∝ exp(-x²/(2σ²)).
- **Capped Laplace** noise never passes a bound, which a single thresholded count needs
  (docs/guarantees/adaptive.md).
"""

import math
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.privacy.guarantee import require
from tacit.privacy.noise.inversion import (
    ExponentialThreshold,
    GaussianThresholds,
    GeometricThresholds,
    GradualUniform,
    InversionTable,
    OneThreshold,
    RemainderThresholds,
)
from tacit.privacy.noise.randomness import (
    AddressedRandomness,
    OperatingSystemRandomness,
    RandomSource,
    at,
    coins,
    halves,
)

_Draw = Callable[[int, RandomSource], NDArray[np.int64]]
"""Gives so many independent integers."""


def with_fair_sign(draw: _Draw, size: int, source: RandomSource) -> NDArray[np.int64]:
    """Draws x with P(x) proportional to w(|x|) on all integers, ``draw`` giving g ≥ 0 with P(g) ∝ w(g).

    Minus zero is drawn again with its magnitude, so that 0 has its weight once.
    """
    value = draw(size, source)
    minus = coins(source, size)
    again = np.flatnonzero((value == 0) & (minus == 1))
    value ^= -minus
    value += minus
    if again.size:
        value[again] = with_fair_sign(draw, again.size, at(source, again))
    return value


def _in_blocks(draw: _Draw, size: int, source: RandomSource) -> NDArray[np.int64]:
    """Draw some at a time, so that what is needed beside the result stays small; on all processors where no
    source decides by the order in which it is asked."""
    drawn = np.empty(_checked_size(size), dtype=np.int64)

    def fill(start: int) -> None:
        block = drawn[start : start + _BLOCK]
        block[:] = draw(block.size, at(source, np.arange(start, start + block.size)))

    with ThreadPoolExecutor(os.cpu_count()) as workers:
        every = size > _BLOCK and isinstance(source, OperatingSystemRandomness) and source.unordered
        deque((workers.map if every else map)(fill, range(0, size, _BLOCK)), maxlen=0)
    return drawn


LARGEST_SCALE = Fraction(1 << 40)
"""Up to here a draw leaves the 64-bit integers with probability under exp(-2^22): never."""

SMALLEST_SCALE = Fraction(1, 10_000)
"""Below this (ε over 10,000 for a single count) there is no privacy to speak of, only long arithmetic."""

_BLOCK = 1 << 16
_LARGEST_TABLE_SCALE = 512
_REACH = 24


class _GeometricSampler:
    """G = q·M + r: r in 0..M-1 from one table, q from another, whose last value calls for more.

    q is geometric of rate M·rate and independent of r, since P(G = qM + r) = (1-a)·a^(qM)·a^r is a
    product. If q reaches the end of its table (L), the rest q - L is again geometric (no memory).
    """

    def __init__(self, scale: Fraction) -> None:
        excess = math.ceil(scale / _LARGEST_TABLE_SCALE)
        self.modulus = 1 << (excess - 1).bit_length() if excess > 1 else 1
        rate = 1 / scale
        self.reach = max(1, math.ceil(_REACH * scale / self.modulus))
        self.quotient = InversionTable(GeometricThresholds(self.modulus * rate, self.reach))
        self.remainders: list[tuple[int, InversionTable]] = []
        below = 1
        while below < self.modulus:
            modulus = min(self.modulus // below, 1 << 12)
            table = InversionTable(RemainderThresholds(below * rate, modulus))
            self.remainders.append((below, table))
            below *= modulus

    def draw(self, size: int, source: RandomSource) -> NDArray[np.int64]:
        value = self.quotient.draw(size, source).astype(np.int64)
        more = np.flatnonzero(value == self.reach)
        while more.size:
            further = self.quotient.draw(more.size, at(source, more))
            value[more] += further
            more = more[further == self.reach]
        if self.modulus > 1:
            value *= self.modulus
            for weight, table in self.remainders:
                value += table.draw(size, source).astype(np.int64) * weight
        return value


_geometric_sampler = lru_cache(maxsize=64)(_GeometricSampler)


@lru_cache(maxsize=64)
def _bernoulli_table(p: Fraction) -> InversionTable:
    return InversionTable(OneThreshold(1 - p))


def exact_scale(scale: float | Fraction) -> Fraction:
    """The scale as the rational number it is (a float stands for its exact binary value)."""
    if not (math.isfinite(scale) and SMALLEST_SCALE <= scale <= LARGEST_SCALE):
        rule = "between 0.0001 and 2^40 (or 0 to switch discrete Laplace noise off)"
        raise ParameterError.outside("the scale of the noise", float(scale), rule)
    return scale if isinstance(scale, Fraction) else Fraction(float(scale))


def _checked_size(size: int) -> int:
    require(size >= 0, "the number of draws", size, "at least 0")
    return size


def geometric(scale: float | Fraction, size: int, source: RandomSource) -> NDArray[np.int64]:
    """``size`` independent draws with P(G = g) = (1-a)·a^g for g = 0, 1, ..., a = exp(-1/scale)."""
    sampler = _geometric_sampler(exact_scale(scale))
    return _in_blocks(sampler.draw, size, source)


def discrete_laplace(scale: float | Fraction, size: int, source: RandomSource) -> NDArray[np.int64]:
    """``size`` independent draws with P(X = x) = (1-a)/(1+a)·a^|x|, a = exp(-1/scale).

    A scale of 0 is the limit a = 0, noise switched off: every draw is 0 (and the event of it has
    ε = ∞, which no ledger grants).
    """
    if scale == 0:
        return np.zeros(_checked_size(size), dtype=np.int64)
    magnitudes = _geometric_sampler(exact_scale(scale)).draw
    return _in_blocks(partial(with_fair_sign, magnitudes), size, source)


def bernoulli(p: float | Fraction, size: int, source: RandomSource) -> NDArray[np.bool_]:
    """``size`` independent draws, each true with probability exactly ``p`` (a float as its binary value)."""
    require(0 <= p <= 1, "the probability", float(p), "in [0, 1]")
    _checked_size(size)
    if p in (0, 1):
        return np.full(size, bool(p))
    return _bernoulli_table(Fraction(p)).draw(size, source).astype(np.bool_)


def capped_laplace(
    scale: float | Fraction, upward: float | Fraction, most: int, size: int, source: RandomSource
) -> NDArray[np.int64]:
    """``size`` independent draws.

    Args:
        scale: b; 0 switches the noise off.
        upward: u.
        most: the largest value.
        size: how many.
        source: of the random bits.
    """
    require(most >= 0, "the bound of the noise", most, "at least 0")
    drawn = np.zeros(size, dtype=np.int64)
    left = np.arange(size if scale else 0)
    while left.size:
        these = at(source, left)
        magnitude = geometric(scale, left.size, these)
        up = bernoulli(upward, left.size, these)
        drawn[left] = np.where(up, magnitude, -1 - magnitude)
        left = left[drawn[left] > most]
    return drawn


LARGEST_SIGMA = Fraction(1 << 40)
"""Up to here a draw leaves the 64-bit integers with probability under exp(-2^45): never."""

SMALLEST_SIGMA = Fraction(1, 50)
"""Below this every draw is 0 but for one in 10^500: there is no privacy to speak of."""

_LARGEST_TABLE_SIGMA = 512
_REACH_GAUSSIAN = 8
"""The table ends at this many σ; beyond lies a part of 10^-15, drawn by ``_beyond``."""


class _GaussianSampler:
    """Draws magnitudes |x| ≥ 0 with P ∝ exp(-x²/(2σ²))."""

    def __init__(self, sigma: Fraction) -> None:
        excess = math.ceil(sigma / _LARGEST_TABLE_SIGMA)
        self.modulus = 1 << (excess - 1).bit_length() if excess > 1 else 1
        self.twice_variance = 2 * sigma * sigma
        self.rate = self.modulus**2 / self.twice_variance
        self.reach = max(1, math.ceil(_REACH_GAUSSIAN * sigma / self.modulus))
        self.blocks = InversionTable(GaussianThresholds(self.rate, self.reach))
        largest = self.modulus - 1
        self.kept = np.zeros(self.reach + 1, dtype=np.uint32)
        """For each q a number of 16 digits: a uniform number under it is kept whatever r is."""
        whole, parts = self.twice_variance.numerator, self.twice_variance.denominator
        for q in range(self.reach):
            loss = (2 * q * self.modulus * largest + largest**2) * parts  # of ``whole``
            self.kept[q] = max(0, ((whole - loss) << 16) // whole)

    def draw(self, size: int, source: RandomSource) -> NDArray[np.int64]:
        value = np.empty(size, dtype=np.int64)
        left = np.arange(size)
        while left.size:
            these = at(source, left)
            blocks = self._blocks(left.size, these)
            if self.modulus == 1:
                value[left] = blocks
                break
            rest = _uniform(self.modulus, left.size, these)
            kept = self._keeps(blocks, rest, these)
            value[left] = blocks * self.modulus + rest
            left = left[~kept]
        return value

    def _blocks(self, size: int, source: RandomSource) -> NDArray[np.int64]:
        blocks = self.blocks.draw(size, source).astype(np.int64)
        for place in np.flatnonzero(blocks == self.reach):
            blocks[place] = self.reach + self._beyond(at(source, np.array([place])))
        return blocks

    def _beyond(self, source: RandomSource) -> int:
        """j ≥ 0 with P ∝ exp(-(L+j)²·rate), L the table's reach.

        Up to a constant that is exp(-2Lj·rate)·exp(-j²·rate): geometric, kept with the second factor.
        """
        while True:
            j = int(geometric(1 / (2 * self.reach * self.rate), 1, source)[0])
            uniform = GradualUniform(0, 0, source)
            if not uniform.reaches(ExponentialThreshold(j * j * self.rate), 1):
                return j

    def _keeps(
        self, blocks: NDArray[np.int64], rest: NDArray[np.int64], source: RandomSource
    ) -> NDArray[np.bool_]:
        """Keep each draw with probability exp(-(2qMr + r²)/(2σ²)).

        Since 1 - y ≤ exp(-y), a uniform number under 1 - y is kept without a look at the exponential.
        """
        digits = halves(source, blocks.size)
        kept = digits < self.kept[np.minimum(blocks, self.reach)]
        left = np.flatnonzero(~kept)
        if left.size:
            further = at(source, left).words(left.size) >> np.uint64(16)
            whole, parts = self.twice_variance.numerator, self.twice_variance.denominator
            for place, more in zip(left.tolist(), further.tolist(), strict=True):
                q, r = int(blocks[place]), int(rest[place])
                loss = (2 * q * self.modulus * r + r * r) * parts
                kept[place] = _under_exponential(
                    (int(digits[place]) << 48) | more, loss, whole, at(source, np.array([place]))
                )
        return kept


def _under_exponential(digits: int, a: int, b: int, source: RandomSource) -> bool:
    """Whether a uniform number with these first 64 digits lies under exp(-x), x = a/b.

    1 - x ≤ exp(-x) ≤ 1 - x + x²/2 decides nearly always; otherwise both are refined together.
    """
    if (digits + 1) * b <= (b - a) << 64:
        return True
    if digits * 2 * b * b >= (2 * b * b - 2 * a * b + a * a) << 64:
        return False
    return not GradualUniform(digits, 64, source).reaches(ExponentialThreshold(Fraction(a, b)), 1)


def _uniform(modulus: int, size: int, source: RandomSource) -> NDArray[np.int64]:
    """Uniform on 0..modulus-1, a power of two."""
    if modulus <= 1 << 16:
        words: NDArray[np.int64] = halves(source, size).astype(np.int64)
    elif modulus <= 1 << 32 and not isinstance(source, AddressedRandomness):
        words = source.words(-(-size // 2)).view(np.uint32)[:size].astype(np.int64)
    else:
        words = (source.words(size) >> np.uint64(1)).astype(np.int64)
    return words & (modulus - 1)


_gaussian_sampler = lru_cache(maxsize=64)(_GaussianSampler)


def exact_sigma(sigma: float | Fraction) -> Fraction:
    """σ as the rational number it is (a float stands for its exact binary value)."""
    if not (math.isfinite(sigma) and SMALLEST_SIGMA <= sigma <= LARGEST_SIGMA):
        rule = "between 0.02 and 2^40 (or 0 to switch discrete Gaussian noise off)"
        raise ParameterError.outside("sigma of the noise", float(sigma), rule)
    return sigma if isinstance(sigma, Fraction) else Fraction(sigma)


def discrete_gaussian(sigma: float | Fraction, size: int, source: RandomSource) -> NDArray[np.int64]:
    """``size`` independent draws with P(X = x) ∝ exp(-x²/(2σ²)) on the integers.

    A σ of 0 is noise switched off: every draw is 0 (and the event of it has ε = ∞, which no ledger grants).
    """
    if sigma == 0:
        return np.zeros(_checked_size(size), dtype=np.int64)
    return _in_blocks(partial(with_fair_sign, _gaussian_sampler(exact_sigma(sigma)).draw), size, source)
