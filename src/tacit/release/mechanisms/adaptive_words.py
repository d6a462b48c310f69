"""What an adaptive release does, means and costs."""

import math
from collections.abc import Mapping, Sequence

from tacit.release.document.words import biased_counts, counted, rounded
from tacit.release.mechanisms.adaptive import SEQUENCE, AdaptivePlan, HeldItem
from tacit.release.prose import FEWER_THAN, DescribedStep, laplace_step
from tacit.release.rounds_analysis import even_chance_at, single_deviation, single_even_chance_at
from tacit.release.schedule import ONE, AdaptiveRounds, SingleCount


def figures(plan: AdaptivePlan) -> dict[str, float]:
    selection = plan.schedule.selection
    found: dict[str, float] = {}
    if isinstance(selection, SingleCount):
        found["even_chance_at"] = single_even_chance_at(selection)
        if not plan.mechanism.keys_only:
            found["least_deviation"] = single_deviation(selection)
    elif selection is not None:
        found["even_chance_at"] = even_chance_at(selection)
        if selection.tally is not None:
            found["least_deviation"] = selection.tally.sigma / ONE
    return found


def words(plan: AdaptivePlan) -> Sequence[str]:
    selection = plan.schedule.selection
    if isinstance(selection, AdaptiveRounds):
        return _words_of_rounds(plan, selection)
    return _words_of_count(plan) if selection is not None else ()


def columns(plan: AdaptivePlan) -> Mapping[str, Mapping[str, str]]:
    if plan.single:
        bound = counted(plan.mechanism.per_user, "item")
        count = f"Users who have it among {bound} of theirs, drawn at random from more; plus noise."
    else:
        count = "About how many users have it at all: estimated from noisy, clipped weights."
    said = {
        "count": count,
        "deviation": "Standard deviation of the count's error, in users, as estimated.",
        "fewer_than": FEWER_THAN,
    }
    if not plan.single:
        said["count"] += " Empty where it is withheld."
    return {part.table: {name: said[name] for name in part.measures} for part in plan.schedule}


def steps(plan: AdaptivePlan) -> Sequence[DescribedStep]:
    selection = plan.schedule.selection
    if isinstance(selection, AdaptiveRounds):
        return _steps_of_rounds(plan, selection)
    return _steps_of_count(plan, selection) if selection is not None else ()


def _listed(plan: AdaptivePlan) -> str:
    return ", ".join(plan.mechanism.items).capitalize()


def _bound(plan: AdaptivePlan) -> str:
    together = " of all kinds together" if len(plan.mechanism.items) > 1 else ""
    return counted(plan.mechanism.per_user, "item") + together


def _words_of_rounds(plan: AdaptivePlan, rounds: AdaptiveRounds) -> Sequence[str]:
    cost = figures(plan)
    lines = [
        f"Finds {_listed(plan).lower()} that many users share. Each user contributes at most "
        f"{_bound(plan)}: those of the fewest words, drawn at random among equals.",
        f"An item is found with an even chance if about {cost['even_chance_at']:.0f} users put all their "
        "weight on it. Users with many items put only a part of it on each, and more as rounds pass.",
    ]
    if len(rounds.rounds) > 1:
        lines.append(
            f"There are {len(rounds.rounds)} rounds. What earlier rounds show, with their noise, moves "
            "weight to items that are nearly found, away from those found already or out of reach."
        )
    if rounds.tally is None:
        lines.append("Items are published without counts.")
    else:
        lines.append(
            "Each count comes with the standard deviation of its error, at least "
            f"{math.floor(10 * cost['least_deviation']) / 10:,g} users. It grows with the count, and "
            "with the number of found items that most people have."
        )
    if HeldItem.SESSIONS in plan.mechanism.items:
        lines.append(f"A session is an item in its first two up to {SEQUENCE} queries.")
    return tuple(lines)


def _words_of_count(plan: AdaptivePlan) -> Sequence[str]:
    cost = figures(plan)
    lines = [
        f"{_listed(plan)} of each user are counted, at most {_bound(plan)}, drawn at random. What a user has "
        "beyond that is not counted, so choose a larger bound if many users have more.",
        "With so few items a user, one noisy count of each finds more than rounds do. An item needs "
        f"about {cost['even_chance_at']:.0f} users for an even chance to appear.",
    ]
    if plan.mechanism.keys_only:
        return (*lines, "Items are published without counts.")
    return (
        *lines,
        "Each count comes with the standard deviation of its noise, "
        f"{rounded(cost['least_deviation'])} users.",
        biased_counts(next(plan.schedule.noises()).scale),
    )


def _cut(plan: AdaptivePlan, which: str) -> DescribedStep:
    return DescribedStep("Cut", f"of each user at most {_bound(plan)}, {which}: {_listed(plan).lower()}")


def _steps_of_rounds(plan: AdaptivePlan, rounds: AdaptiveRounds) -> Sequence[DescribedStep]:
    last = rounds.rounds[-1]
    listed = [
        _cut(plan, "the shortest first"),
        DescribedStep(
            "Weigh",
            "spread each user's weight (squares that sum to 1) over their items; what earlier rounds "
            "published decides where it is needed",
        ),
        DescribedStep(
            "Noise",
            f"add whole-number Gaussian noise to every item's weight, {last.sigma / ONE:.3g} to "
            f"{rounds.rounds[0].sigma / ONE:.3g} wide, in {counted(len(rounds.rounds), 'round')}",
            noisy=True,
        ),
        DescribedStep("Find", "publish an item when its noisy weights together pass the round's threshold"),
    ]
    if rounds.tally is not None:
        listed.append(
            DescribedStep(
                "Count",
                "estimate how many users have each found item, from clipped weights with noise of "
                f"{rounds.tally.sigma / ONE:.3g} on a weight of 1",
                noisy=True,
            )
        )
    return tuple(listed)


def _steps_of_count(plan: AdaptivePlan, single: SingleCount) -> Sequence[DescribedStep]:
    return (
        _cut(plan, "drawn at random"),
        DescribedStep("Count", "how many users have each item"),
        laplace_step(single.scale, f", never more than {single.most},"),
        DescribedStep("Threshold", f"publish what has a noisy count of {single.least} or more"),
    )
