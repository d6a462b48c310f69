"""A single noisy count of each item: the way where a user gives very few items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
from tacit.privacy.events import Event, GuaranteedRelease
from tacit.privacy.randomness import RandomSource
from tacit.privacy.rounding import sum_up
from tacit.release.adaptive.finding_way import Numbered
from tacit.release.adaptive.foresight import mean_rows, some_users
from tacit.release.adaptive.holdings import Counted
from tacit.release.adaptive.parameters import AdaptiveParameters
from tacit.release.adaptive.rounds import Holdings
from tacit.release.adaptive.single_analysis import deviation, disclosure, even_chance_at, loss
from tacit.release.adaptive.single_count import SingleCount, count_once
from tacit.release.analysis.charge import Charge
from tacit.release.mechanism import DescribedStep
from tacit.release.promise import counted as in_words
from tacit.release.promise import leaning

__all__ = ["CountedOnce"]


class CountedOnce:
    """Carries out :class:`~tacit.release.adaptive.single_count.SingleCount`.

    Counts cost nothing where they are not shown: they are the numbers that were compared.
    """

    def __init__(self, schedule: SingleCount, neighbours: Neighbours, keys_only: bool) -> None:
        self.schedule = schedule
        self.neighbours = neighbours
        self.keys_only = keys_only

    @property
    def least(self) -> int:
        """The threshold: published is what was compared."""
        return self.schedule.least

    def delta(self, epsilon: float) -> float:
        """At the ε of the noise; nothing is promised below it."""
        return disclosure(self.schedule) if self._epsilon() <= epsilon else 1.0

    def _epsilon(self) -> float:
        return self.neighbours.histories * sum_up([loss(self.schedule)])

    def charges(self, epsilon: float) -> tuple[Charge, ...]:
        """Noise and threshold pay for one another: a single part."""
        return (
            Charge("one noisy count of each item", epsilon / self.neighbours.histories, self.delta(epsilon)),
        )

    def event(self, epsilon: float) -> Event:
        """By its guarantee: a moved count tells e^(1/b), the one way or the other, or all."""
        return GuaranteedRelease(
            Guarantee(
                GuaranteeKind.INDISTINGUISHABILITY,
                self.neighbours,
                epsilon=epsilon,
                delta=self.delta(epsilon),
            )
        )

    def figures(self) -> dict[str, float]:
        """How many users an item needs, and how far off counts are."""
        found: dict[str, float] = {"even_chance_at": even_chance_at(self.schedule)}
        if not self.keys_only:
            found["least_deviation"] = deviation(self.schedule)
        return found

    def words(self, p: AdaptiveParameters) -> Sequence[str]:
        """What the parameters mean and cost."""
        listed = ", ".join(p.items)
        lines = [
            f"{listed[0].upper()}{listed[1:]} of each user are counted, at most "
            f"{in_words(p.per_user, 'item')} of all kinds together, drawn by lot. Who has more is counted in "
            "these alone: give a larger bound if many have.",
            "With so few items a user one noisy count of each finds more than rounds of noise. An item needs "
            f"about {even_chance_at(self.schedule)} users for an even chance to appear.",
        ]
        if self.keys_only:
            return (*lines, "Items are published without counts.")
        return (
            *lines,
            "Each count stands beside the standard deviation of its noise, "
            f"{deviation(self.schedule):.2g} users.",
            leaning(self.schedule.scale),
        )

    def steps(self, p: AdaptiveParameters) -> Sequence[DescribedStep]:
        """What is done to the log."""
        return (
            DescribedStep(
                "Cut", f"of each user at most {in_words(p.per_user, 'item')}, by lot: {', '.join(p.items)}"
            ),
            DescribedStep("Count", "how many users have each item"),
            DescribedStep(
                "Noise",
                f"add whole-number Laplace noise of scale {self.schedule.scale:g}, never more than "
                f"{self.schedule.most}, to every count",
                noisy=True,
            ),
            DescribedStep("Threshold", f"publish what has a noisy count of {self.schedule.least} or more"),
        )

    def carry_out(self, holdings: Holdings, source: RandomSource) -> Numbered:
        """Count, draw, compare."""
        items, counts = count_once(self.schedule, holdings, source)
        if self.keys_only:
            return Numbered(items)
        return Numbered(items, counts, np.full(items.size, deviation(self.schedule)))

    def foresee(self, counted: Counted, share: float, source: RandomSource) -> dict[str, float]:
        """By carrying it out on a synthetic log: on some of its users, or with every count grown."""

        def published() -> NDArray[np.int64]:
            holdings = counted.holdings if share >= 1 else some_users(counted.holdings, share, source)
            return count_once(self.schedule, holdings, source, times=max(1.0, share))[0]

        return mean_rows(counted, published)
