"""A privacy filter: releases may be chosen after seeing earlier results, of whatever kind and price.

What each costs is its **Rényi divergence** of one order α, fixed with the budget, and the chance of a
disclosure outright. Both add up along every course that the releases may take, and a release is refused when
either sum would pass its limit. docs/guarantees/ledger.md proves that all that is ever released is then
within the budget:

    Σ ρ ≤ B = ε + (ln(δ/2) + ln(α-1) - α·ln(1-1/α))/(α-1),      Σ δ' ≤ δ/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.privacy.parts import Parts

__all__ = ["RenyiFilter", "renyi_cost"]

_SLACK = 1 + 1e-9
"""Costs are raised by this: logarithms and exponentials of floats are off by far less."""


@dataclass(frozen=True)
class RenyiFilter:
    """The limits of a budget (ε, δ): order α, the sum B of divergences, half of δ for disclosures."""

    order: float
    limit: float
    disclosure: float

    @classmethod
    def of(cls, epsilon: float, delta: float) -> RenyiFilter:
        """α is the one under which most Gaussian noise fits: it depends on the budget alone."""
        best = max((_limit(epsilon, delta, alpha) / alpha, alpha) for alpha in _ORDERS)[1]
        return cls(best, max(0.0, _limit(epsilon, delta, best)), delta / 2)

    def epsilon(self, divergence: float) -> float:
        """The ε that this sum of divergences comes to, at a δ of half the budget's."""
        gain = _gain(self.disclosure, self.order)
        return 0.0 if divergence == 0 else max(0.0, divergence - gain)


_ORDERS = tuple(1 + 2 ** (k / 8) for k in range(-24, 81))


def _gain(delta: float, alpha: float) -> float:
    """B - ε."""
    return (math.log(delta) + math.log(alpha - 1) - alpha * math.log1p(-1 / alpha)) / (alpha - 1)


def _limit(epsilon: float, delta: float, alpha: float) -> float:
    return epsilon + _gain(delta / 2, alpha)


@lru_cache(maxsize=256)
def _laplace(rate: Fraction, step: int, order: float) -> float:
    """ln E[e^((α-1)·loss)]/(α-1) of one count under discrete Laplace noise, moved by ``step``."""
    r = float(rate)
    terms = []
    for j in range(step + 1):
        weight = 0.0 if j in (0, step) else math.log(-math.expm1(-r))
        terms.append(-r * j + weight + (order - 1) * (step - 2 * j) * r)
    top = max(terms)
    total = top + math.log(sum(math.exp(term - top) for term in terms)) - math.log1p(math.exp(-r))
    return max(0.0, total) / (order - 1)


def renyi_cost(parts: Parts, order: float) -> tuple[float, float]:
    """The divergence of order α of these parts, and the chance of a disclosure; both rounded up."""
    divergence = sum(times * _laplace(rate, step, order) for (rate, step), times in parts.counts)
    divergence += order * float(parts.mu_square) / 2
    return divergence * _SLACK, parts.disclosure * _SLACK
