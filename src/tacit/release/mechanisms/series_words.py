"""What a series does, means and costs."""

import math
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from tacit.release.document.words import counted
from tacit.release.mechanisms.series import SeriesPlan
from tacit.release.prose import FEWER_THAN, Checks, DescribedStep
from tacit.release.schedule import LARGEST_VALUE, ONE

_PAST = "A tenth of the budget went to a log of the past at the opening; its people are covered too."
_OPEN = DescribedStep(
    "Open", "find queries of the past by adaptive rounds, with a tenth of the budget", noisy=True
)


def people_by_week(plan: SeriesPlan, week: int) -> float:
    """Estimate how many people who give a query all they have, each week, find it by this week by half."""
    rounds, needed = plan.rounds, math.inf
    for q in range(1, week * rounds.per_week + 1):
        for memory, threshold in zip(rounds.memories, rounds.thresholds[q - 1], strict=True):
            kept = memory / (1 << 16)
            needed = min(needed, threshold / (ONE * sum(kept**j for j in range(q))))
    return needed


def figures(plan: SeriesPlan) -> dict[str, float]:
    """Estimate how many people a query needs, at best, soon and at the end, and how far off counts are."""
    ends = {"even_chance_at_first": 1, "even_chance_at": plan.mechanism.weeks}
    found = {name: people_by_week(plan, week) for name, week in ends.items()}
    if plan.rounds.tally is not None:
        found["least_deviation"] = plan.rounds.tally.sigma / (LARGEST_VALUE << 8)
    return found


def words(plan: SeriesPlan) -> Sequence[str]:
    asked, cost = plan.mechanism, figures(plan)
    lines = [
        f"All that is published in {counted(asked.weeks, 'week')} together has this guarantee: one charge at "
        "the opening, and no further ones. It covers everything one person asks in the whole period.",
        f"Each week at most {asked.per_week} more queries of a user take part in finding, drawn by lot.",
        "A query to which its holders give all they have needs about "
        f"{cost['even_chance_at_first']:.0f} of them to be found in the first week by half, and "
        f"{cost['even_chance_at']:.0f} by the end. People with many queries give each a smaller part.",
        *([_PAST] if asked.with_history else []),
        "A pseudonym is a user: whoever changes it counts as another person.",
    ]
    if plan.rounds.tally is None:
        return (*lines, "Queries are published without counts.")
    return (
        *lines,
        f"Found queries are counted every {counted(asked.count_every, 'week')}: how many users asked each "
        "in these weeks. The standard deviation of a count stands beside it; it is at least "
        f"{math.floor(10 * cost['least_deviation']) / 10:,g} users, and larger for frequent queries.",
    )


def columns(plan: SeriesPlan) -> Mapping[str, Mapping[str, str]]:
    found = {"found": "The week of the series in which the query was found; 0 before its first."}
    if plan.rounds.tally is None:
        return {"queries": found}
    weeks = counted(plan.mechanism.count_every, "week")
    counts = {
        "count": f"About how many users asked it in the last {weeks} that were counted, estimated from "
        "noisy, clipped weights. Empty where it is withheld.",
        "deviation": "Standard deviation of the noise in the count, in users.",
        "fewer_than": FEWER_THAN,
        "week": "The week of the series with which this count ended.",
    }
    rising = {
        "change": f"By how much the last count is above the one before ({weeks} each), where that is more "
        "than 3.5 standard deviations of the noise.",
        "deviation": "Standard deviation of the noise in the change, in users.",
    }
    return {"queries": found, "counts": counts, "rising": rising}


def steps(plan: SeriesPlan) -> Sequence[DescribedStep]:
    rounds, asked = plan.rounds, plan.mechanism
    listed = [
        *([_OPEN] if rounds.history else []),
        DescribedStep("Join", f"each week at most {asked.per_week} more queries of a user by lot; they stay"),
        DescribedStep(
            "Weigh",
            "every user gains one unit of weight a round, saves what is not spent, and shares it among own "
            "queries; what earlier rounds showed steers them",
        ),
        DescribedStep(
            "Noise",
            f"add whole-number Gaussian noise, {rounds.sigma / ONE:.3g} wide, to every query's weight in "
            f"each of {counted(rounds.rounds, 'round')}; one first asked later has that of all before",
            noisy=True,
        ),
        DescribedStep("Find", "publish a query when its remembered weights pass the round's threshold"),
    ]
    if rounds.tally is not None:
        listed.append(
            DescribedStep(
                "Count",
                f"every {counted(asked.count_every, 'week')} how many users asked each found query, "
                f"weighted, cut to savings, with noise of {rounds.tally.sigma / ONE:.3g} on weight 1",
                noisy=True,
            )
        )
    return tuple(listed)


def table_checks(plan: SeriesPlan, read: Callable[[str], pa.Table]) -> Checks:
    """Weeks of the series, and risers that are found."""

    def weeks() -> tuple[bool, str]:
        found = read("queries").column("found").to_pylist()
        return all(0 <= week <= plan.mechanism.weeks for week in found), ""

    def listed() -> tuple[bool, str]:
        rising, known = (set(read(name).column("query").to_pylist()) for name in ("rising", "queries"))
        return rising <= known, ""

    yield "every query was found in a week of the series", weeks
    if plan.rounds.tally is not None:
        yield "every riser is among the queries", listed
