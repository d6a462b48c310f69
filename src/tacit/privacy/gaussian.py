"""Gaussian noise on the integers, exact and vectorised.

The **discrete Gaussian** of parameter σ gives P(X = x) ∝ exp(-x²/(2σ²)) on the integers. What it promises is
on docs/guarantees/noise.md, and it is *not* simply what a continuous normal of the same σ promises.

How it is drawn: a fair sign and a magnitude x = q·M + r, with M a power of two near σ/512 and 0 ≤ r < M.

- q is inverted exactly from a table, P(q) ∝ exp(-(qM)²/(2σ²)); beyond the table's end it is geometric with a
  rejection (see ``_beyond``);
- r is uniform;
- the pair is kept with probability exp(-(2qMr + r²)/(2σ²)), which is nearly 1, and drawn again otherwise. The
  uniform number that decides is compared in integers with proven bounds, refined while they leave it open.

The product of the three is exp(-(qM + r)²/(2σ²)) up to a constant. No floating-point number takes part.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.privacy.inversion import GradualUniform, InversionTable
from tacit.privacy.noise import geometric
from tacit.privacy.randomness import RandomSource
from tacit.privacy.signs import with_fair_sign
from tacit.privacy.thresholds import ExponentialThreshold, GaussianThresholds

__all__ = ["LARGEST_SIGMA", "SMALLEST_SIGMA", "discrete_gaussian", "exact_sigma"]

LARGEST_SIGMA = Fraction(1 << 40)
"""Up to here a draw leaves the 64-bit integers with probability under exp(-2^45): never."""

SMALLEST_SIGMA = Fraction(1, 50)
"""Below this every draw is 0 but for one in 10^500: there is no privacy to speak of."""

_BLOCK = 1 << 16
_LARGEST_TABLE_SIGMA = 512
_REACH = 8
"""The table ends at this many σ; beyond lies a part of 10^-15, drawn by ``_beyond``."""


class _GaussianSampler:
    """Draws magnitudes |x| ≥ 0 with P ∝ exp(-x²/(2σ²))."""

    def __init__(self, sigma: Fraction) -> None:
        excess = math.ceil(sigma / _LARGEST_TABLE_SIGMA)
        self.modulus = 1 << (excess - 1).bit_length() if excess > 1 else 1
        self.twice_variance = 2 * sigma * sigma
        self.rate = self.modulus**2 / self.twice_variance
        self.reach = max(1, math.ceil(_REACH * sigma / self.modulus))
        self.blocks = InversionTable(GaussianThresholds(self.rate, self.reach))
        largest = self.modulus - 1
        self.kept = np.zeros(self.reach + 1, dtype=np.uint32)
        """For each q a number of 16 digits: a uniform number under it is kept whatever r is."""
        for q in range(self.reach):
            loss = Fraction(2 * q * self.modulus * largest + largest**2) / self.twice_variance
            self.kept[q] = max(0, math.floor((1 << 16) * (1 - loss)))

    def draw(self, size: int, source: RandomSource) -> NDArray[np.int64]:
        value = np.empty(size, dtype=np.int64)
        left = np.arange(size)
        while left.size:
            blocks = self._blocks(left.size, source)
            if self.modulus == 1:
                value[left] = blocks
                break
            rest = _uniform(self.modulus, left.size, source)
            kept = self._keeps(blocks, rest, source)
            value[left] = blocks * self.modulus + rest
            left = left[~kept]
        return value

    def _blocks(self, size: int, source: RandomSource) -> NDArray[np.int64]:
        blocks = self.blocks.draw(size, source).astype(np.int64)
        for place in np.flatnonzero(blocks == self.reach):
            blocks[place] = self.reach + self._beyond(source)
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
        """Each with probability exp(-(2qMr + r²)/(2σ²)).

        Since 1 - y ≤ exp(-y), a uniform number under 1 - y is kept without a look at the exponential.
        """
        digits = source.words(-(-blocks.size // 4)).view(np.uint16)[: blocks.size]
        kept = digits < self.kept[np.minimum(blocks, self.reach)]
        left = np.flatnonzero(~kept)
        if left.size:
            further = source.words(left.size) >> np.uint64(16)
            for place, more in zip(left.tolist(), further.tolist(), strict=True):
                q, r = int(blocks[place]), int(rest[place])
                loss = (2 * q * self.modulus * r + r * r) / self.twice_variance
                kept[place] = _under_exponential((int(digits[place]) << 48) | more, loss, source)
        return kept


def _under_exponential(digits: int, x: Fraction, source: RandomSource) -> bool:
    """Whether a uniform number with these first 64 digits lies under exp(-x).

    1 - x ≤ exp(-x) ≤ 1 - x + x²/2 decides nearly always; otherwise both are refined together.
    """
    a, b = x.numerator, x.denominator
    if (digits + 1) * b <= (b - a) << 64:
        return True
    if digits * 2 * b * b >= (2 * b * b - 2 * a * b + a * a) << 64:
        return False
    return not GradualUniform(digits, 64, source).reaches(ExponentialThreshold(x), 1)


def _uniform(modulus: int, size: int, source: RandomSource) -> NDArray[np.int64]:
    """Uniform on 0..modulus-1, a power of two."""
    if modulus <= 1 << 16:
        words: NDArray[np.int64] = source.words(-(-size // 4)).view(np.uint16)[:size].astype(np.int64)
    elif modulus <= 1 << 32:
        words = source.words(-(-size // 2)).view(np.uint32)[:size].astype(np.int64)
    else:
        words = (source.words(size) >> np.uint64(1)).astype(np.int64)
    return words & (modulus - 1)


@lru_cache(maxsize=64)
def _sampler(sigma: Fraction) -> _GaussianSampler:
    return _GaussianSampler(sigma)


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
    if size < 0:
        raise ParameterError.outside("the number of draws", size, "at least 0")
    if sigma == 0:
        return np.zeros(size, dtype=np.int64)
    sampler = _sampler(exact_sigma(sigma))
    drawn = np.empty(size, dtype=np.int64)
    for start in range(0, size, _BLOCK):
        block = drawn[start : start + _BLOCK]
        block[:] = with_fair_sign(sampler, block.size, source)
    return drawn
