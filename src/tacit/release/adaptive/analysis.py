"""What steered rounds provably cost, computed from the schedule that is carried out.

Theorem (docs/guarantees/adaptive.md): a release by the schedule is (ε, δ)-indistinguishable for adding or
removing a user, at every ε ≥ 0, with

    δ = δ_lattice(ε; μ) + Σ_r k₀·p_r,      μ² = Σ 1/s², over all noise that is drawn,

where s is a noise's width in units of what one user moves, its rounding taken off, and p_r bounds the chance
that a given item that one user alone holds is found in round r.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import ParameterError
from tacit.privacy import Neighbours
from tacit.privacy.gaussian_loss import ROUNDING, lattice_delta, root_above
from tacit.privacy.normal import upper_tail
from tacit.privacy.rounding import round_up, sum_up
from tacit.release.adaptive.rounds_schedule import ONE, RoundsSchedule

__all__ = ["Cost", "appearance", "cost_of", "disclosure", "even_chance_at", "noise_mu", "tail_allowance"]

_TAIL = 12
"""Rounding to the integers moves a draw by less than this many η, but for a part of 10^-30."""

_STRAY = Fraction(1, 10**28)
"""An upper bound of all that lies beyond: 10^-30 a draw and the lattice's factor e^a, for up to 50 rounds."""


@dataclass(frozen=True)
class Cost:
    """μ of all Gaussian noise, and the chance that something only one user has is found."""

    mu: float
    disclosure: float

    def under(self, neighbours: Neighbours) -> Cost:
        """What it costs if neighbours replace a user: √2 times the noise's μ, twice the items by chance."""
        if neighbours is Neighbours.ADD_REMOVE:
            return self
        if self.mu == float("inf"):
            return self
        mu = round_up(root_above(2 * Fraction(self.mu) ** 2))
        return Cost(mu, min(1.0, 2 * self.disclosure))

    def delta(self, epsilon: float) -> float:
        """δ at this ε, rounded up."""
        if self.mu == float("inf"):
            return 1.0
        return min(1.0, sum_up([lattice_delta(epsilon, self.mu), self.disclosure]))


def cost_of(schedule: RoundsSchedule, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Cost:
    """What carrying out the schedule costs."""
    return Cost(noise_mu(schedule), disclosure(schedule)).under(neighbours)


def noise_mu(schedule: RoundsSchedule) -> float:
    """μ, rounded up: every noise of the schedule counts, each by (what a user moves)²/(σ² - η²)."""
    moved = [(ONE, step.sigma) for step in schedule.rounds]
    if schedule.tally is not None:
        moved += [(ONE, schedule.tally.norm_sigma), (ONE, schedule.tally.sigma)]
    if any(sigma == 0 for _, sigma in moved):
        return float("inf")
    square = sum((Fraction(by**2, sigma**2 - ROUNDING**2) for by, sigma in moved), Fraction(0))
    return round_up(root_above(square))


def disclosure(schedule: RoundsSchedule) -> float:
    """Σ_r k₀·p_r, rounded up."""
    chances = [appearance(schedule, r) for r in range(1, len(schedule.rounds) + 1)]
    return min(1.0, round_up(schedule.held * sum(chances, Fraction(0))))


def tail_allowance(schedule: RoundsSchedule, r: int) -> int:
    """By how much rounding may lift a standing after ``r`` rounds."""
    return _TAIL * ROUNDING * sum(step.coefficient for step in schedule.rounds[:r])


def appearance(schedule: RoundsSchedule, r: int) -> Fraction:
    """p_r: a bound of the chance that an item of one user alone reaches the threshold of round ``r``.

    Its weight is at most ONE in each round, and its noise that of Σ coefficient_j·(normal of σ_j), rounded.
    """
    rounds = schedule.rounds[:r]
    if not rounds:
        raise ParameterError("rounds are numbered from 1.")
    weight = ONE * sum(step.coefficient for step in rounds)
    room = rounds[-1].threshold - weight - tail_allowance(schedule, r)
    variance = sum(step.coefficient**2 * step.sigma**2 for step in rounds)
    if variance == 0:
        return Fraction(int(rounds[-1].threshold <= weight))
    if room <= 0:
        return Fraction(1)
    # A smaller quotient has a larger tail: the width is rounded up.
    return min(Fraction(1), upper_tail(Fraction(room) / root_above(Fraction(variance))) + _STRAY)


def even_chance_at(schedule: RoundsSchedule) -> float:
    """An item whose holders give it all their weight, in every round, is found by half at so many of them."""
    needed = []
    for number, step in enumerate(schedule.rounds, start=1):
        weight = ONE * sum(each.coefficient for each in schedule.rounds[:number])
        needed.append(step.threshold / weight)
    return min(needed)
