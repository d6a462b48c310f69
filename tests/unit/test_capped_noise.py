"""Laplace noise with a bound: exact chances, the largest value's to many digits, and none better."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats
from tests.rounds_checks import chances_of

from tacit import Adaptive, InfeasibleError, ParameterError
from tacit.privacy import Neighbours
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.privacy.noise.samplers import capped_laplace
from tacit.release.mechanisms import adaptive_planner as single_planner
from tacit.release.mechanisms.adaptive_planner import plan_single
from tacit.release.rounds_analysis import single_delta, tail
from tacit.release.rounds_analysis import single_deviation as deviation
from tacit.release.rounds_analysis import single_disclosure as disclosure
from tacit.release.rounds_analysis import single_even_chance_at as even_chance_at
from tacit.release.rounds_analysis import single_loss as loss
from tacit.release.schedule import SingleCount

SOURCE = OperatingSystemRandomness()
PLANS = [(0.1, 1e-6), (1.0, 1e-6), (1.0, 1e-3), (2.0, 1e-9), (8.0, 1e-5), (0.01, 0.05)]


@pytest.mark.parametrize(("factor", "right"), [(1.0, True), (0.7, False), (1.3, False)])
@pytest.mark.parametrize(("scale", "upward", "most"), [(2.0, 0.45, 3), (0.7, 0.3, 1), (30.0, 0.5, 400)])
def test_values_come_as_often_as_stated(
    scale: float, upward: float, most: int, factor: float, right: bool
) -> None:
    """α = 1e-8; 30% more or less noise is told apart."""
    drawn = capped_laplace(scale * factor, upward, most, 60_000, SOURCE)
    assert drawn.max() <= most
    chances = chances_of(SingleCount(1, scale, upward, most, most + 1))
    values = np.array(sorted(x for x, chance in chances.items() if chance * drawn.size > 10))
    seen = np.array([(drawn == x).sum() for x in values])
    expected = np.array([chances[int(x)] for x in values]) * drawn.size
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert bool(stats.chi2.sf(statistic, values.size) > 1e-8) is right


def test_noise_switched_off_and_bounds_that_cannot_be() -> None:
    assert capped_laplace(0, 0.5, 3, 5, SOURCE).tolist() == [0] * 5
    with pytest.raises(ParameterError, match="bound of the noise"):
        capped_laplace(1.0, 0.5, -1, 5, SOURCE)


@pytest.mark.parametrize(("epsilon", "delta"), PLANS)
def test_chances_are_bounded_from_above_to_many_digits(epsilon: float, delta: float) -> None:
    schedule = plan_single(epsilon, delta, 1)
    with mp.workdps(60):
        a, u = mp.exp(-1 / mpf(schedule.scale)), mpf(schedule.upward)
        whole = 1 - u * a ** (schedule.most + 1)
        for reached in (schedule.most, schedule.most - 1, 1, 0, -1, -7):
            if reached >= 0:
                exact = u * (a**reached - a ** (schedule.most + 1)) / whole
            else:
                exact = 1 - (1 - u) * a ** (-reached) / whole
            found = tail(schedule, reached)
            bound = mpf(found.numerator) / found.denominator
            assert exact * (1 - mpf(10) ** -50) <= bound <= exact * (1 + mpf(10) ** -20)


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("held", [1, 2, 5])
@pytest.mark.parametrize(("epsilon", "delta"), PLANS)
def test_a_plan_costs_what_was_asked_and_wastes_nothing(
    epsilon: float, delta: float, held: int, neighbours: Neighbours
) -> None:
    made = plan_single(epsilon, delta, held, neighbours=neighbours)
    assert made.least == made.most + 1
    assert neighbours.users_changed * float(loss(made)) <= epsilon
    assert 0.999 * delta <= disclosure(made) <= delta or made.most == 0


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (1.0, 1e-3), (3.0, 1e-8)])
def test_no_release_of_one_item_a_user_shows_more(epsilon: float, delta: float) -> None:
    """The largest chance that (ε, δ) admits for an item of n users, worked out step by step, is met to δ/ε.

    With chance s for n users, n + 1 may have e^ε·s + δ, and its complement must be e^-ε(1 - s - δ) or more.
    """
    made = plan_single(epsilon, delta, 1)
    largest = 0.0
    for users in range(1, 3 * made.least):
        largest = min(
            math.exp(epsilon) * largest + delta, 1 - math.exp(-epsilon) * (1 - largest - delta), 1.0
        )
        ours = float(tail(made, made.least - users))
        assert ours <= largest * (1 + 1e-9)
        assert ours >= largest * (1 - 1e-4) - 2 * delta / (1 - math.exp(-epsilon))


def test_sides_that_tell_more_than_the_scale_are_refused() -> None:
    for upward in (0.2, 0.8):
        with pytest.raises(ParameterError, match="noise above 0"):
            loss(SingleCount(1, 1.0, upward, 13, 14))
    assert loss(SingleCount(1, 0.0, 0.5, 13, 14)) == math.inf


def test_which_way_is_taken_follows_from_public_numbers_alone() -> None:
    """One item a user: always a single count; two: with counts, at a small δ; from three on rounds."""
    for epsilon in (0.1, 1.0, 10.0):
        assert Adaptive(epsilon=epsilon, delta=1e-6, per_user=1).plan().single
        assert Adaptive(epsilon=epsilon, delta=1e-6, per_user=1, keys_only=True).plan().single
        assert not Adaptive(epsilon=epsilon, delta=1e-6, per_user=3).plan().single
        assert not Adaptive(epsilon=epsilon, delta=1e-6).plan().single
    assert Adaptive(epsilon=1.0, delta=1e-6, per_user=2).plan().single
    assert not Adaptive(epsilon=1.0, delta=1e-6, per_user=2, keys_only=True).plan().single


def test_what_is_said_of_an_even_chance_and_of_the_deviation_is_so() -> None:
    for epsilon, delta in PLANS:
        made = plan_single(epsilon, delta, 1)
        users = even_chance_at(made)
        assert tail(made, made.least - users) >= 0.5 > tail(made, made.least - users + 1)
        if delta < 1e-2:  # the cap changes the deviation by nothing to speak of
            chances = chances_of(made)
            mean = sum(x * p for x, p in chances.items())
            spread = math.sqrt(sum((x - mean) ** 2 * p for x, p in chances.items()))
            assert deviation(made) == pytest.approx(spread, rel=2e-2)


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("held", [1, 2, 3, 4])
def test_every_plan_is_made_in_a_few_steps(
    held: int, neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    def counted(schedule: SingleCount) -> float:
        nonlocal asked
        asked += 1
        return disclosure(schedule)

    monkeypatch.setattr(single_planner, "single_disclosure", counted)
    # 2.92 and its like leave the least chance of noise above 0 just below a ninth digit.
    for epsilon in (0.01, 0.37, 1.19, 2.92, 5.84, 6.29, 8.76, 9.91, 10.55, 11.13, 12.75, 13.65, 20.0, 30.0):
        for delta in (1e-3, 1e-6, 1e-9):
            asked = 0
            made = plan_single(epsilon, delta, held, neighbours=neighbours)
            assert asked <= 30 and disclosure(made) <= delta
    with pytest.raises(InfeasibleError, match="too small"):
        plan_single(1.0, 1e-100, held, neighbours=neighbours)


@pytest.mark.parametrize("least", [5, 13, 20])
def test_delta_pays_for_the_largest_noise_and_for_an_item_of_one_user(least: int) -> None:
    """Both by enumeration: below the cap the item is likelier, beyond it the largest noise is."""
    scale, upward, most, a = 2.0, 0.5, 12, math.exp(-0.5)
    chances = {x: (1 - a) / 2 * a ** (x if x >= 0 else -x - 1) for x in range(-400, most + 1)}

    def reached(noise: int) -> float:
        return sum(chance for x, chance in chances.items() if x >= noise) / sum(chances.values())

    found = disclosure(SingleCount(3, scale, upward, most, least))
    assert found == pytest.approx(3 * max(reached(most), reached(least - 1)), rel=1e-9)


def test_nothing_is_promised_below_the_epsilon_of_the_noise() -> None:
    """k₀/b for adding or removing a user, twice that for replacing one."""
    schedule = SingleCount(3, 2.0, 0.5, 12, 13)
    delta = disclosure(schedule)
    for neighbours, needed in ((Neighbours.ADD_REMOVE, 1.5), (Neighbours.REPLACE, 3.0)):
        assert single_delta(schedule, needed, neighbours) == delta
        assert single_delta(schedule, 0.99 * needed, neighbours) == 1.0
