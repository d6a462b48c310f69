"""ZEALOUS: what its parameters guarantee, provably, and what paper 004 prints for them.

Each user gives at most m distinct items; an item counts its users. Items with count >= τ get integer noise
of scale λ, and are published with their noisy count iff it is >= T. Derivation: docs/guarantees/zealous.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tacit.errors import ParameterError
from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
from tacit.privacy.events import Event, ThresholdedCounts
from tacit.privacy.rounding import sum_up
from tacit.release.analysis.accounting import charges_of, event_of, guarantee_of
from tacit.release.analysis.charge import Charge, PaperFigure, total_epsilon
from tacit.release.analysis.threshold import appearance, miss_loss
from tacit.release.parameters import check_whole
from tacit.release.zealous.parameters import ZealousParameters
from tacit.release.zealous.schedule import zealous_schedule

__all__ = [
    "charges",
    "event",
    "exact_event",
    "guarantee",
    "paper_figure",
    "paper_probabilistic",
    "probabilistic_charges",
    "probabilistic_guarantee",
]


def _miss_loss(parameters: ZealousParameters) -> float:
    """-ln(1 - p), p the chance that an item with count exactly τ is published."""
    return miss_loss(parameters.scale, parameters.second - parameters.first)


def charges(parameters: ZealousParameters) -> tuple[Charge, ...]:
    """What each histogram costs, as indistinguishability: m/λ, and the chance that a fresh item appears."""
    return charges_of(zealous_schedule(parameters))


def guarantee(parameters: ZealousParameters, neighbours: Neighbours | None = None) -> Guarantee:
    """(ε,δ)-indistinguishability: ε = m/λ (replacing: 2m/λ), δ = 1 - (1-p)^m, p = P(X >= T - τ); tight.

    With several histograms a user may bring m fresh items to each: ε adds, and δ = 1 - (1-p)^(m h).
    """
    return guarantee_of(zealous_schedule(parameters), neighbours or parameters.neighbours)


def event(parameters: ZealousParameters, neighbours: Neighbours | None = None) -> Event:
    """m items per histogram, each moved by 1, and the chance that an item at the first threshold appears."""
    return event_of(zealous_schedule(parameters), neighbours or parameters.neighbours)


def exact_event(parameters: ZealousParameters, epsilon: float) -> ThresholdedCounts:
    """The release as keys that are moved or shown, its guarantee stated at ``epsilon``."""
    chance = appearance(_miss_loss(parameters))
    return ThresholdedCounts(
        parameters.scale, parameters.per_user * parameters.histograms, chance, epsilon, parameters.neighbours
    )


def _items_at_first_threshold(parameters: ZealousParameters, users: int) -> int:
    """floor(U m/τ), the most items with count exactly τ: each needs τ of the U users, who give m at most.

    As τ <= U, these are at least the m items that one user can bring, so the probabilistic δ is never below
    that of indistinguishability.
    """
    check_whole("users", users, 1)
    if parameters.first > users:
        raise ParameterError(
            f"the first threshold is {parameters.first} with a public bound of {users} users; it must "
            "be at most the number of users.",
            "Give a lower `threshold_1`, or in `users` a bound that no log can exceed.",
        )
    return users * parameters.per_user // parameters.first


def probabilistic_charges(
    parameters: ZealousParameters, users: int, neighbours: Neighbours | None = None
) -> tuple[Charge, ...]:
    """What each histogram costs, as probabilistic differential privacy."""
    neighbours = neighbours or parameters.neighbours
    m, noise = parameters.per_user, parameters.scale
    delta = appearance(_items_at_first_threshold(parameters, users) * _miss_loss(parameters))
    charge = Charge.of_counts("", m, noise, delta)
    if noise:
        # Output by output, an item at τ that fails to appear tells -ln(1-p), where that is more than 1/λ.
        # Of a replaced user one history does so at a time: half of it here, since both are charged.
        excess = m * max(0.0, _miss_loss(parameters) - 1 / noise)
        if excess:
            share = excess / neighbours.histories
            charge = Charge(charge.what, sum_up([charge.epsilon, share]), delta)
    return tuple(replace(charge, what=item.value) for item in parameters.items)


def probabilistic_guarantee(
    parameters: ZealousParameters, users: int, neighbours: Neighbours | None = None
) -> Guarantee:
    """(ε,δ)-probabilistic differential privacy: δ = 1 - (1-p)^floor(U m/τ); tight.

    Args:
        parameters: the release's parameters; τ is at most U.
        users: U. Under replacing it is the number of users, which is then public. Under adding or removing
            the number is protected: give a public upper bound on it.
        neighbours: which logs are neighbours.
    """
    neighbours = neighbours or parameters.neighbours
    epsilon = total_epsilon(probabilistic_charges(parameters, users, neighbours), neighbours)
    items = _items_at_first_threshold(parameters, users) * parameters.histograms
    delta = appearance(items * _miss_loss(parameters))
    return Guarantee(GuaranteeKind.PROBABILISTIC, neighbours, epsilon=epsilon, delta=delta)


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
    assert second is not None
    m, noise, count = parameters.per_user, parameters.scale, parameters.histograms
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
    m, noise, count = parameters.per_user, parameters.scale, parameters.histograms
    if noise == 0:
        raise ParameterError.outside("noise", 0, "above 0 for the paper's figure")
    gap = parameters.second - parameters.first
    claimed = gap >= -noise * math.log(-2 * math.expm1(-1 / noise))
    delta = users * m / parameters.first / 2 * math.exp(min(700.0, -gap / noise)) if claimed else 1.0
    return PaperFigure(
        count * 2 * m / noise,
        min(1.0, count * delta),
        Neighbours.REPLACE,
        "paper 004, probabilistic differential privacy analysis",
        _WHY_PROBABILISTIC,
    )
