"""Rigorous bounds on the tails of the normal distribution, in integer arithmetic.

P(Z ≥ x) = 1/2 - φ(x)·Σ_k x^(2k+1)/(2k+1)!! for x ≥ 0, φ(x) = exp(-x²/2)/√(2π). All terms are positive, every
step rounds outwards, and enough digits are carried that the subtraction leaves as many as were asked for.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tacit.privacy.enclosure import Enclosure, enclose_exponential, enclose_fraction, multiply

__all__ = ["enclose_upper_tail", "upper_tail"]

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
    area_low = _area(low, work)[0]
    area_high = _area(high, work)[1]
    half = 1 << (work - 1)
    return max(0, half - area_high) >> guard, -(-max(0, half - area_low) >> guard)


def _area(x: int, bits: int) -> Enclosure:
    """An enclosure of P(0 ≤ Z ≤ x/2^bits)."""
    square = (x * x >> bits, -(-x * x >> bits))
    low = high = 0
    term = (x, x)
    k = 0
    while term[1] > 1 or (2 * k + 3) << bits <= 2 * square[1]:
        low, high = low + term[0], high + term[1]
        k += 1
        odd = 2 * k + 1
        product = multiply(term, square, bits)
        term = product[0] // odd, -(-product[1] // odd)
    # From here on each term is at most half the one before it.
    high += 2 * term[1]
    one = 1 << bits
    density = enclose_exponential(Fraction(x * x, 2 * one * one), bits)
    root = _root_of_two_pi(bits)
    peak = (density[0] << bits) // root[1], -(-(density[1] << bits) // root[0])
    return multiply((low, high), peak, bits)


def _root_of_two_pi(bits: int) -> Enclosure:
    scale = 10**_PI_PLACES
    low = math.isqrt((2 * _PI << (2 * bits)) // scale)
    high = math.isqrt(-(-(2 * (_PI + 1) << (2 * bits)) // scale)) + 1
    return low, high


def upper_tail(x: float | Fraction) -> Fraction:
    """An upper bound of P(Z ≥ x), within 10^-70 of it."""
    return Fraction(enclose_upper_tail(Fraction(x), 256)[1], 1 << 256)
