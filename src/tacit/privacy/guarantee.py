"""What is promised, to whom, about what: the kinds of guarantee a release can carry.

The unit is always a **user**: all records of one user together. A guarantee compares the outputs on
two neighbouring logs, and says which logs are neighbours:

- ``ADD_REMOVE``: one log has a user more than the other (the number of users is itself protected);
- ``REPLACE``: one user's history is exchanged for another (the number of users is public).

A guarantee under ADD_REMOVE gives one under REPLACE at a loss (:meth:`Guarantee.as_replace`); the
reverse does not hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from types import NoneType
from typing import Any

from tacit.errors import ParameterError
from tacit.validation import member, shown

TENFOLD = 10
"""How many times δ the chance is for which a loss is stated (:meth:`Guarantee.but_for`)."""


def require(holds: bool, name: str, value: object, rule: str) -> None:
    """Refuse a parameter's value unless its rule holds."""
    if not holds:
        raise ParameterError.outside(name, value, rule)


class Neighbours(StrEnum):
    """Which two logs must be hard to tell apart."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"

    @property
    def words(self) -> str:
        return "adding or removing a user" if self is Neighbours.ADD_REMOVE else "replacing a user's history"

    @property
    def users_changed(self) -> int:
        """Return how many users' histories differ: one is added or removed, or one goes and another comes.

        Noise on counts costs so many times the ε of a single history. δ is not multiplied: see the lemma in
        :mod:`tacit.release.analysis`, whose max(σ, σ') is over the two histories.
        """
        return 2 if self is Neighbours.REPLACE else 1


class GuaranteeKind(StrEnum):
    """The form of the promise."""

    PURE = "pure"
    """ε-differential privacy: P[A(S) ∈ O] ≤ e^ε P[A(S') ∈ O] for every set O of outputs."""
    APPROXIMATE = "approximate"
    """(ε,δ)-differential privacy: P[A(S) ∈ O] ≤ e^ε P[A(S') ∈ O] + δ for every set O of outputs."""
    PROBABILISTIC = "probabilistic"
    """(ε,δ)-probabilistic: outside a set of outputs of probability ≤ δ, ε holds output by output."""
    K_QUERY = "k-query"
    """Every published query was asked by at least k users. No protection against an active attacker."""


@dataclass(frozen=True)
class Guarantee:
    """A promise about a release, for one user's whole history.

    Args:
        kind: the form of the promise.
        neighbours: which two logs it compares.
        epsilon: ε, the privacy loss; infinite where none is bounded.
        delta: δ, from 0 to 1; 0 for a pure guarantee.
        k: of k-query anonymity, and only there.
    """

    kind: GuaranteeKind
    neighbours: Neighbours
    epsilon: float = math.inf
    delta: float = 0.0
    k: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", member("kind", GuaranteeKind, self.kind))
        object.__setattr__(self, "neighbours", member("neighbours", Neighbours, self.neighbours))
        for name, most, rule in (("epsilon", math.inf, "at least 0"), ("delta", 1, "in [0, 1]")):
            value = getattr(self, name)
            require(isinstance(value, Real) and 0 <= float(value) <= most, name, shown(value), rule)
        pure, k_query = self.kind is GuaranteeKind.PURE, self.kind is GuaranteeKind.K_QUERY
        require(not (pure and self.delta), "delta", self.delta, "0 for a pure guarantee")
        rule = "given for k-query anonymity, and only for it"
        require(k_query == (self.k is not None), "k", self.k, rule)

    def __str__(self) -> str:
        if self.kind is GuaranteeKind.K_QUERY:
            return f"{self.k}-query anonymity (no protection against an active attacker)"
        if self.kind is GuaranteeKind.PURE:
            promise = f"{self.epsilon:g}-differential privacy"
        elif self.kind is GuaranteeKind.PROBABILISTIC:
            promise = f"({self.epsilon:g}, {self.delta:g})-probabilistic differential privacy"
        else:
            promise = f"({self.epsilon:g}, {self.delta:g})-differential privacy"
        return f"{promise}, user level, {self.neighbours.value.replace('-', '/')}"

    def _repr_html_(self) -> str:
        return f"<span>{self}</span>"

    def as_approximate(self) -> Guarantee:
        """The (ε, δ)-differential privacy that this guarantee implies.

        Pure: δ = 0. Probabilistic: with B the bad outputs, P[O] ≤ P[O∖B] + P[B] ≤ e^ε P'[O] + δ, so
        the same ε and δ serve. The reverse does not hold.
        """
        if self.kind is GuaranteeKind.K_QUERY:
            raise ParameterError(
                "k-query anonymity implies no (epsilon, delta)-differential privacy.",
                "Choose a mechanism with a provable guarantee, such as zealous.",
            )
        return Guarantee(GuaranteeKind.APPROXIMATE, self.neighbours, self.epsilon, self.delta)

    def as_replace(self) -> Guarantee:
        """Return what holds under REPLACE: replacing a history is removing one user and adding another.

        Twice over: P ≤ e^ε(e^ε P' + δ) + δ, that is (2ε, (1 + e^ε)δ); pure ε gives pure 2ε. A
        probabilistic guarantee is weakened to (ε, δ) first.
        """
        if self.neighbours is Neighbours.REPLACE or self.kind is GuaranteeKind.K_QUERY:
            return self
        epsilon = 2 * self.epsilon
        if self.kind is GuaranteeKind.PURE:
            return Guarantee(GuaranteeKind.PURE, Neighbours.REPLACE, epsilon)
        growth = 1 + math.exp(min(self.epsilon, 700.0))
        delta = min(1.0, growth * self.delta) if self.delta else 0.0
        return Guarantee(GuaranteeKind.APPROXIMATE, Neighbours.REPLACE, epsilon, delta)

    def but_for(self) -> tuple[float, float]:
        """A loss, and the chance with which anything seen or computed from the release exceeds it.

        Let O be all that is more than e^L times as likely with the user as without. Then P[O] ≤ e^ε P'[O] + δ
        ≤ e^(ε-L) P[O] + δ, so P[O] ≤ δ/(1 - e^(ε-L)). The chance here is :data:`TENFOLD` δ, which gives
        L = ε + 0.105. At δ itself (ε, δ) bounds no loss: where δ pays for noise too, e^ε is exceeded with a
        larger chance than δ. A pure guarantee has no exception; nothing is bounded for a δ of a tenth.
        """
        if not self.delta:
            return self.epsilon, 0.0
        chance = TENFOLD * self.delta
        return (self.epsilon - math.log1p(-1 / TENFOLD), chance) if chance < 1 else (math.inf, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee for JSON: an infinite ε is null, and k appears only where it means
        something."""
        form: dict[str, Any] = {
            "kind": self.kind.value,
            "neighbours": self.neighbours.value,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "delta": self.delta,
        }
        if self.k is not None:
            form["k"] = self.k
        return form

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Guarantee:
        """The guarantee that :meth:`to_dict` wrote; anything else is a ParameterError."""
        try:
            epsilon, delta, k = form["epsilon"], form["delta"], form.get("k")
            if {type(epsilon), type(delta)} & {str, bool} or type(k) not in (int, NoneType):
                raise TypeError("text in the place of a number")
            kind, neighbours = GuaranteeKind(form["kind"]), Neighbours(form["neighbours"])
            return cls(kind, neighbours, math.inf if epsilon is None else float(epsilon), float(delta), k)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ParameterError(f"this is no stored guarantee ({type(error).__name__}: {error}).") from error
