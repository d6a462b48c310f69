"""What adaptive rounds and single counts provably cost, computed from what is drawn and compared.

**Rounds.** Theorem (docs/guarantees/adaptive.md): carrying them out is (ε, δ)-differentially private for
adding or removing a user, at every ε ≥ 0, with

    δ = δ_lattice(ε; μ) + Σ_r k₀·p_r,      μ² = Σ 1/s², over all noise that is drawn,

where s is a noise's width in units of what one user moves, its rounding taken off, and p_r bounds the chance
that a given item that one user alone holds is found in round r.

**A single count** (there, "A single count"): with k₀ items a user, noise of scale b and neighbours by adding
or removing a user it is (k₀/b, k₀·q)-differentially private, q the larger of the chance of the largest noise
and of the chance that an item of one user alone is published. Replacing a user doubles ε alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from tacit.errors import ParameterError
from tacit.privacy.accounting.events import GaussianRounds
from tacit.privacy.accounting.loss import root_above, upper_tail
from tacit.privacy.arithmetic import ROUNDING, enclose_exponential, per_scale, round_up, sum_up
from tacit.privacy.guarantee import Neighbours
from tacit.release.schedule import ONE, AdaptiveRounds, SingleCount
from tacit.release.thresholds import smallest

TAIL = 12
"""Rounding to the integers moves a draw by less than this many η, but for a part of 10^-30."""

STRAY = Fraction(1, 10**28)
"""An upper bound of all that lies beyond: 10^-30 a draw and the lattice's factor e^a, for up to 50 rounds."""


@dataclass(frozen=True)
class Cost:
    """μ of all Gaussian noise, and the chance that something only one user has is found."""

    mu: float
    disclosure: float

    def under(self, neighbours: Neighbours) -> Cost:
        """Compute the cost if neighbours replace a user: √2 times μ, twice the items found by chance."""
        if neighbours is Neighbours.ADD_REMOVE or self.mu == math.inf:
            return self
        mu = round_up(root_above(2 * Fraction(self.mu) ** 2))
        return Cost(mu, min(1.0, 2 * self.disclosure))

    def delta(self, epsilon: float) -> float:
        """δ at this ε, rounded up, as a ledger is charged."""
        return GaussianRounds(self.mu, self.disclosure, epsilon).guarantee.delta


