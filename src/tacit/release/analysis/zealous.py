"""ZEALOUS: what its parameters guarantee, provably, and what paper 004 prints for them.

Each user gives at most m distinct items; an item counts its users. Items with count >= τ get integer noise
of scale λ, and are published with their noisy count iff it is >= T. Derivation: docs/guarantees/zealous.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.errors import ParameterError
from tacit.privacy import Guarantee, Kind, Neighbours
from tacit.privacy.rounding import sum_up
from tacit.release.analysis.charge import Charge, PaperFigure, total
from tacit.release.analysis.ranges import check_noise, check_whole
from tacit.release.analysis.threshold import appearance, miss_loss

__all__ = [
    "ZealousParameters",
    "charges",
    "guarantee",
    "paper_figure",
    "paper_probabilistic",
    "probabilistic_charges",
    "probabilistic_guarantee",
]


@dataclass(frozen=True)
class ZealousParameters:
    """The parameters of a ZEALOUS release.

    Args:
        per_user: m, the most distinct items a user gives to each histogram.
        noise: λ, the scale of the integer noise.
        threshold_1: τ, the least true count (users) that gets noise at all.
        threshold_2: T (the paper's τ'), the least noisy count that is published.
        histograms: how many histograms (keywords, queries, clicks, pairs) are published this way, each with
            these parameters and m items a user; each is charged.
    """

    per_user: int
    noise: float
    threshold_1: int
    threshold_2: int
    histograms: int = 1

    def __post_init__(self) -> None:
        check_whole("per_user", self.per_user, 1)
        check_noise("noise", self.noise)
        check_whole("threshold_1", self.threshold_1, 1)
        check_whole("threshold_2", self.threshold_2, 1)
        check_whole("histograms", self.histograms, 1)


def _miss_loss(parameters: ZealousParameters) -> float:
    """-ln(1 - p), p the chance that an item with count exactly τ is published."""
    return miss_loss(parameters.noise, parameters.threshold_2 - parameters.threshold_1)


def charges(parameters: ZealousParameters) -> tuple[Charge, ...]:
    """What each histogram costs, as indistinguishability: m/λ, and the chance that a fresh item appears."""
    delta = appearance(parameters.per_user * _miss_loss(parameters))
    charge = Charge.of_counts("items and their counts", parameters.per_user, parameters.noise, delta)
    return (charge,) * parameters.histograms


def guarantee(parameters: ZealousParameters, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Guarantee:
    """(ε,δ)-indistinguishability: ε = m/λ (replacing: 2m/λ), δ = 1 - (1-p)^m, p = P(X >= T - τ); tight.

    With several histograms a user may bring m fresh items to each: ε adds, and δ = 1 - (1-p)^(m h).
    """
    epsilon = total(charges(parameters), neighbours).epsilon
    items = parameters.per_user * parameters.histograms
    delta = appearance(items * _miss_loss(parameters))
    return Guarantee(Kind.INDISTINGUISHABILITY, neighbours, epsilon=epsilon, delta=delta)


def _items_at_first_threshold(parameters: ZealousParameters, users: int) -> int:
    """floor(U m/τ), the most items with count exactly τ: each needs τ of the U users, who give m at most.

    As τ <= U, these are at least the m items that one user can bring, so the probabilistic δ is never below
    that of indistinguishability.
    """
    check_whole("users", users, 1)
    if parameters.threshold_1 > users:
        raise ParameterError(
            f"the first threshold is {parameters.threshold_1} with a public bound of {users} users; it must "
            "be at most the number of users.",
            "Give a lower --threshold-1, or in --users a bound that no log can exceed.",
        )
    return users * parameters.per_user // parameters.threshold_1


def probabilistic_charges(
    parameters: ZealousParameters, users: int, neighbours: Neighbours = Neighbours.ADD_REMOVE
) -> tuple[Charge, ...]:
    """What each histogram costs, as probabilistic differential privacy."""
    m, noise = parameters.per_user, parameters.noise
    delta = appearance(_items_at_first_threshold(parameters, users) * _miss_loss(parameters))
    charge = Charge.of_counts("items and their counts", m, noise, delta)
    if noise:
        # Output by output, an item at τ that fails to appear tells -ln(1-p), where that is more than 1/λ.
        # Of a replaced user one history does so at a time: half of it here, since replacing doubles it.
        excess = m * max(0.0, _miss_loss(parameters) - 1 / noise)
        if excess:
            share = excess / 2 if neighbours is Neighbours.REPLACE else excess
            charge = Charge(charge.what, sum_up([charge.epsilon, share]), delta)
    return (charge,) * parameters.histograms


def probabilistic_guarantee(
    parameters: ZealousParameters, users: int, neighbours: Neighbours = Neighbours.ADD_REMOVE
) -> Guarantee:
    """(ε,δ)-probabilistic differential privacy: δ = 1 - (1-p)^floor(U m/τ); tight.

    Args:
        parameters: the release's parameters; τ is at most U.
        users: U. Under replacing it is the number of users, which is then public. Under adding or removing
            the number is protected: give a public upper bound on it.
        neighbours: which logs are neighbours.
    """
    epsilon = total(probabilistic_charges(parameters, users, neighbours), neighbours).epsilon
    items = _items_at_first_threshold(parameters, users) * parameters.histograms
    delta = appearance(items * _miss_loss(parameters))
    return Guarantee(Kind.PROBABILISTIC, neighbours, epsilon=epsilon, delta=delta)


_WHY_INDISTINGUISHABLE = (
    "the printed threshold m(1 - ln(2δ/m)/ε) belongs to noise m/ε and add-remove neighbours; with the "
    "printed noise 2m/ε it leaks more: δ = 1 - (1-p)^m with p = P(X >= T - τ)."
)
_WHY_PROBABILISTIC = (
    "the paper bounds δ for continuous noise by a union; ours is the exact chance for integer noise that an "
    "item held by exactly τ users is published, over at most floor(U m/τ) of them."
)


def paper_figure(parameters: ZealousParameters, threshold_2: float | None = None) -> PaperFigure:
    """What paper 004 prints as indistinguishability: ε = 2m/λ, δ = (m/2) exp(ε(1 - τ'/m)), solved for δ.

    ``threshold_2`` is the paper's real-valued τ', where it differs from the whole T.
    """
    second = parameters.threshold_2 if threshold_2 is None else threshold_2
    m, noise, count = parameters.per_user, parameters.noise, parameters.histograms
    if noise == 0:
        raise ParameterError.outside("noise", 0, "above 0 for the paper's figure")
    epsilon = 2 * m / noise
    delta = m / 2 * math.exp(min(700.0, epsilon * (1 - second / m)))
    return PaperFigure(
        count * epsilon,
        min(1.0, count * delta),
        Neighbours.REPLACE,
        "paper 004, indistinguishability analysis",
        _WHY_INDISTINGUISHABLE,
    )


def paper_probabilistic(parameters: ZealousParameters, users: int) -> PaperFigure:
    """What paper 004 prints as probabilistic DP: ε = 2m/λ, δ = U m/(2τ) exp(-(τ'-τ)/λ).

    The printed theorem also asks τ' - τ >= -λ ln(2 - 2 exp(-1/λ)), and says nothing below that.
    """
    m, noise, count = parameters.per_user, parameters.noise, parameters.histograms
    if noise == 0:
        raise ParameterError.outside("noise", 0, "above 0 for the paper's figure")
    gap = parameters.threshold_2 - parameters.threshold_1
    claimed = gap >= -noise * math.log(-2 * math.expm1(-1 / noise))
    delta = users * m / parameters.threshold_1 / 2 * math.exp(min(700.0, -gap / noise)) if claimed else 1.0
    return PaperFigure(
        count * 2 * m / noise,
        min(1.0, count * delta),
        Neighbours.REPLACE,
        "paper 004, probabilistic differential privacy analysis",
        _WHY_PROBABILISTIC,
    )
