"""What adaptive rounds do, mean and cost, said to a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.release.document.words import counted
from tacit.release.mechanism import DescribedStep
from tacit.release.mechanisms.adaptive import SEQUENCE, AdaptiveParameters, HeldItem
from tacit.release.mechanisms.adaptive_schedule import ONE, RoundsSchedule, even_chance_at


def figures(schedule: RoundsSchedule) -> dict[str, float]:
    """How many users an item needs at the best, and how far off counts are at least."""
    found = {"even_chance_at": even_chance_at(schedule)}
    if schedule.tally is not None:
        found["least_deviation"] = schedule.tally.sigma / ONE
    return found


def words(p: AdaptiveParameters, schedule: RoundsSchedule, figures: Mapping[str, float]) -> Sequence[str]:
    """What the parameters mean and cost."""
    listed = ", ".join(p.items)
    lines = [
        f"{listed[0].upper()}{listed[1:]} of each user take part in finding, at most "
        f"{counted(p.per_user, 'item')} of all kinds together, drawn by lot.",
        f"An item on which its holders have all their weight needs about {figures['even_chance_at']:.0f} of "
        "them for an even chance; people with many items give each a smaller part, less so the more rounds "
        "have passed.",
    ]
    if len(schedule.rounds) > 1:
        lines.append(
            f"In {len(schedule.rounds)} rounds the noisy numbers of the earlier ones steer weight away from "
            "what was found, or cannot be found, to what is nearly found."
        )
    if schedule.tally is None:
        lines.append("Items are published without counts.")
    else:
        lines.append(
            "Each count stands beside the standard deviation of its noise; it is at least "
            f"{figures['least_deviation']:.1f} users and grows with the count and with how many found items "
            "most people have."
        )
    if HeldItem.SESSIONS in p.items:
        lines.append(f"A session is an item in its first two up to {SEQUENCE} queries.")
    return tuple(lines)


def steps(p: AdaptiveParameters, schedule: RoundsSchedule) -> Sequence[DescribedStep]:
    """What is done to the log."""
    last = schedule.rounds[-1]
    listed = [
        DescribedStep(
            "Cut", f"of each user at most {counted(p.per_user, 'item')}, by lot: {', '.join(p.items)}"
        ),
        DescribedStep(
            "Weigh",
            "users share a weight of norm 1 among their items; what the last round showed steers them",
        ),
        DescribedStep(
            "Noise",
            f"add whole-number Gaussian noise to every item's weight, {last.sigma / ONE:.3g} to "
            f"{schedule.rounds[0].sigma / ONE:.3g} wide, in {counted(len(schedule.rounds), 'round')}",
            noisy=True,
        ),
        DescribedStep(
            "Find", "publish an item when all its noisy weights together pass the round's threshold"
        ),
    ]
    if schedule.tally is not None:
        listed.append(
            DescribedStep(
                "Count",
                "how many users have each found item: weighted, clipped, with noise of "
                f"{schedule.tally.sigma / ONE:.3g} on a weight of 1",
                noisy=True,
            )
        )
    return tuple(listed)
