"""What each part of a release costs, and what a paper says it costs.

A release publishes several things about the same users (which queries, their counts, their clicks…),
each with noise of its own. Each is a :class:`Charge`; a guarantee is their sum (basic composition: the
noises are independent, and every part may be chosen after seeing the ones before). Sums are of exact rational
numbers and are rounded up once: a stated ε or δ is never below the proven one.

All charges are worked out for neighbours by **adding or removing** a user. For neighbours by **replacing**
a user's history each ε counts twice (:attr:`tacit.privacy.Neighbours.histories`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.privacy import Neighbours
from tacit.privacy.rounding import per_scale, sum_up

__all__ = ["Charge", "PaperFigure", "parts_document", "total_epsilon"]


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

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours.value,
            "source": self.source,
            "why": self.why,
        }


def total_epsilon(charges: Iterable[Charge], neighbours: Neighbours) -> float:
    """The ε of a release that makes all these charges."""
    losses = [charge.epsilon if charge.loss is None else charge.loss for charge in charges]
    return sum_up(losses) * neighbours.histories  # doubling a float is exact


def parts_document(charges: Iterable[Charge], neighbours: Neighbours) -> list[dict[str, Any]]:
    """The charges that make up a guarantee, under its neighbour relation."""
    return [{"part": c.what, "epsilon": neighbours.histories * c.epsilon, "delta": c.delta} for c in charges]
