"""Sums of losses that are never stated too small: exact rational numbers, rounded up once, at the end.

A quotient or sum of floats may lie below the exact value by its last bits: the float 1/3 is less than a
third. A stated ε is a promise, so it is the least float that is not below what is proven.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

__all__ = ["per_scale", "round_up", "sum_up"]


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
