"""What a single count of each item provably costs, computed from what is drawn and compared.

Theorem (docs/guarantees/adaptive.md, "A single count"): with k₀ items a user, noise of scale b and neighbours
by adding or removing a user it is (k₀/b, k₀·q)-indistinguishable, q the larger of the chance of the largest
noise and of the chance that an item of one user alone is published. Replacing a user doubles ε alone.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tacit.errors import ParameterError
from tacit.privacy.enclosure import enclose_exponential
from tacit.privacy.rounding import per_scale, round_up
from tacit.release.adaptive.single_count import SingleCount
from tacit.release.planning.setting import smallest

__all__ = ["chance_of_one", "deviation", "disclosure", "even_chance_at", "loss", "tail"]

_BITS = 320
"""Of the enclosures; chances down to 10^-60 keep 30 digits."""


def _powers(schedule: SingleCount, exponent: int) -> tuple[Fraction, Fraction]:
    """Bounds of a^exponent, a = exp(-1/b)."""
    rate = Fraction(exponent) / Fraction(schedule.scale)
    low, high = enclose_exponential(rate, _BITS)
    return Fraction(low, 1 << _BITS), Fraction(high, 1 << _BITS)


def tail(schedule: SingleCount, reached: int) -> Fraction:
    """An upper bound of P(noise ≥ reached), exact to hundreds of bits.

    Without the cap it is u·a^reached for reached ≥ 0, and 1 - (1-u)·a^(-reached) below. The cap takes
    u·a^(most+1) from it, and from the whole.
    """
    upward = Fraction(schedule.upward)
    if reached > schedule.most:
        return Fraction(0)
    if not schedule.scale:
        return Fraction(int(reached <= 0))
    above_low, above_high = (upward * power for power in _powers(schedule, schedule.most + 1))
    if reached >= 0:
        high = upward * _powers(schedule, reached)[1] - above_low
    else:
        high = 1 - (1 - upward) * _powers(schedule, -reached)[0] - above_low
    return min(Fraction(1), high / (1 - above_high))


def chance_of_one(schedule: SingleCount) -> Fraction:
    """q, an upper bound: of the largest noise, or that an item of one user alone is published."""
    return max(tail(schedule, schedule.most), tail(schedule, schedule.least - 1))


def disclosure(schedule: SingleCount) -> float:
    """δ = k₀·q, rounded up."""
    return min(1.0, round_up(schedule.held * chance_of_one(schedule)))


def loss(schedule: SingleCount) -> Fraction | float:
    """ε = k₀/b for adding or removing a user; infinite without noise.

    Refused where the step between -1 and 0 tells more than all others.
    """
    if not schedule.scale:
        return math.inf
    upward, a = Fraction(schedule.upward), _powers(schedule, 1)[1]
    if upward * (1 + a) > 1 or a * (1 - upward) > upward:
        raise ParameterError.outside("the chance of noise above 0", schedule.upward, "in [a/(1+a), 1/(1+a)]")
    return per_scale(schedule.held, schedule.scale)


def even_chance_at(schedule: SingleCount) -> int:
    """The least number of users with which an item is published by half, or more."""
    return schedule.least + smallest(lambda more: tail(schedule, -more) >= Fraction(1, 2))


def deviation(schedule: SingleCount) -> float:
    """The standard deviation of the noise, its cap left out."""
    if not schedule.scale:
        return 0.0
    a, u = math.exp(-1 / schedule.scale), schedule.upward
    mean, square = a / (1 - a), a * (1 + a) / (1 - a) ** 2
    whole = u * mean - (1 - u) * (1 + mean)
    return math.sqrt(u * square + (1 - u) * (1 + 2 * mean + square) - whole**2)
