"""Integer noise, exact and vectorised.

The **discrete Laplace** distribution of scale b gives P(X = x) = (1-a)/(1+a)·a^|x| with
a = exp(-1/b); it is the geometric mechanism's noise, and for integer t ≥ 0 P(X ≥ t) = a^t/(1+a).
A count that one user moves by at most 1 and that gets this noise is 1/b-differentially private,
with no floating-point number near the sample (see docs/guarantees/noise.md for the proof).

How it is drawn: a sign S and a geometric magnitude G with P(G = g) = (1-a)a^g, drawn again if
S is minus and G is 0. G in turn is split by its lack of memory into independent digits,
G = q·M + r, each inverted exactly (:mod:`tacit.privacy.inversion`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.privacy.inversion import InversionTable
from tacit.privacy.randomness import RandomSource
from tacit.privacy.signs import with_fair_sign
from tacit.privacy.thresholds import GeometricThresholds, OneThreshold, RemainderThresholds

__all__ = ["LARGEST_SCALE", "SMALLEST_SCALE", "bernoulli", "discrete_laplace", "exact_scale", "geometric"]

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
            further = self.quotient.draw(more.size, source)
            value[more] += further
            more = more[further == self.reach]
        if self.modulus > 1:
            value *= self.modulus
            for weight, table in self.remainders:
                value += table.draw(size, source).astype(np.int64) * weight
        return value


@lru_cache(maxsize=64)
def _geometric_sampler(scale: Fraction) -> _GeometricSampler:
    return _GeometricSampler(scale)


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
    if size < 0:
        raise ParameterError.outside("the number of draws", size, "at least 0")
    return size


def geometric(scale: float | Fraction, size: int, source: RandomSource) -> NDArray[np.int64]:
    """``size`` independent draws with P(G = g) = (1-a)·a^g for g = 0, 1, ..., a = exp(-1/scale)."""
    sampler = _geometric_sampler(exact_scale(scale))
    drawn = np.empty(_checked_size(size), dtype=np.int64)
    for start in range(0, size, _BLOCK):
        block = drawn[start : start + _BLOCK]
        block[:] = sampler.draw(block.size, source)
    return drawn


def discrete_laplace(scale: float | Fraction, size: int, source: RandomSource) -> NDArray[np.int64]:
    """``size`` independent draws with P(X = x) = (1-a)/(1+a)·a^|x|, a = exp(-1/scale).

    A scale of 0 is the limit a = 0, noise switched off: every draw is 0 (and the event of it has
    ε = ∞, which no ledger grants).
    """
    if scale == 0:
        return np.zeros(_checked_size(size), dtype=np.int64)
    sampler = _geometric_sampler(exact_scale(scale))
    drawn = np.empty(_checked_size(size), dtype=np.int64)
    for start in range(0, size, _BLOCK):
        block = drawn[start : start + _BLOCK]
        block[:] = with_fair_sign(sampler, block.size, source)
    return drawn


def bernoulli(p: float | Fraction, size: int, source: RandomSource) -> NDArray[np.bool_]:
    """``size`` independent draws, each true with probability exactly ``p`` (a float as its binary value)."""
    if not 0 <= p <= 1:
        raise ParameterError.outside("the probability", float(p), "in [0, 1]")
    _checked_size(size)
    if p in (0, 1):
        return np.full(size, bool(p))
    return _bernoulli_table(Fraction(p)).draw(size, source).astype(np.bool_)
