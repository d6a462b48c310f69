"""What is promised, to whom, about what: the kinds of guarantee a release can carry.

The unit is always a **user**: all records of one user together. A guarantee compares the outputs on
two neighbouring logs, and says which logs are neighbours:

- ``ADD_REMOVE``: one log has a user more than the other (the number of users is itself protected);
- ``REPLACE``: one user's history is exchanged for another (the number of users is public).

A guarantee under ADD_REMOVE with ε gives one under REPLACE with 2ε (and, in general, a larger δ); the
reverse does not hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from tacit.errors import ParameterError

__all__ = ["Guarantee", "Kind", "Neighbours"]


class Neighbours(StrEnum):
    """Which two logs must be hard to tell apart."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


class Kind(StrEnum):
    """The form of the promise."""

    PURE = "pure"
    """ε-differential privacy: P[A(S) ∈ O] ≤ e^ε P[A(S') ∈ O] for every set O of outputs."""
    INDISTINGUISHABILITY = "indistinguishability"
    """(ε,δ): P[A(S) ∈ O] ≤ e^ε P[A(S') ∈ O] + δ for every set O of outputs."""
    PROBABILISTIC = "probabilistic"
    """(ε,δ)-probabilistic: outside a set of outputs of probability ≤ δ, ε holds output by output."""
    K_QUERY = "k-query"
    """Every published query was asked by at least k users. No protection against an active attacker."""


@dataclass(frozen=True)
class Guarantee:
    """A promise about a release, for one user's whole history."""

    kind: Kind
    neighbours: Neighbours
    epsilon: float = math.inf
    delta: float = 0.0
    k: int | None = None

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise ParameterError.outside("epsilon", self.epsilon, "at least 0")
        if not 0 <= self.delta <= 1:
            raise ParameterError.outside("delta", self.delta, "in [0, 1]")
        if self.kind is Kind.PURE and self.delta:
            raise ParameterError.outside("delta", self.delta, "0 for a pure guarantee")
        if (self.kind is Kind.K_QUERY) != (self.k is not None):
            raise ParameterError.outside("k", self.k, "given for k-query anonymity, and only for it")
