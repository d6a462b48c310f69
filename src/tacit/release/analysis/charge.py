"""What each part of a mechanism costs, and what a paper says it costs.

A release publishes several things about the same users (which queries, their counts, their clicks…),
each with noise of its own. Each is a :class:`Charge`; a guarantee is their sum (basic composition: the
noises are independent, and every part may be chosen after seeing the ones before).

All charges are worked out for neighbours by **adding or removing** a user. For neighbours by **replacing**
a user's history ε doubles, since two histories move the counts, and δ stays as it is. That is not the
general rule for turning one into the other (which would give δ(1 + e^ε)); it holds here because of where δ
comes from: see the lemma in :mod:`tacit.release.analysis.threshold`, whose max(σ, σ') is over the two
histories.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tacit.privacy import Guarantee, Kind, Neighbours

__all__ = ["Charge", "PaperFigure", "total"]


@dataclass(frozen=True)
class Charge:
    """What publishing one thing costs, for neighbours by adding or removing a user."""

    what: str
    epsilon: float
    delta: float = 0.0


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
    epsilon = math.fsum(charge.epsilon for charge in listed)
    if neighbours is Neighbours.REPLACE:
        epsilon *= 2
    if pure:
        return Guarantee(Kind.PURE, neighbours, epsilon=epsilon)
    delta = min(1.0, math.fsum(charge.delta for charge in listed))
    return Guarantee(Kind.INDISTINGUISHABILITY, neighbours, epsilon=epsilon, delta=delta)
