"""Events: what was done to a data set, as values that an accountant can add up.

An event is said to the ledger before any noise is drawn. It holds what its privacy depends on and
nothing else: no query, no count, nothing of the log. Each knows its provable guarantee; how events
compose is the business of :mod:`tacit.privacy.accounting.composition`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, cast, runtime_checkable

from tacit.errors import ParameterError
from tacit.privacy.accounting.loss import lattice_delta, split_delta
from tacit.privacy.arithmetic import per_scale, sum_up
from tacit.privacy.guarantee import Guarantee, GuaranteeKind, Neighbours, require


@runtime_checkable
class Event(Protocol):
    """Something that was done to the data, with what it promises. Equal events cost the same."""

    def __hash__(self) -> int: ...

    @property
    def guarantee(self) -> Guarantee:
        """What this event alone provably promises."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the event for JSON; :func:`event_from_dict` reads it back."""
        ...


class _Stored:
    """An event that is stored by its fields, under the name it has among :data:`_KINDS`."""

    def to_dict(self) -> dict[str, Any]:
        values = {each.name: getattr(self, each.name) for each in fields(cast("Any", self))}
        name = next(name for name, kind in _KINDS.items() if kind is type(self))
        return {"event": name} | {n: v.value if isinstance(v, Neighbours) else v for n, v in values.items()}


@dataclass(frozen=True)
class ApproximateDp:
    """A release known only by its guarantee: any mechanism that provably gives it."""

    promise: Guarantee

    def __post_init__(self) -> None:
        if self.promise.kind is GuaranteeKind.K_QUERY:
            remedy = "Record it as KQueryRelease."
            raise ParameterError("a k-query release has no guarantee to charge.", remedy)

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.promise

    def to_dict(self) -> dict[str, Any]:
        return {"event": "approximate-dp", "guarantee": self.promise.to_dict()}


@dataclass(frozen=True)
class LaplaceCounts(_Stored):
    """Discrete Laplace noise of one scale on integer counts.

    Between neighbouring logs at most ``counts`` of them differ, each by at most ``step``. The ratio
    of two outcomes is then at most exp(counts·step/scale): pure ε = counts·step/scale.

    Both bounds must hold at once. Where a user's d contributions may also pile up on a single count, use
    :class:`ApproximateDp` with the pure ε = d/scale instead: one count moved by d loses more, in the
    long run, than d counts moved by 1.
    """

    scale: float  # b of the noise; 0 means no noise, hence ε = ∞
    counts: int  # how many counts one user can move (twice as many if neighbours replace a user)
    step: int = 1  # by how much one user can move a single count
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        if not (self.scale >= 0 and math.isfinite(self.scale)):
            raise ParameterError.outside("the scale of the noise", self.scale, "finite and at least 0")
        require(self.counts >= 0, "the counts one user moves", self.counts, "at least 0")
        require(self.step >= 1, "the step of a count", self.step, "at least 1")

    @cached_property
    def guarantee(self) -> Guarantee:
        return Guarantee(GuaranteeKind.PURE, self.neighbours, sum_up([self.loss]))

    @property
    def loss(self) -> Fraction | float:
        """ε = counts·step/scale exactly; the guarantee states it rounded up."""
        return per_scale(self.counts * self.step, self.scale)


@dataclass(frozen=True)
class RareDisclosure(_Stored):
    """With probability at most δ something is revealed outright: (0, δ)-differential privacy.

    The price of choosing published keys by a threshold: a key that only one of two neighbouring logs
    contains gets over the line with at most this probability.
    """

    delta: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        require(0 <= self.delta <= 1, "delta", self.delta, "in [0, 1]")

    @cached_property
    def guarantee(self) -> Guarantee:
        return Guarantee(GuaranteeKind.APPROXIMATE, self.neighbours, 0.0, self.delta)


@dataclass(frozen=True)
class GaussianRounds(_Stored):
    """Discrete Gaussian noise in rounds that may depend on one another, and keys chosen by thresholds.

    At every ε it is (ε, δ)-differentially private with δ = (δ of Gaussian noise, see
    :mod:`tacit.privacy.accounting.loss`) + disclosure; ``epsilon`` is the one at which it is stated.
    """

    mu: float  # √Σ(what a user moves/width)² over all noise
    disclosure: float  # the chance that something only one user has is shown
    epsilon: float  # the ε of the stated guarantee
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        if not (self.mu >= 0 and self.epsilon >= 0 and math.isfinite(self.epsilon)):
            raise ParameterError.outside("mu and epsilon", min(self.mu, self.epsilon), "at least 0")
        require(0 <= self.disclosure <= 1, "the disclosure", self.disclosure, "in [0, 1]")

    @cached_property
    def guarantee(self) -> Guarantee:
        if not math.isfinite(self.mu):
            return Guarantee(GuaranteeKind.APPROXIMATE, self.neighbours, math.inf, 1.0)
        delta = sum_up([lattice_delta(self.epsilon, self.mu), self.disclosure])
        return Guarantee(GuaranteeKind.APPROXIMATE, self.neighbours, self.epsilon, min(1.0, delta))


