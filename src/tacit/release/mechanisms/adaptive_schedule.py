"""Adaptive Gaussian rounds as data, and what they provably cost. Theorem and proof:
docs/guarantees/adaptive.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from tacit.errors import ParameterError
from tacit.privacy import Neighbours
from tacit.privacy.accounting.loss import ROUNDING, lattice_delta, root_above, upper_tail
from tacit.privacy.arithmetic import round_up, sum_up

ONE = 1 << 16
"""The largest norm of one user's weights in a round."""

LARGEST_VALUE = 255
"""Relative weights are whole numbers up to this."""


@dataclass(frozen=True)
class StepFunction:
    """A step function of an item's own noisy number: ``values[j]`` from ``cuts[j]`` on, 0 below the first."""

    cuts: tuple[int, ...]
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.cuts) != len(self.values) or not self.cuts:
            raise ParameterError("a step function has one value per cut, and at least one.")
        if any(a >= b for a, b in zip(self.cuts, self.cuts[1:], strict=False)):
            raise ParameterError("the cuts of a step function increase.")
        if not all(0 <= value <= LARGEST_VALUE for value in self.values):
            raise ParameterError.outside("a relative weight", max(self.values), f"from 0 to {LARGEST_VALUE}")


@dataclass(frozen=True)
class Round:
    """One round of selection.

    Args:
        sigma: of the discrete Gaussian noise, on the lattice.
        coefficient: with which the noisy weight enters the standing.
        threshold: the least standing at which an item is found in this round.
        steering: from the standing to the relative weight in the next round; None after the last.
    """

    sigma: int
    coefficient: int
    threshold: int
    steering: StepFunction | None = None

    def __post_init__(self) -> None:
        if self.sigma <= ROUNDING and self.sigma != 0:
            raise ParameterError.outside("sigma of a round", self.sigma, f"above {ROUNDING}")
        if self.coefficient < 1:
            raise ParameterError.outside("the coefficient of a round", self.coefficient, "at least 1")


@dataclass(frozen=True)
class TallySchedule:
    """How the found items are counted.

    Args:
        norm_sigma: of the noise on the histogram of users' norms, on the lattice: a user adds 2^16 to one
        cell.
        norm_edges: the cells' upper edges, norms in units of relative weight; the last one takes all above.
        covered: the part of users whose norm should lie within the limit that is chosen from that histogram.
        sigma: of the noise on the weighted counts, on the lattice.
        weighing: from an item's noisy weight in the first round to its relative weight in the count.
    """

    norm_sigma: int
    norm_edges: tuple[int, ...]
    covered: float
    sigma: int
    weighing: StepFunction

    def __post_init__(self) -> None:
        if not all(self.weighing.values):
            raise ParameterError("every found item has a weight in the count.")
        for sigma in (self.norm_sigma, self.sigma):
            if sigma <= ROUNDING and sigma != 0:
                raise ParameterError.outside("sigma of the counts", sigma, f"above {ROUNDING}")


@dataclass(frozen=True)
class RoundsSchedule:
    """All that is drawn and compared.

    Args:
        held: k₀, the most items of a user that take part in selection.
        rounds: of selection.
        tally: of the counts; None publishes keys alone.
    """

    held: int
    rounds: tuple[Round, ...]
    tally: TallySchedule | None = None

    def __post_init__(self) -> None:
        if self.held < 1 or not self.rounds:
            raise ParameterError("a selection needs at least one item per user, and one round.")
        if any(step.steering is None for step in self.rounds[:-1]) or self.rounds[-1].steering is not None:
            raise ParameterError("every round but the last steers the next.")

    def to_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return {
            "unit": ONE,
            "held": self.held,
            "rounds": [_listed(asdict(step)) for step in self.rounds],
            "tally": None if self.tally is None else _listed(asdict(self.tally)),
        }


def _listed(form: Mapping[str, Any]) -> dict[str, Any]:
    """Tuples as the lists that JSON has."""
    made: dict[str, Any] = {}
    for name, value in form.items():
        if isinstance(value, Mapping):
            made[name] = _listed(value)
        else:
            made[name] = list(value) if isinstance(value, tuple) else value
    return made


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
