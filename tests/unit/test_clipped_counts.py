"""What a model and one noisy number make of clipped counts: right in the mean, and withheld where they say
nothing."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release import clipping
from tacit.release.clipping import MODEL_ERROR, TOLD_APART, Clipped, Counts, Holders, limit_of
from tacit.release.execution import Found, Holdings, take_tally
from tacit.release.mechanisms.adaptive_planner import plan_rounds
from tacit.release.schedule import ONE

SOURCE = OperatingSystemRandomness()
TALLY = plan_rounds(1.0, 1e-6, 100).tally
assert TALLY is not None


def log_of(users: int, seed: int, alike: bool) -> Holdings:
    """Users of lognormal activity over 300 items; ``alike``: active users prefer the same hundred."""
    generator = np.random.default_rng(seed)
    sizes = np.minimum(200, np.ceil(np.exp(1.2 * generator.standard_normal(users) + 1))).astype(int)
    popular = np.arange(1, 301) ** -0.5
    items = []
    for size in sizes.tolist():
        chances = popular * np.where(np.arange(300) < 100, 1 + 0.02 * size * alike, 1)
        items.append(generator.choice(300, size=size, replace=False, p=chances / chances.sum()))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Holdings(starts, np.concatenate(items).astype(np.int32), 300)


def found_in(holdings: Holdings) -> tuple[Found, np.ndarray]:
    truth = np.bincount(holdings.items, minlength=holdings.kinds)
    every = np.arange(holdings.kinds)
    return Found(every, 10 * truth.astype(np.int64) << 12, np.ones_like(every)), truth


@pytest.mark.parametrize("alike", [False, True])
def test_counts_are_right_in_the_mean(alike: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a tenth in all; without the sum of squared norms a log unlike the model is further off."""
    holdings = log_of(20_000, 2, alike)
    found, truth = found_in(holdings)

    def error() -> float:
        counts = [take_tally(TALLY, holdings, found, SOURCE).counts.sum() for _ in range(4)]
        return float(np.mean(counts) / truth.sum() - 1)

    with_squares = error()
    assert abs(with_squares) < 0.1
    monkeypatch.setattr(Clipped, "_squares", lambda self, bound: (0.0, np.inf))
    assert abs(error()) > abs(with_squares)


@pytest.mark.parametrize(("light", "heavy", "kinds"), [(3_000, 600, 60), (30_000, 3_000, 100)])
def test_no_count_is_larger_than_the_number_of_users_may_be(light: int, heavy: int, kinds: int) -> None:
    """Most hold one item alone, which a few with many hold too: its holders are not like those of others."""
    lists = [[0]] * light + [list(range(kinds))] * heavy
    starts = np.concatenate([[0], np.cumsum([len(each) for each in lists])]).astype(np.int64)
    holdings = Holdings(starts, np.concatenate(lists).astype(np.int32), kinds)
    counts = take_tally(TALLY, holdings, found_in(holdings)[0], SOURCE).counts
    assert counts.max() <= light + heavy + 8 * TALLY.users_sigma / ONE  # six deviations of the users' noise


def test_the_mean_over_the_holders_is_that_of_the_model_drawn() -> None:
    """Against 200,000 holders drawn by the model itself, within five standard errors."""
    random = np.random.default_rng(8)
    holders = Holders(rate=2.5, square=9_000.0, items=60)
    activity = np.exp(clipping._SPREAD * random.standard_normal(200_000) + clipping._SPREAD**2 / 2)
    others = np.minimum(random.poisson(2.5 * activity), 59)
    for square in (400.0, 65_025.0):
        norms = square + 9_000.0 * others
        for limit, power in ((9_000, 0.5), (40_000, 1.0)):
            drawn = np.minimum(1.0, limit / norms) ** power
            (found,) = holders.mean_part(np.array([square]), limit, power)
            assert found == pytest.approx(drawn.mean(), abs=0.003 + 5 * drawn.std() / 200_000**0.5)


def test_a_count_below_four_deviations_is_withheld_with_what_it_is_below() -> None:
    made = Counts(np.array([39, 40, 400]), np.array([10.0, 10.0, 10.0]))
    assert made.withheld.tolist() == [True, False, False]
    assert made.below.tolist() == [10 * (TOLD_APART + 2)] * 3
    assert made.deviations[2] == pytest.approx(np.hypot(10, 400 * MODEL_ERROR))


def test_the_order_of_items_plays_no_part() -> None:
    """Sums are rounded once, so counts of the same items in another order are the same to the last bit."""
    random = np.random.default_rng(4)
    weights = random.integers(20, 256, 300)
    numbers = random.integers(-2 * ONE, 400 * ONE, 300)
    order = random.permutation(300)
    one = Clipped(TALLY, weights, numbers, 5_000 * ONE)
    two = Clipped(TALLY, weights[order], numbers[order], 5_000 * ONE)
    assert one.bound_of_squares() == two.bound_of_squares()
    bound = one.bound_of_squares()
    first, second = one.put_right(bound, 900 * ONE), two.put_right(bound, 900 * ONE)
    assert first.counts[order].tolist() == second.counts.tolist()
    assert first.noise[order].tolist() == second.noise.tolist()


def test_the_limit_is_one_average_key() -> None:
    assert limit_of(np.array([3, 4])) == 12
    assert limit_of(np.array([255])) == 255**2
    assert limit_of(np.empty(0, np.int64)) == 1
