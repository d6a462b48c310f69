"""What each part of a mechanism costs, and what a paper says it costs.

A release publishes several things about the same users (which queries, their counts, their clicks…),
each with noise of its own. Each is a :class:`Charge`; a guarantee is their sum (basic composition: the
noises are independent, and every part may be chosen after seeing the ones before). Sums are of exact rational
numbers and are rounded up once: a stated ε or δ is never below the proven one.

All charges are worked out for neighbours by **adding or removing** a user. For neighbours by **replacing**
a user's history ε doubles, since two histories move the counts, and δ stays as it is. That is not the
general rule for turning one into the other (which would give δ(1 + e^ε)); it holds here because of where δ
comes from: see the lemma in :mod:`tacit.release.analysis.threshold`, whose max(σ, σ') is over the two
histories.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from tacit.privacy import Guarantee, Kind, Neighbours
from tacit.privacy.rounding import per_scale, sum_up

__all__ = ["Charge", "PaperFigure", "total"]


@dataclass(frozen=True)
class Charge:
    """What publishing one thing costs, for neighbours by adding or removing a user.

    ``loss`` is ε before it was rounded up, where that is known exactly.
    """

    what: str
    epsilon: float
    delta: float = 0.0
    loss: Fraction | float | None = None

    @classmethod
    def of_counts(cls, what: str, moved: int, noise: float, delta: float = 0.0) -> Charge:
        """Noise on counts that a user moves by ``moved`` in all: ε = moved/noise."""
        loss = per_scale(moved, noise)
        return cls(what, sum_up([loss]), delta, loss)


@dataclass(frozen=True)
class PaperFigure:
    """What the paper prints for the same parameters, and in one line why the provable figure differs."""

    epsilon: float
    delta: float
    neighbours: Neighbours
    source: str
    why: str


def total(charges: Iterable[Charge], neighbours: Neighbours, *, pure: bool = False) -> Guarantee:
    """The guarantee of a release that makes all these charges."""
    listed = tuple(charges)
    epsilon = sum_up(charge.epsilon if charge.loss is None else charge.loss for charge in listed)
    if neighbours is Neighbours.REPLACE:
        epsilon *= 2  # exact
    if pure:
        return Guarantee(Kind.PURE, neighbours, epsilon=epsilon)
    delta = min(1.0, sum_up(charge.delta for charge in listed))
    return Guarantee(Kind.INDISTINGUISHABILITY, neighbours, epsilon=epsilon, delta=delta)
