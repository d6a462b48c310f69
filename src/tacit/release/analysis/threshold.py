"""Thresholds on counts with integer noise: the one argument that all mechanisms share.

The noise is discrete Laplace of scale b: P(X = x) = (1-a)/(1+a) a^|x| with a = exp(-1/b). A key with true
count c is **selected** iff c + X >= t for a whole threshold t (``> K`` is ``>= K + 1``).

A user who brings k records of a key that nobody else has (a **fresh** key) makes it selectable at all. The
chance s(k) = P(k + X >= t) that it then appears is what δ pays for, and ε pays for nothing more:

    Let fresh keys appear with chance σ in all on the one log (and never on the other), with chance σ' on the
    other (and never on the one), and let all else be ε-close. Then P(O) <= e^ε P'(O) + max(σ, σ').

    Proof. Of the outputs in O without fresh keys let x be the chance of the rest on the one log, y on the
    other: x <= 1, x <= e^ε y. Then P(O) - e^ε P'(O) <= σ + (1-σ) x - e^ε (1-σ') y <= σ + (σ'-σ) x, which lies
    between σ and σ'.

This serves both neighbour relations (adding or removing a user has σ = 0 or σ' = 0). With k_1, …, k_r
records of fresh keys σ = 1 - exp(-Σ φ(k_i)), where φ(k) = -ln(1 - s(k)).

φ is convex on k >= 1: s grows geometrically up to k = t, and from k = t - 1 on φ is a straight line of
slope 1/b, which is steeper than any step before (a(1 + a - a²) <= 1 for a <= 1). A sum of φ over keys with
total count d is therefore largest at an extreme, all records on one key or each on a key of its own::

    max over k_1 + … + k_r = d of φ(k_1) + … + φ(k_r)  =  max(φ(d), d φ(1))

(fix r: convexity moves everything to one key and leaves single records on the others, which gives
φ(d-r+1) + (r-1) φ(1), convex in r). Hence δ(d) = 1 - exp(-max(φ(d), d φ(1))), and it is attained.
"""

from __future__ import annotations

import math
import sys

__all__ = ["appearance", "fresh_key_delta", "largest_sum", "lean", "miss_loss", "survival"]

_OUTWARD = 2.0**-42
"""More than floating point loses: e^-x is off by a part x·2^-53 at most, and x < 709 where it is normal."""


def survival(noise: float, t: int) -> float:
    """P(X >= t) for discrete Laplace noise of scale ``noise`` (0: no noise)."""
    if noise == 0:
        return 1.0 if t <= 0 else 0.0
    a = math.exp(-1 / noise)
    if t >= 0:
        return math.exp(-t / noise) / (1 + a)
    return 1 - math.exp(-(1 - t) / noise) / (1 + a)


def lean(noise: float, margin: int) -> float:
    """E[X | X >= -margin]: how far a count that lies ``margin`` above the threshold leans upwards.

    Where the very number that was compared is published, those that the noise pushed below the threshold are
    missing. Far above the threshold nothing is missing, and the lean vanishes.
    """
    if noise == 0:
        return 0.0
    a = math.exp(-1 / noise)
    missing = math.exp(-(margin + 1) / noise) / (1 + a)
    return missing * (margin + 1 + a / (1 - a)) / (1 - missing)


def miss_loss(noise: float, t: int) -> float:
    """φ = -ln(1 - P(X >= t)): what it tells that a key did not appear, though it might have.

    Rounded outward, and with noise never 0: however high the threshold is, the noise may pass it.
    """
    if noise == 0:
        return math.inf if t <= 0 else 0.0
    a = math.exp(-1 / noise)
    loss = -math.log1p(-math.exp(-t / noise) / (1 + a)) if t > 0 else (1 - t) / noise + math.log1p(a)
    return max(sys.float_info.min, loss * (1 + _OUTWARD))


def appearance(loss: float) -> float:
    """1 - e^-φ, the chance that one of the keys of loss φ in all appears; rounded outward."""
    return min(1.0, -math.expm1(-loss) * (1 + _OUTWARD))


def largest_sum(one_key: float, single_record: float, contributions: int) -> float:
    """max(φ(d), d φ(1)): the largest sum of a convex loss over ways to spread d records over keys.

    Args:
        one_key: the loss when all records are of one key, φ(d).
        single_record: the loss of a key with a single record, φ(1).
        contributions: d, the number of records a user may bring.
    """
    return max(one_key, contributions * single_record) if contributions else 0.0


def fresh_key_delta(noise: float, threshold: int, contributions: int, minimum: int = 1) -> float:
    """δ of publishing which keys have c + X >= threshold, for a user with d records; exact.

    Args:
        noise: scale b of the noise.
        threshold: t, the least noisy count that is published.
        contributions: d, the most records a user has.
        minimum: keys with a true count below this are left out before any noise (ZEALOUS's first
            threshold τ). The last record then lifts a key from nothing to a count of τ.
    """
    spread = miss_loss(noise, threshold - minimum)
    together = miss_loss(noise, threshold - minimum - contributions + 1)
    return appearance(largest_sum(together, spread, contributions))
