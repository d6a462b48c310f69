"""What a ZEALOUS release does, means and costs, said to a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.privacy import Neighbours
from tacit.release.document.words import counted, leaning, taken
from tacit.release.mechanism import DescribedStep, FurtherStatement
from tacit.release.mechanisms import zealous as analysis
from tacit.release.mechanisms.zealous import ZealousParameters


def words(p: ZealousParameters, figures: Mapping[str, float]) -> tuple[str, ...]:
    """What the parameters mean and cost."""
    return (
        f"Each user gives at most {counted(p.per_user, 'distinct item')} to each of "
        f"{counted(p.histograms, 'histogram')}; what a user has beyond that is not counted.",
        f"Items of fewer than {counted(p.first, 'user')} never appear; an item of exactly "
        f"{p.first} appears with chance {figures['chance_at_first_threshold']:.2g}.",
        f"An item needs about {p.second} users for an even chance to appear, and "
        f"{figures['nearly_sure_at']:.0f} to appear 19 times in 20. Rarer items are lost: that is the cost.",
        f"A published count is off by about {p.scale:.3g} users on average.",
        leaning(p.scale),
    )


def steps(p: ZealousParameters) -> Sequence[DescribedStep]:
    """What is done to the log, as paper 004 lists it."""
    listed = ", ".join(p.items)
    return (
        DescribedStep(
            "Bound", f"of each user the {taken(p.take, p.per_user, 'item', 'different items')}: {listed}"
        ),
        DescribedStep("Count", "how many users have each item"),
        DescribedStep("First threshold", f"keep items of at least {counted(p.first, 'user')}"),
        DescribedStep(
            "Noise", f"add whole-number Laplace noise of scale {p.scale:g} to every count", noisy=True
        ),
        DescribedStep("Second threshold", f"publish what has a noisy count of {p.second} or more"),
    )


def further(p: ZealousParameters) -> FurtherStatement:
    """Both kinds of guarantee; the probabilistic one where the number of users is given."""
    found, figure = analysis.guarantee(p), analysis.paper_figure(p)
    document = {"indistinguishability": found.to_dict(), "probabilistic": None}
    paper = {"indistinguishability": {"epsilon": figure.epsilon, "delta": figure.delta}}
    if p.users is None:
        said = (
            "With the number of users given, the probabilistic guarantee, which depends on it, is stated too."
        )
        return FurtherStatement(document=document, paper=paper, words=(said,))
    probable = analysis.probabilistic_guarantee(p, p.users)
    printed = analysis.paper_probabilistic(p, p.users)
    document["probabilistic"] = {**probable.to_dict(), "users": p.users}
    kind = "a public upper bound on" if p.neighbours is Neighbours.ADD_REMOVE else "the public number of"
    said = (
        f"Probabilistic: outside outputs of chance {probable.delta:.3g}, ε holds output by output; "
        f"{p.users:,} is taken as {kind} users."
    )
    row = ("probabilistic delta", f"{probable.delta:.3g}", f"{printed.delta:.3g}")
    return FurtherStatement("", document, {**paper, "probabilistic": printed.to_dict()}, (row,), (said,))
