"""Outputs of one key as exact pairs of distributions, written down here for tests of guarantees."""

from __future__ import annotations

import math

from tacit.audit.exact import Number, Pair, passing, survival

__all__ = ["largest_ratio", "released", "selected", "thresholded"]


def _missed(a: Number, t: int) -> Number:
    """P(X < t), without the cancellation of 1 - P(X >= t)."""
    return survival(a, 1 - t)


def largest_ratio(pair: Pair) -> Number:
    """max p/q: e^ε of the smallest pure ε in this direction; infinite if an output gives a log away."""
    return max((p / q if q else math.inf) for p, q in pair.atoms if p)


def thresholded(a: Number, count: int | None, other: int | None, t: int) -> Pair:
    """A count published with the noise with which it passed ``>= t``; None is a key that takes no part."""
    if count is None or other is None:
        return selected(a, count, other, t)
    return Pair.of([(_missed(a, t - count), _missed(a, t - other)), *passing(a, count, other, t).atoms])


def selected(a: Number, count: int | None, other: int | None, t: int, then: Pair | None = None) -> Pair:
    """Whether a count passed ``>= t``; if so, ``then`` is published too (a fresh noisy count, say)."""
    nothing, certain = 0 * a, a / a
    appears = [nothing if c is None else survival(a, t - c) for c in (count, other)]
    missing = [certain if c is None else _missed(a, t - c) for c in (count, other)]
    return released((appears[0], appears[1]), (missing[0], missing[1]), then)


def released(
    appears: tuple[Number, Number], missing: tuple[Number, Number], then: Pair | None = None
) -> Pair:
    """A key that appears with these chances on the two logs, and ``then`` with it."""
    following = then.atoms if then is not None else ((1, 1),)
    return Pair.of([missing, *((appears[0] * p, appears[1] * q) for p, q in following)])