def cost_of(schedule: AdaptiveRounds, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Cost:
    """Compute what carrying out the schedule costs."""
    return Cost(noise_mu(schedule), disclosure(schedule)).under(neighbours)


def noise_mu(schedule: AdaptiveRounds) -> float:
    """μ, rounded up: every noise of the schedule counts, each by (what a user moves)²/(σ² - η²)."""
    moved = [(ONE, step.sigma) for step in schedule.rounds]
    if schedule.tally is not None:
        moved += [(ONE, sigma) for sigma in schedule.tally.sigmas]
    if any(sigma == 0 for _, sigma in moved):
        return float("inf")
    square = sum((Fraction(by**2, sigma**2 - ROUNDING**2) for by, sigma in moved), Fraction(0))
    return round_up(root_above(square))


def disclosure(schedule: AdaptiveRounds) -> float:
    """Σ_r k₀·p_r, rounded up."""
    chances = [appearance(schedule, r) for r in range(1, len(schedule.rounds) + 1)]
    return min(1.0, round_up(schedule.held * sum(chances, Fraction(0))))


def tail_allowance(schedule: AdaptiveRounds, r: int) -> int:
    """Bound by how much rounding may lift a standing after ``r`` rounds."""
    return TAIL * ROUNDING * sum(step.coefficient for step in schedule.rounds[:r])


def appearance(schedule: AdaptiveRounds, r: int) -> Fraction:
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
    return min(Fraction(1), upper_tail(Fraction(room) / root_above(Fraction(variance))) + STRAY)


def even_chance_at(schedule: AdaptiveRounds) -> float:
    """An item whose holders give it all their weight, in every round, is found by half at so many of them."""
    weights = accumulate(ONE * step.coefficient for step in schedule.rounds)
    return min(step.threshold / weight for step, weight in zip(schedule.rounds, weights, strict=True))


def people_needed(schedule: AdaptiveRounds) -> float:
    """About how many people an item needs to be found by half, if they spread their weight as people do.

    2.3·z/μ, z the standard deviations from one user's weight to the last threshold and μ that of all noise;
    measured on logs of 1,000 to 20,000 users (benchmarks/expectation.py).
    """
    weight = ONE * sum(step.coefficient for step in schedule.rounds)
    width = math.sqrt(sum((step.coefficient * step.sigma) ** 2 for step in schedule.rounds))
    return 2.3 * (schedule.rounds[-1].threshold - weight) / width / noise_mu(schedule)


_BITS = 320
"""Of the enclosures; chances down to 10^-60 keep 30 digits."""


def _powers(schedule: SingleCount, exponent: int) -> tuple[Fraction, Fraction]:
    rate = Fraction(exponent) / Fraction(schedule.scale)
    low, high = enclose_exponential(rate, _BITS)
    return Fraction(low, 1 << _BITS), Fraction(high, 1 << _BITS)


def tail(schedule: SingleCount, reached: int) -> Fraction:
    """An upper bound of P(noise ≥ reached), exact to hundreds of bits.

    Without the cap it is u·a^reached for reached ≥ 0, and 1 - (1-u)·a^(-reached) below. The cap takes
    u·a^(most+1) from it, and from the whole.
    """
    upward = Fraction(schedule.upward)
    if reached > schedule.most:
        return Fraction(0)
    if not schedule.scale:
        return Fraction(int(reached <= 0))
    above_low, above_high = (upward * power for power in _powers(schedule, schedule.most + 1))
    if reached >= 0:
        high = upward * _powers(schedule, reached)[1] - above_low
    else:
        high = 1 - (1 - upward) * _powers(schedule, -reached)[0] - above_low
    return min(Fraction(1), high / (1 - above_high))


def single_disclosure(schedule: SingleCount) -> float:
    """δ = k₀·q, rounded up; q bounds the largest noise, and that an item of one user alone is published."""
    chance = max(tail(schedule, schedule.most), tail(schedule, schedule.least - 1))
    return min(1.0, round_up(schedule.held * chance))


def single_loss(schedule: SingleCount) -> Fraction | float:
    """ε = k₀/b for adding or removing a user; infinite without noise.

    Refused where the step between -1 and 0 tells more than all others.
    """
    if not schedule.scale:
        return math.inf
    upward, a = Fraction(schedule.upward), _powers(schedule, 1)[1]
    if upward * (1 + a) > 1 or a * (1 - upward) > upward:
        raise ParameterError.outside("the chance of noise above 0", schedule.upward, "in [a/(1+a), 1/(1+a)]")
    return per_scale(schedule.held, schedule.scale)


def single_even_chance_at(schedule: SingleCount) -> int:
    """The least number of users with which an item is published by half, or more."""
    return schedule.least + smallest(lambda more: tail(schedule, -more) >= Fraction(1, 2))


def single_deviation(schedule: SingleCount) -> float:
    """The standard deviation of the noise, its cap left out."""
    if not schedule.scale:
        return 0.0
    a, u = math.exp(-1 / schedule.scale), schedule.upward
    mean, square = a / (1 - a), a * (1 + a) / (1 - a) ** 2
    whole = u * mean - (1 - u) * (1 + mean)
    return math.sqrt(u * square + (1 - u) * (1 + 2 * mean + square) - whole**2)


def single_delta(schedule: SingleCount, epsilon: float, neighbours: Neighbours) -> float:
    """δ at the ε of the noise; nothing is promised below it."""
    needed = neighbours.users_changed * sum_up([single_loss(schedule)])
    return single_disclosure(schedule) if needed <= epsilon else 1.0
