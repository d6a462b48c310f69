"""Laplace noise on the integers that never passes a bound: what a single thresholded count needs.

With a = exp(-1/b) and a chance u of a draw at or above 0,

    P(X = x) ∝ u·a^x for x = 0, 1, …, most,      P(X = x) ∝ (1-u)·a^(-1-x) for x = -1, -2, …

Neighbouring values differ in chance by the factor e^(1/b), and by u/(1-u) between -1 and 0: by no more than
that if a/(1+a) ≤ u ≤ 1/(1+a). So a count moved by 1 is told apart by a factor of at most e^(1/b), but for its
largest possible value, whose chance is δ. u = 1/(1+a) is discrete Laplace noise with its upper tail cut off;
a smaller u moves the noise down by a part of a user, so that δ can be met exactly.

Drawn exactly: a side by an exact coin, a magnitude by exact inversion (:mod:`tacit.privacy.noise`), and what
lies above the bound is drawn again.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.privacy.noise import bernoulli, geometric
from tacit.privacy.randomness import RandomSource

__all__ = ["capped_laplace"]


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
    if most < 0:
        raise ParameterError.outside("the bound of the noise", most, "at least 0")
    drawn = np.zeros(size, dtype=np.int64)
    left = np.arange(size if scale else 0)
    while left.size:
        magnitude = geometric(scale, left.size, source)
        up = bernoulli(upward, left.size, source)
        drawn[left] = np.where(up, magnitude, -1 - magnitude)
        left = left[drawn[left] > most]
    return drawn
