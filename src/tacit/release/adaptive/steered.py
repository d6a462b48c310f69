"""Steered Gaussian rounds find items, then the found ones are counted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from tacit.privacy import Neighbours
from tacit.privacy.events import Event, GaussianRounds
from tacit.privacy.gaussian_loss import lattice_delta
from tacit.privacy.randomness import RandomSource
from tacit.release.adaptive import rounds_words
from tacit.release.adaptive.analysis import Cost, cost_of
from tacit.release.adaptive.finding_way import Numbered
from tacit.release.adaptive.foresight import foresee
from tacit.release.adaptive.holdings import Counted
from tacit.release.adaptive.parameters import AdaptiveParameters
from tacit.release.adaptive.rounds import Holdings, find
from tacit.release.adaptive.rounds_schedule import RoundsSchedule
from tacit.release.adaptive.tallies import take_tally
from tacit.release.analysis.charge import Charge
from tacit.release.mechanism import DescribedStep

__all__ = ["Steered"]


class Steered:
    """Carries out :class:`~tacit.release.adaptive.rounds_schedule.RoundsSchedule`."""

    least = None

    def __init__(self, schedule: RoundsSchedule, neighbours: Neighbours) -> None:
        self.schedule = schedule
        self.neighbours = neighbours

    @cached_property
    def cost(self) -> Cost:
        """μ of the noise and the chance of a disclosure."""
        return cost_of(self.schedule, self.neighbours)

    def delta(self, epsilon: float) -> float:
        """At any ε."""
        return self.cost.delta(epsilon)

    def charges(self, epsilon: float) -> tuple[Charge, ...]:
        """The noise of all rounds, and what may be found by chance."""
        noise = lattice_delta(epsilon, self.cost.mu)
        return (
            Charge("the noise of all rounds and counts", epsilon / self.neighbours.histories, noise),
            Charge("items of one user alone, found by chance", 0.0, self.cost.disclosure),
        )

    def event(self, epsilon: float) -> Event:
        """Gaussian rounds and a rare disclosure, stated at ε."""
        return GaussianRounds(self.cost.mu, self.cost.disclosure, epsilon, self.neighbours)

    def figures(self) -> dict[str, float]:
        """How many users an item needs, and how far off counts are at least."""
        return rounds_words.figures(self.schedule)

    def words(self, p: AdaptiveParameters) -> Sequence[str]:
        """What the parameters mean and cost."""
        return rounds_words.words(p, self.schedule, self.figures())

    def steps(self, p: AdaptiveParameters) -> Sequence[DescribedStep]:
        """What is done to the log."""
        return rounds_words.steps(p, self.schedule)

    def carry_out(self, holdings: Holdings, source: RandomSource) -> Numbered:
        """Find, and count what was found."""
        found = find(self.schedule, holdings, source)
        if self.schedule.tally is None:
            return Numbered(found.items)
        tally = take_tally(self.schedule.tally, holdings, found, source)
        return Numbered(found.items, tally.counts, tally.deviations)

    def foresee(self, counted: Counted, share: float, source: RandomSource) -> dict[str, float]:
        """By carrying out the rounds on a synthetic log."""
        return foresee(self.schedule, counted, share, source)
