"""What a release of topics does, means and costs, said to a person."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tacit.release.document.words import counted, taken
from tacit.release.mechanism import DescribedStep
from tacit.release.mechanisms.topics import TopicsParameters


def noise_variance(scale: float) -> float:
    """The variance of integer Laplace noise: 2a/(1-a)², a = exp(-1/λ); 0 where noise is switched off."""
    if scale == 0:
        return 0.0
    a = math.exp(-1 / scale)
    return 2 * a / (1 - a) ** 2


def figures(p: TopicsParameters) -> dict[str, float]:
    """How far off a count is at most, as a standard error, and from where on it is more than none."""
    assert p.noise is not None
    deviation = math.sqrt(noise_variance(p.noise))
    return {"largest_deviation": deviation, "told_from_none_at": 2 * deviation}


def words(p: TopicsParameters, taxonomy: str, figures: Mapping[str, float]) -> Sequence[str]:
    """What the parameters mean and cost."""
    return (
        f"Each person counts for at most {counted(p.per_user, 'topic')} of the first level of {taxonomy}, "
        f"and in each for one right below, down to level {p.levels}: what they search for {_how(p)}.",
        "All topics are public and all are listed, whether anybody searches for them or not.",
        f"A published count has a standard error of at most {figures['largest_deviation']:.2g} people; what "
        "it is stands beside each. A count of less than twice that cannot be told from none.",
        "The count of a topic is the sum of those right below it, exactly. A topic's people who search for "
        "none of the topics below it are in its `other`.",
        "What a query is about is told from its words by a public rule, which is often wrong about a single "
        "query; queries that it cannot place count nowhere.",
    )


def _how(p: TopicsParameters) -> str:
    return {"frequent": "most", "first": "first", "last": "last"}[p.take.value]


def steps(p: TopicsParameters, taxonomy: str) -> Sequence[DescribedStep]:
    """What is done to the log."""
    return (
        DescribedStep("Place", f"each query under a topic of {taxonomy}, by its text and public data alone"),
        DescribedStep(
            "Bound",
            f"of each user the {taken(p.take, p.per_user, 'topic')} of the first level, and in each the "
            f"{p.take.words} one right below, to level {p.levels}",
        ),
        DescribedStep("Count", "how many users count for each topic, none included"),
        DescribedStep(
            "Noise", f"add whole-number Laplace noise of scale {p.noise:g} to every count", noisy=True
        ),
        DescribedStep(
            "Agree",
            "from the noisy counts alone: least squares, then whole numbers of at least 0, so that each "
            "topic is the sum of those right below it",
        ),
    )


def still_learns() -> Sequence[str]:
    """Beyond what holds for every pure release."""
    return (
        "Nothing about what is in no topic: texts of queries do not appear, only topics that were public "
        "before.",
    )
