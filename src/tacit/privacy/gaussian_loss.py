"""What Gaussian noise promises, exactly, and what its discrete form on the integers promises.

**Continuous.** A mechanism is μ-Gaussian private if telling two neighbouring logs apart is no easier than
telling N(0, 1) from N(μ, 1). At every ε it is then (ε, δ)-indistinguishable with

    δ(ε; μ) = P(Z ≥ ε/μ - μ/2) - e^ε·P(Z ≥ ε/μ + μ/2).

Rounds of noise s_r on vectors that a user moves by at most 1 in L2, each chosen after seeing the earlier
ones, compose to μ² = Σ 1/s_r² (Dong, Roth and Su, "Gaussian differential privacy", corollary 3.3).

**On the integers.** Discrete Gaussian noise of σ does not promise what the normal of the same σ does. But up
to a factor e^a it *is* a function of normal noise of variance σ² - η²: docs/guarantees/adaptive.md, "From
the normal to the integers". Hence δ ≤ e^a·δ(ε - 2a; μ), with μ from the smaller variances and a of order
10^-26.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from tacit.errors import InfeasibleError, ParameterError
from tacit.privacy.enclosure import enclose_exponential
from tacit.privacy.normal import enclose_upper_tail
from tacit.privacy.rounding import round_up

__all__ = ["LATTICE_LOSS", "ROUNDING", "gaussian_delta", "gaussian_mu", "lattice_delta", "root_above"]

ROUNDING = 2
"""η: how much of a discrete Gaussian's width is taken to have come from rounding to the integers."""

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


def gaussian_delta(epsilon: float | Fraction, mu: float | Fraction) -> float:
    """δ(ε; μ), rounded up."""
    return round_up(_delta(Fraction(epsilon), Fraction(mu)))


@lru_cache(maxsize=1024)
def lattice_delta(epsilon: float | Fraction, mu: float | Fraction) -> float:
    """The δ of discrete Gaussian noise whose continuous origin is μ-Gaussian private, rounded up."""
    less = Fraction(epsilon) - 2 * LATTICE_LOSS
    # e^a ≤ 1 + 2a for a ≤ 1; at ε = 0 there is nothing to take from, and δ changes by less than its slope.
    if less < 0:
        return round_up((1 + 2 * LATTICE_LOSS) * (_delta(Fraction(0), Fraction(mu)) + 2 * LATTICE_LOSS))
    return round_up((1 + 2 * LATTICE_LOSS) * _delta(less, Fraction(mu)))


def _delta(epsilon: Fraction, mu: Fraction) -> Fraction:
    if mu < 0 or epsilon < 0:
        raise ParameterError.outside("epsilon and mu", float(min(mu, epsilon)), "at least 0")
    if mu == 0:
        return Fraction(0)
    near = enclose_upper_tail(epsilon / mu - mu / 2, _BITS)
    far = enclose_upper_tail(epsilon / mu + mu / 2, _BITS)
    # e^ε rounded down is 1 over e^(-ε) rounded up.
    factor = Fraction(1 << _BITS, enclose_exponential(epsilon, _BITS)[1])
    return max(Fraction(0), near[1] - factor * far[0]) / (1 << _BITS)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest μ (to 12 digits) with δ(ε; μ) ≤ δ."""
    if not (epsilon >= 0 and 0 < delta < 1):
        raise ParameterError.outside("delta", delta, "in (0, 1)")
    low, high = Fraction(0), Fraction(1)
    while lattice_delta(epsilon, high) <= delta:
        low, high = high, 2 * high
        if high > 1 << 20:
            raise InfeasibleError("there is no Gaussian noise so small.", "Ask for a smaller epsilon.")
    while high - low > high / 10**13:
        middle = Fraction(float((low + high) / 2))
        if lattice_delta(epsilon, middle) <= delta:
            low = middle
        else:
            high = middle
    return float(low)
