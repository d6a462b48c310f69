"""What several events on one data set promise together.

Two rules, each a theorem, each for one neighbour relation at a time:

- **basic**: ε and δ add up. It holds also when later events are chosen after seeing earlier
  results, so that a total may be kept by refusing what would exceed it.
- **pld**: privacy loss distributions, convolved (the dp-accounting library). Far tighter for many
  equal releases, and it needs δ > 0. It is proven for a series of events that was fixed in advance
  (stopping early is allowed), so it is offered for repetitions of one event.

A probabilistic guarantee enters as the indistinguishability it implies. k-query anonymity has no ε
and does not compose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.errors import ParameterError
from tacit.privacy.events import Event, LaplaceCounts, Together
from tacit.privacy.guarantee import Guarantee, Kind, Neighbours

__all__ = ["Rule", "basic_composition", "composed_epsilon", "decimal", "repeated_delta", "repeated_epsilon"]

_INTERVAL = 1e-4
"""The grid of the privacy loss; losses are rounded up to it, so the result is an upper bound."""

_LARGEST_LOSS = 50.0
"""Beyond this ε the grid would be large and the guarantee meaningless."""


class Rule(StrEnum):
    """How a ledger adds up."""

    BASIC = "basic"
    PLD = "pld"


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
        if guarantee.kind is Kind.K_QUERY or not math.isfinite(guarantee.epsilon):
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
    return float(_repeated_loss(event, times).get_epsilon_for_delta(delta))


def repeated_delta(event: Event, times: int, epsilon: float) -> float:
    """The δ of ``times`` equal events at a total of ε, by privacy loss distributions."""
    if times == 0:
        return 0.0
    return float(_repeated_loss(event, times).get_delta_for_epsilon(epsilon))


def composed_epsilon(events: Sequence[Event], delta: float) -> float:
    """The ε of all ``events`` at a total of δ, by privacy loss; their series must be fixed in advance."""
    return repeated_epsilon(Together(tuple(events)), 1, delta) if events else 0.0


@lru_cache(maxsize=32)
def _repeated_loss(event: Event, times: int) -> Any:
    loss = _privacy_loss(event)
    return loss.self_compose(times) if times > 1 else loss


def _privacy_loss(event: Event) -> Any:
    """A privacy loss distribution that dominates the event.

    - Laplace counts: given two neighbouring logs, at most ``counts`` coordinates differ, their noises
      are independent, and a shift by at most ``step`` is dominated by a shift by ``step``: as many
      one-dimensional discrete Laplace mechanisms, composed.
    - Together: the parts' distributions, composed.
    - anything else: the worst pair of distributions that its (ε, δ) admits (randomised response with
      failure δ).
    """
    from dp_accounting.pld import common, privacy_loss_distribution

    guarantee = event.guarantee.as_indistinguishability()
    if not guarantee.epsilon <= _LARGEST_LOSS:
        raise ParameterError.outside(
            "epsilon", guarantee.epsilon, f"at most {_LARGEST_LOSS:g} for composition by privacy loss"
        )
    if isinstance(event, LaplaceCounts) and event.counts:
        single = privacy_loss_distribution.from_discrete_laplace_mechanism(
            1 / event.scale, event.step, value_discretization_interval=_INTERVAL
        )
        return single.self_compose(event.counts) if event.counts > 1 else single
    if isinstance(event, Together):
        loss = _privacy_loss(event.parts[0])
        for part in event.parts[1:]:
            loss = loss.compose(_privacy_loss(part))
        return loss
    worst = common.DifferentialPrivacyParameters(guarantee.epsilon, guarantee.delta)
    return privacy_loss_distribution.from_privacy_parameters(worst, value_discretization_interval=_INTERVAL)
