"""From ε, δ and k₀ to a single noisy count of each item, and whether it finds more than steered rounds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from tacit.errors import InfeasibleError
from tacit.privacy import Neighbours
from tacit.release.adaptive.analysis import even_chance_at as even_chance_of_rounds_at
from tacit.release.adaptive.rounds_schedule import RoundsSchedule
from tacit.release.adaptive.single_analysis import disclosure, even_chance_at, loss
from tacit.release.adaptive.single_count import SingleCount
from tacit.release.planning.setting import noise_for

__all__ = ["finds_more", "plan_single"]

_DIGITS = 10**9
"""The chance of noise above 0 has nine digits, rounded down: the same on every machine."""

_STEPS_DOWN = 4
"""Of the last digit: more than what floating-point numbers may have been off by."""


def plan_single(
    epsilon: float, delta: float, held: int, *, neighbours: Neighbours = Neighbours.ADD_REMOVE
) -> SingleCount:
    """The least threshold, and for it the noise that lies highest, at a cost of (ε, δ)."""
    scale = noise_for(held * neighbours.histories, epsilon)
    a, step = math.exp(-1 / scale), -math.expm1(-1 / scale)
    lowest, highest = a / (1 + a), 1 / (1 + a)
    # q = u(1-a)a^h/(1-u·a^(h+1)) ≤ δ/k₀ at the smallest u gives h; then the largest u that holds with it.
    wanted = delta / held
    most = math.floor(scale * (math.log((step + wanted * a) / (1 + a)) - math.log(wanted)) - 1)
    for bound in range(max(0, most - 1), max(0, most - 1) + 5):
        sparse = math.log(wanted) - math.log(step + wanted * a) + bound / scale
        upward = min(highest, math.exp(min(0.0, sparse)))
        made = SingleCount(held, scale, _rounded(upward, lowest), bound, bound + 1)
        for _ in range(_STEPS_DOWN):
            lower = _rounded(made.upward - 1 / _DIGITS, lowest)
            if lower >= made.upward or disclosure(made) <= delta:
                break
            made = replace(made, upward=lower)
        if upward >= lowest and disclosure(made) <= delta and _sound(made):
            return made
    raise InfeasibleError(
        f"a delta of {delta!r} is too small for a count with noise at epsilon {epsilon!r}.",
        "Give a larger delta.",
    )


def _rounded(upward: float, lowest: float) -> float:
    """Down to nine digits; never below the least there may be, which is rounded up."""
    down = math.floor(upward * _DIGITS - 1e-3) / _DIGITS
    return max(down, math.ceil(lowest * _DIGITS + 1e-3) / _DIGITS)


def _sound(schedule: SingleCount) -> bool:
    """Whether the sides of the noise fit its scale, so that ε is k₀/b."""
    upward, a = Fraction(schedule.upward), Fraction(math.exp(-1 / schedule.scale))
    room = Fraction(1, 10**12)
    return upward * (1 + a) <= 1 - room and a * (1 - upward) <= upward - room and loss(schedule) > 0


def finds_more(single: SingleCount, rounds: RoundsSchedule) -> bool:
    """Whether a single count needs fewer users for an even chance than the rounds do at their very best.

    At their best, all who hold an item give it all their weight, in every round. All of it is public.
    """
    return even_chance_at(single) <= even_chance_of_rounds_at(rounds)
