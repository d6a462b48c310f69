"""Exact arithmetic for guarantees: integer enclosures of exponentials, and sums rounded outward.

A guarantee may be stated too high but never too low. What decides about noise or privacy is therefore
computed as a pair of integers that enclose the true value, or as a floating-point number rounded towards
the safe side.
"""

import math
from collections.abc import Iterable
from fractions import Fraction

ROUNDING = 2
"""η: how much of a discrete Gaussian's width is taken to have come from rounding to the integers."""

Enclosure = tuple[int, int]
"""Integers (low, high) with low ≤ z·2^bits ≤ high, for ``bits`` known to the holder."""


def enclose_fraction(value: Fraction, bits: int) -> Enclosure:
    """The tightest enclosure of a rational number."""
    scaled = value.numerator << bits
    return scaled // value.denominator, -(-scaled // value.denominator)


def multiply(left: Enclosure, right: Enclosure, bits: int) -> Enclosure:
    """An enclosure of the product of two numbers that are not negative."""
    return (left[0] * right[0]) >> bits, -((-left[1] * right[1]) >> bits)


def enclose_exponential(x: Fraction, bits: int) -> Enclosure:
    """An enclosure of exp(-x), x ≥ 0, a few units of 2^-bits wide.

    With y = x/2^k ≤ 1/2, exp(-x) = exp(-y)^(2^k): the series at y, then k squarings.
    """
    halvings = max(0, 1 + (x.numerator // x.denominator).bit_length())
    # Each squaring doubles the relative error; the guard bits pay for that and for the series.
    work = bits + 2 * halvings + 24
    lowest, highest = enclose_fraction(x / (1 << halvings), work)
    power = _series(highest, work)[0], _series(lowest, work)[1]
    for _ in range(halvings):
        power = multiply(power, power, work)
    extra = work - bits
    return power[0] >> extra, -(-power[1] >> extra)


def _series(y: int, bits: int) -> Enclosure:
    """An enclosure of exp(-y/2^bits) for 0 ≤ y/2^bits ≤ 1/2, by its alternating series.

    Each term is rounded down from the one before, so its error stays under 1 + 1/2 + 1/4 + ... = 2
    units. The first term left out is rounded to 0, hence under 3 units, and bounds the alternating
    remainder. With n terms summed the total error is under 2n + 3 units.
    """
    total = term = 1 << bits
    n = 0
    while term:
        n += 1
        term = (term * y) // (n << bits)
        total += -term if n % 2 else term
    error = 2 * n + 3
    return max(0, total - error), min(1 << bits, total + error)


def round_up(exact: Fraction) -> float:
    """The least float that is not below ``exact``; infinite where there is none."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def sum_up(terms: Iterable[Fraction | float]) -> float:
    """The least float that is not below the sum; a float among the terms counts for exactly what it is."""
    listed = list(terms)
    if any(isinstance(term, float) and math.isinf(term) for term in listed):
        return math.inf
    return round_up(sum((Fraction(term) for term in listed), Fraction(0)))


def per_scale(moved: int, scale: float) -> Fraction | float:
    """moved/scale, the ε of noise of this scale on counts moved by so much; infinite without noise."""
    if moved == 0:
        return Fraction(0)
    return Fraction(moved) / Fraction(scale) if scale else math.inf
