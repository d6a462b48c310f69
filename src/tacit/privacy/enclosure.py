"""Rigorous bounds on exp(-x) in integer arithmetic.

A number z is *enclosed* at ``bits`` by integers (low, high) with low ≤ z·2^bits ≤ high. Every step
below rounds outwards, so an enclosure is a proof; more bits make it narrower, without limit. No
floating-point number takes part.
"""

from __future__ import annotations

from fractions import Fraction

__all__ = ["Enclosure", "enclose_exponential", "enclose_fraction", "multiply"]

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