@dataclass(frozen=True)
class Composed:
    """Several events on the same data set, under one neighbour relation; ε and δ add (basic composition)."""

    parts: tuple[Event, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise ParameterError("a composition needs at least one event; found none.")
        relations = {part.guarantee.neighbours for part in self.parts}
        if len(relations) > 1:
            raise ParameterError(
                "events under different neighbour relations cannot be composed.",
                "Convert each with Guarantee.as_replace first.",
            )
        if any(part.guarantee.kind is GuaranteeKind.K_QUERY for part in self.parts):
            raise ParameterError("a k-query release has no epsilon and cannot be composed.")

    @cached_property
    def guarantee(self) -> Guarantee:
        promises = [part.guarantee for part in self.parts]
        epsilon = sum_up(_losses(self))
        delta = min(1.0, sum_up(promise.delta for promise in promises))
        pure = all(promise.kind is GuaranteeKind.PURE for promise in promises)
        kind = GuaranteeKind.PURE if pure else GuaranteeKind.APPROXIMATE
        return Guarantee(kind, promises[0].neighbours, epsilon, delta)

    def to_dict(self) -> dict[str, Any]:
        return {"event": "composed", "parts": [part.to_dict() for part in self.parts]}


@dataclass(frozen=True)
class ThresholdedCounts(_Stored):
    """Keys chosen by a threshold on their noisy counts, stated at an ε of one's choice with the exact δ.

    A user adds 1 to at most ``counts`` keys. Of these some are keys of others too, whose noisy counts move
    by 1, and the others are the user's alone and appear with ``chance`` each: not both, so the worst split
    counts (:func:`tacit.privacy.accounting.loss.split_delta`).
    """

    scale: float  # b of the discrete Laplace noise
    counts: int  # how many keys one user adds to
    chance: float  # with which a key of one user alone appears
    epsilon: float  # the ε at which the guarantee is stated
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        if not (self.scale > 0 and math.isfinite(self.scale)):
            raise ParameterError.outside("the scale of the noise", self.scale, "finite and above 0")
        require(self.counts >= 1 and 0 <= self.chance <= 1, "the chance of a key", self.chance, "in [0, 1]")
        if self.neighbours is not Neighbours.ADD_REMOVE:
            raise ParameterError("counts stated by a split are for adding or removing a user.")

    @cached_property
    def guarantee(self) -> Guarantee:
        delta = split_delta(1 / Fraction(self.scale), self.counts, self.chance, self.epsilon)
        return Guarantee(GuaranteeKind.APPROXIMATE, self.neighbours, self.epsilon, delta)


def _losses(event: Event) -> list[Fraction | float]:
    """The ε of an event's parts, exactly where it is known exactly, so that a sum is rounded once."""
    if isinstance(event, Composed):
        return [loss for part in event.parts for loss in _losses(part)]
    return [event.loss if isinstance(event, LaplaceCounts) else event.guarantee.epsilon]


@dataclass(frozen=True)
class KQueryRelease(_Stored):
    """Queries of at least k users, published as they are: no protection against an active attacker."""

    k: int

    @cached_property
    def guarantee(self) -> Guarantee:
        return Guarantee(GuaranteeKind.K_QUERY, Neighbours.ADD_REMOVE, k=self.k)


_KINDS: Mapping[str, type[_Stored]] = {
    "laplace-counts": LaplaceCounts,
    "rare-disclosure": RareDisclosure,
    "gaussian-rounds": GaussianRounds,
    "thresholded-counts": ThresholdedCounts,
    "k-query-release": KQueryRelease,
}
"""Events by the names under which they are stored."""

_READ: Mapping[Any, Callable[[Any], Any]] = {"float": float, "int": operator.index, "Neighbours": Neighbours}
"""How the value of a field is read, by its type."""


def event_from_dict(form: Mapping[str, Any]) -> Event:
    """The event that ``to_dict`` wrote; anything else is a ParameterError."""
    try:
        if form["event"] == "approximate-dp":
            return ApproximateDp(Guarantee.from_dict(form["guarantee"]))
        if form["event"] == "composed":
            return Composed(tuple(event_from_dict(part) for part in form["parts"]))
        require(form["event"] in _KINDS, "the event", form["event"], "one that this version of Tacit knows")
        kind: Any = _KINDS[form["event"]]
        made: Event = kind(**{each.name: _READ[each.type](form[each.name]) for each in fields(kind)})
        return made
    except (KeyError, TypeError, ValueError) as error:
        raise ParameterError(f"this is no stored event ({type(error).__name__}).") from error
