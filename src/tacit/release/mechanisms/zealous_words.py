"""What a ZEALOUS release does, means and costs, and what paper 004 prints for it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tacit.privacy.guarantee import Neighbours
from tacit.release.analysis import guarantee_of
from tacit.release.document.words import THINGS, among, biased_counts, counted, one_in, rounded, taken
from tacit.release.mechanisms.zealous import ZealousPlan
from tacit.release.prose import (
    DescribedStep,
    Notes,
    PaperFigure,
    laplace_step,
    require_noise,
    selection_figures,
)
from tacit.release.thresholds import survival


def figures(plan: ZealousPlan) -> dict[str, float]:
    first = survival(plan.noise, plan.threshold_2 - plan.threshold_1)
    return {**selection_figures(plan.schedule.parts[0]), "chance_at_first_threshold": first}


def words(plan: ZealousPlan) -> Sequence[str]:
    asked, cost = plan.mechanism, figures(plan)
    given = among(asked.take, asked.per_user, "item", "different items")
    rare = one_in(cost["chance_at_first_threshold"])
    return (
        f"Each user gives at most {counted(asked.per_user, 'distinct item')} to each table; what a user has "
        "beyond that is not counted.",
        f"A count is of the users who have an item {given}, and leaves out everybody else who has it. How "
        "many have it at all is not published, and may be many times more.",
        f"An item that one such user alone has appears with a chance of {rare}."
        if plan.threshold_1 == 1
        else f"Items of fewer than {plan.threshold_1:,} such users never appear; one of exactly so many does "
        f"with a chance of {rare}.",
        f"About {plan.threshold_2} users must have an item {given} for an even chance that it appears, and "
        f"{cost['nearly_sure_at']:.0f} for 19 chances in 20. Rarer items are lost: that is the cost.",
        "A published count is off from the number of such users by about "
        f"{rounded(cost['expected_error'])} on average.",
        biased_counts(plan.noise),
    )


def columns(plan: ZealousPlan) -> Mapping[str, Mapping[str, str]]:
    asked = plan.mechanism
    found = {}
    for item in asked.items:
        given = among(asked.take, asked.per_user, THINGS[item], f"different {item}")
        found[item.value] = {
            "count": f"Users who have it {given}, plus noise of scale {plan.noise:.4g}; a user counts once, "
            "and others who have it are left out."
        }
    return found


def steps(plan: ZealousPlan) -> Sequence[DescribedStep]:
    asked = plan.mechanism
    chosen = taken(asked.take, asked.per_user, "item", "different items")
    return (
        DescribedStep("Bound", f"of each user the {chosen}: {', '.join(asked.items)}"),
        DescribedStep("Count", "how many users have each item"),
        DescribedStep("First threshold", f"keep items of at least {counted(plan.threshold_1, 'user')}"),
        laplace_step(plan.noise),
        DescribedStep("Second threshold", f"publish what has a noisy count of {plan.threshold_2} or more"),
    )


def notes(plan: ZealousPlan) -> Notes:
    """Both kinds of guarantee; the probabilistic one where the number of users is given."""
    users, closed = plan.mechanism.users, replace(plan.schedule, users=None, at_epsilon=None)
    found, figure = guarantee_of(closed), printed_approximate(plan)
    document = {"approximate": found.to_dict(), "probabilistic": None}
    paper = {"approximate": {"epsilon": figure.epsilon, "delta": figure.delta}}
    if users is None:
        said = (
            "With the number of users given, the probabilistic guarantee, which depends on it, is stated too."
        )
        return Notes(document=document, paper=paper, words=(said,))
    probable = guarantee_of(replace(closed, users=users))
    printed = printed_probabilistic(plan, users)
    document["probabilistic"] = {**probable.to_dict(), "users": users}
    kind = "a public upper bound on" if plan.neighbours is Neighbours.ADD_REMOVE else "the public number of"
    said = (
        f"Probabilistic: outside outputs of chance {probable.delta:.3g}, ε holds output by output; "
        f"{users:,} is taken as {kind} users."
    )
    row = ("probabilistic delta", f"{probable.delta:.3g}", f"{printed.delta:.3g}")
    return Notes("", document, {**paper, "probabilistic": printed.to_dict()}, (row,), (said,))


_WHY_APPROXIMATE = (
    "the printed threshold m(1 - ln(2δ/m)/ε) belongs to noise m/ε and add-remove neighbours; with the "
    "printed noise 2m/ε it leaks more: δ = 1 - (1-p)^m with p = P(X >= T - τ)."
)
_WHY_PROBABILISTIC = (
    "the paper bounds δ for continuous noise by a union; ours is the exact chance for integer noise that an "
    "item held by exactly τ users is published, over at most floor(U m/τ) of them."
)


def paper_figure(plan: ZealousPlan) -> PaperFigure:
    """The figure of paper 004 for the same kind of guarantee."""
    if plan.schedule.users is not None:
        return printed_probabilistic(plan, plan.schedule.users)
    return printed_approximate(plan, plan.mechanism.threshold_2)


def printed_approximate(plan: ZealousPlan, threshold_2: float | None = None) -> PaperFigure:
    """Compute what paper 004 prints for (ε,δ): ε = 2m/λ, δ = (m/2) exp(ε(1 - τ'/m)), solved for δ.

    ``threshold_2`` is the paper's real-valued τ', where it differs from the whole T.
    """
    second = plan.threshold_2 if threshold_2 is None else threshold_2
    m, noise, count = plan.mechanism.per_user, plan.noise, len(plan.mechanism.items)
    require_noise(noise)
    epsilon = 2 * m / noise
    delta = m / 2 * math.exp(min(700.0, epsilon * (1 - second / m)))
    return PaperFigure(
        count * epsilon,
        min(1.0, count * delta),
        Neighbours.REPLACE,
        "paper 004, analysis of (ε, δ)-differential privacy",
        _WHY_APPROXIMATE,
    )


def printed_probabilistic(plan: ZealousPlan, users: int) -> PaperFigure:
    """Compute what paper 004 prints as probabilistic DP: ε = 2m/λ, δ = U m/(2τ) exp(-(τ'-τ)/λ).

    The printed theorem also asks τ' - τ >= -λ ln(2 - 2 exp(-1/λ)), and says nothing below that.
    """
    m, noise, count = plan.mechanism.per_user, plan.noise, len(plan.mechanism.items)
    require_noise(noise)
    gap = plan.threshold_2 - plan.threshold_1
    claimed = gap >= -noise * math.log(-2 * math.expm1(-1 / noise))
    delta = users * m / plan.threshold_1 / 2 * math.exp(min(700.0, -gap / noise)) if claimed else 1.0
    return PaperFigure(
        count * 2 * m / noise,
        min(1.0, count * delta),
        Neighbours.REPLACE,
        "paper 004, probabilistic differential privacy analysis",
        _WHY_PROBABILISTIC,
    )
