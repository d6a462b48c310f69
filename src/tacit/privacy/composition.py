"""What several events on one data set promise together.

Three rules, each a theorem, each for one neighbour relation at a time:

- **basic**: ε and δ add up. It holds also when later events are chosen after seeing earlier
  results, so that a total may be kept by refusing what would exceed it.
- **pld**: privacy loss distributions, convolved (:mod:`tacit.privacy.loss`, every error on the safe side).
  Far tighter for many equal releases, and it needs δ > 0. It is proven for a series of events that was fixed
  in advance (stopping early is allowed), so a ledger takes repetitions of one event by it.
- **renyi**: a privacy filter (:mod:`tacit.privacy.renyi`). Different events, chosen after seeing earlier
  results,
  add up by Rényi divergence: less tight than pld, far tighter than basic for many small ones. It needs δ > 0.

A probabilistic guarantee enters as the indistinguishability it implies. k-query anonymity has no ε
and does not compose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from tacit.errors import ParameterError
from tacit.privacy.events import Event, Together
from tacit.privacy.gaussian_loss import root_above
from tacit.privacy.guarantee import Guarantee, GuaranteeKind, Neighbours
from tacit.privacy.loss import LossDistribution, laplace_loss, together
from tacit.privacy.parts import parts_of_events
from tacit.privacy.rounding import round_up

__all__ = [
    "CompositionRule",
    "basic_composition",
    "composed_epsilon",
    "decimal",
    "repeated_delta",
    "repeated_epsilon",
]


class CompositionRule(StrEnum):
    """How a ledger adds up."""

    BASIC = "basic"
    PLD = "pld"
    RENYI = "renyi"


def decimal(value: float) -> Fraction:
    """A float read as the decimal it prints as, so that ten times 0.1 is exactly 1."""
    return Fraction(repr(float(value)))


def basic_composition(guarantees: Sequence[Guarantee], neighbours: Neighbours) -> tuple[Fraction, Fraction]:
    """The sums of ε and of δ, exactly, under ``neighbours``; a mixture of relations is refused."""
    for guarantee in guarantees:
        if guarantee.neighbours is not neighbours:
            raise ParameterError(
                f"a guarantee for {guarantee.neighbours.words} does not add to one for {neighbours.words}.",
                "Release under the ledger's relation (`neighbours`); a second ledger is a second budget.",
            )
        if guarantee.kind is GuaranteeKind.K_QUERY or not math.isfinite(guarantee.epsilon):
            raise ParameterError("an event without a finite epsilon does not compose.")
    epsilon = sum((decimal(guarantee.epsilon) for guarantee in guarantees), Fraction(0))
    delta = sum((decimal(guarantee.delta) for guarantee in guarantees), Fraction(0))
    return epsilon, delta


def repeated_epsilon(event: Event, times: int, delta: float) -> float:
    """The ε of ``times`` equal events at a total of δ, by privacy loss distributions."""
    if not delta > 0:
        raise ParameterError.outside("delta", delta, "greater than 0 for composition by privacy loss")
    if times == 0:
        return 0.0
    return _repeated_loss(event, times).epsilon(delta)


def repeated_delta(event: Event, times: int, epsilon: float) -> float:
    """The δ of ``times`` equal events at a total of ε, by privacy loss distributions."""
    if times == 0:
        return 0.0
    return _repeated_loss(event, times).delta(epsilon)


def composed_epsilon(events: Sequence[Event], delta: float) -> float:
    """The ε of all ``events`` at a total of δ, by privacy loss; their series must be fixed in advance."""
    return repeated_epsilon(Together(tuple(events)), 1, delta) if events else 0.0


@lru_cache(maxsize=32)
def _repeated_loss(event: Event, times: int) -> LossDistribution:
    """A privacy loss distribution that dominates ``times`` such events.

    - Laplace counts: given two neighbouring logs, at most ``counts`` coordinates differ, their noises
      are independent, and a shift by at most ``step`` is dominated by a shift by ``step``: as many
      one-dimensional discrete Laplace mechanisms, composed. With a step of 1 that is a binomial sum.
    - Gaussian rounds: normal, with Σμ², and a disclosure.
    - Together: the parts' distributions, composed.
    - anything else: the worst pair of distributions that its (ε, δ) admits (randomised response with
      failure δ).
    """
    parts = parts_of_events([event], times)
    lattices = [laplace_loss(rate, step, number) for (rate, step), number in parts.counts]
    mu = round_up(root_above(parts.mu_square)) if parts.mu_square else 0.0
    return together(lattices, mu, parts.disclosure)
