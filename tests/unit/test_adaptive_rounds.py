"""Steered rounds without noise are exact, and with noise draw what the schedule says and nothing else."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.drawn import SeededRandomness

from tacit import InfeasibleError, ParameterError
from tacit.privacy import Neighbours
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.privacy.noise.samplers import discrete_gaussian
from tacit.release import execution as rounds
from tacit.release import execution as tallies
from tacit.release.execution import (
    Found,
    Holdings,
    count_once,
    cut_to,
    find,
    scores_of,
    stepped,
    take_tally,
)
from tacit.release.mechanisms.adaptive_planner import DEFAULT, plan_rounds, plan_single
from tacit.release.rounds_analysis import appearance, cost_of
from tacit.release.schedule import ONE, SCORES, AdaptiveRounds, Round, StepFunction
from tacit.release.weights import add_weights

SOURCE = OperatingSystemRandomness()


def holdings_of(sets: list[list[int]], kinds: int) -> Holdings:
    starts = np.concatenate([[0], np.cumsum([len(held) for held in sets])]).astype(np.int64)
    items = np.array([item for held in sets for item in held], dtype=np.int32)
    return Holdings(starts, items, kinds)


def random_sets(seed: int, users: int = 60, kinds: int = 12) -> list[list[int]]:
    generator = np.random.default_rng(seed)
    return [
        generator.choice(kinds, size=generator.integers(0, kinds), replace=False).tolist()
        for _ in range(users)
    ]


def quiet(schedule: AdaptiveRounds) -> AdaptiveRounds:
    """The same without noise."""
    tally = schedule.tally and replace(schedule.tally, users_sigma=0, sigma=0, squares_sigma=0)
    return replace(schedule, rounds=tuple(replace(step, sigma=0) for step in schedule.rounds), tally=tally)


def by_hand(schedule: AdaptiveRounds, sets: list[list[int]], words: list[int]) -> dict[int, int]:
    """Found items and their rounds, in Python's own whole numbers, for noise switched off."""
    scores = [SCORES[min(number, 6) - 1] for number in words]
    values = {item: 255 * scores[item] for held in sets for item in held}
    standing = dict.fromkeys(values, 0)
    found: dict[int, int] = {}
    for number, step in enumerate(schedule.rounds, start=1):
        weights = dict.fromkeys(values, 0)
        for held in sets:
            square = sum(values[item] ** 2 for item in held if item in values)
            for item in held:
                if item in values:
                    weights[item] += math.isqrt((values[item] ** 2 << 32) // square)
        following = {}
        for item in values:
            standing[item] += step.coefficient * weights[item]
            if standing[item] >= step.threshold:
                found[item] = number
            elif step.steering is not None:
                reached = [
                    v for cut, v in zip(step.steering.cuts, step.steering.values, strict=True)
                    if standing[item] >= cut
                ]  # fmt: skip
                if reached and reached[-1] > 0:
                    following[item] = reached[-1] * scores[item]
        values = following
    return found


@pytest.mark.parametrize("seed", range(6))
def test_without_noise_the_rounds_are_those_worked_out_by_hand(seed: int) -> None:
    sets = random_sets(seed)
    steering = StepFunction((5 * ONE, 8 * ONE, 9 * ONE), (40, 255, 0))
    schedule = AdaptiveRounds(
        12,
        (
            Round(0, 1, 10 * ONE, steering),
            Round(0, 2, 30 * ONE, StepFunction((1,), (7,))),
            Round(0, 3, 70 * ONE),
        ),
    )
    words = [1 + item % 8 for item in range(12)]
    log = replace(holdings_of(sets, 12), words=np.array(words, np.uint8))
    found = find(schedule, log, SOURCE)
    rounds_of = dict(zip(found.items.tolist(), found.rounds.tolist(), strict=True))
    assert rounds_of == by_hand(schedule, sets, words)


def test_an_item_is_found_at_its_threshold_and_not_below() -> None:
    """Five users, one item each: a weight of exactly 5."""
    log = holdings_of([[0]] * 5, 1)
    assert find(AdaptiveRounds(1, (Round(0, 1, 5 * ONE),)), log, SOURCE).items.tolist() == [0]
    assert find(AdaptiveRounds(1, (Round(0, 1, 5 * ONE + 1),)), log, SOURCE).items.tolist() == []


def test_what_is_out_once_is_never_found() -> None:
    schedule = AdaptiveRounds(2, (Round(0, 1, 1 << 40, StepFunction((100 * ONE,), (255,))), Round(0, 1, 0)))
    assert find(schedule, holdings_of([[0, 1]] * 3, 2), SOURCE).items.size == 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("least", [0, 90_000])
def test_no_user_weighs_more_than_one(seed: int, least: int) -> None:
    """Σ w² ≤ 2^32 for whatever values: that is the sensitivity of every round."""
    generator = np.random.default_rng(seed)
    for _ in range(300):
        size = int(generator.integers(1, 60))
        values = generator.integers(0, 256, size).astype(np.uint16)
        totals = np.zeros(size, dtype=np.int64)
        user = holdings_of([list(range(size))], size)
        add_weights(user.starts, user.items, values, least, totals)
        assert (totals**2).sum() <= 1 << 32
        assert (totals[values == 0] == 0).all()
        if least == 0 and values.any():
            assert (totals**2).sum() > (1 << 32) * (1 - size / 2**12)


@pytest.mark.parametrize("scored", [False, True])
def test_lots_that_are_alike_are_drawn_again(scored: bool) -> None:
    drawn = list[int]()

    class Alike(OperatingSystemRandomness):
        """Draws the same for all at first."""

        def words(self, n: int) -> np.ndarray:
            drawn.append(n)
            return np.full(n, 7, np.uint64) if len(drawn) < 3 else SOURCE.words(n)

    held = holdings_of([list(range(9)), list(range(5, 15)), [1]], 15)
    cut = cut_to(held, 4, Alike(), np.ones(15, np.uint16) if scored else None)
    assert drawn == [19] * 3
    assert np.diff(cut.starts).tolist() == [4, 4, 1]


def test_users_keep_a_fair_choice_of_their_own_items() -> None:
    """α = 1e-8: of 30 items 10 stay, each as often as the others; who has few keeps all."""
    log = holdings_of([list(range(30))] * 4000 + [[30, 31]], 32)
    cut = cut_to(log, 10, SOURCE)
    sizes = np.diff(cut.starts)
    assert sizes[:-1].tolist() == [10] * 4000 and cut.items[cut.starts[-2] :].tolist() == [30, 31]
    for user in range(0, 4000, 500):
        own = cut.items[cut.starts[user] : cut.starts[user + 1]]
        assert len(set(own.tolist())) == 10
    kept = np.bincount(cut.items, minlength=32)[:30]
    # Drawn without putting back, so the counts vary less than the chi-square test expects: a factor 2/3.
    assert stats.chi2.sf(((kept - 4000 / 3) ** 2 / (4000 / 3)).sum() / (2 / 3), 29) > 1e-8


def test_the_shortest_items_take_part_first_and_by_lot_among_equals() -> None:
    """α = 1e-8 for the lot; whoever else is in the log changes nothing."""
    words = np.array([3] * 10 + [1] * 4 + [2] * 10, np.uint8)
    crowd = holdings_of([list(range(24))] * 4000 + [[0, 1, 2]], 24)
    for log in (crowd, holdings_of([list(range(24))], 24)):
        held = replace(log, words=words)
        scores = scores_of(plan_rounds(1.0, 1e-6, 9), held, np.zeros(24, np.bool_))
        cut = cut_to(held, 9, SOURCE, scores)
        for user in range(min(4000, log.starts.size - 1)):
            own = cut.items[cut.starts[user] : cut.starts[user + 1]]
            assert sorted(words[own].tolist()) == [1] * 4 + [2] * 5
        if log is crowd:
            kept = np.bincount(cut.items, minlength=24)
            assert cut.items[cut.starts[-2] :].tolist() == [0, 1, 2]  # who has few keeps all
            assert stats.chi2.sf(((kept[14:] - 2000) ** 2 / 2000).sum() / (5 / 9), 9) > 1e-8


def test_rounds_cut_by_the_texts_and_a_single_count_by_lot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users have thirty long items each and twenty short ones in common: rounds of twenty find the short."""
    log = holdings_of([[*range(20), *range(20 + 30 * u, 50 + 30 * u)] for u in range(100)], 20 + 3000)
    held = replace(log, words=np.array([1] * 20 + [4] * 3000, np.uint8))
    found = find(quiet(plan_rounds(1.0, 1e-3, 20)), held, SOURCE)
    assert sorted(found.items.tolist()) == list(range(20))
    monkeypatch.setattr(rounds, "capped_laplace", lambda *given: np.zeros(given[3], np.int64))
    single = replace(plan_single(1.0, 1e-3, 20), least=1)
    _, counts = count_once(single, held, SOURCE)
    assert 0 < counts.max() < 70  # a sample of 100


@pytest.mark.parametrize("size", [6, 7, 8, 13, 14, 15])
def test_nobody_keeps_more_items_than_are_charged(size: int) -> None:
    cut = cut_to(holdings_of([list(range(size)), list(range(3))], 30), 7, SOURCE)
    assert np.diff(cut.starts).tolist() == [min(size, 7), 3]


def test_a_bound_that_is_one_too_large_is_noticed() -> None:
    cut = cut_to(holdings_of([list(range(30))] * 50, 30), 7, SOURCE)
    assert np.diff(cut.starts).max() == 7


class Recorder:
    """Stands in the place of the sampler: draws, and notes what was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, int]] = []

    def __call__(self, sigma: float, size: int, source: object) -> np.ndarray:
        self.asked.append((sigma, size))
        return discrete_gaussian(sigma, size, SOURCE)


@pytest.mark.parametrize("keys_only", [True, False])
def test_every_noise_that_is_drawn_is_in_the_schedule_and_in_its_cost(
    keys_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    monkeypatch.setattr(rounds, "discrete_gaussian", recorder)
    monkeypatch.setattr(tallies, "discrete_gaussian", recorder)
    schedule = plan_rounds(1.0, 1e-3, 20, keys_only=keys_only)
    log = holdings_of([[0, 1, 2]] * 400 + [[item] for item in range(3, 100)], 100)
    found = find(schedule, log, SOURCE)
    if schedule.tally is not None:
        take_tally(schedule.tally, log, found, SOURCE)
    drawn = [sigma for sigma, _ in recorder.asked]
    expected = [step.sigma for step in schedule.rounds]
    moved = [ONE] * len(expected)
    if schedule.tally is not None:
        expected += schedule.tally.sigmas
        moved += [ONE, ONE, ONE]
    assert drawn == expected
    assert recorder.asked[0][1] == 100, "every item that somebody holds has noise in the first round"
    square = sum(by**2 / (sigma**2 - 4) for by, sigma in zip(moved, drawn, strict=True))
    assert cost_of(schedule).mu == pytest.approx(math.sqrt(square), rel=1e-12)
    assert cost_of(schedule).mu >= math.sqrt(square) * (1 - 1e-15)


@pytest.mark.parametrize(("factor", "right"), [(1.0, True), (0.7, False), (1.3, False)])
def test_the_noise_of_a_round_has_the_width_of_the_schedule(factor: float, right: bool) -> None:
    """α = 1e-8: everything is found at once, with its noisy weight; 30% more or less is told apart."""
    schedule = AdaptiveRounds(1, (Round(round(3.3 * ONE * factor), 1, -(1 << 60)),))
    found = find(schedule, holdings_of([[item] for item in range(50_000)], 50_000), SOURCE)
    noise = (found.first - ONE) / (3.3 * ONE)
    p = stats.kstest(noise, "norm").pvalue
    assert bool(p > 1e-8) is right


def test_the_first_noisy_weight_goes_with_its_item() -> None:
    schedule = AdaptiveRounds(1, (Round(0, 1, 2 * ONE, StepFunction((-1,), (255,))), Round(0, 1, 3 * ONE)))
    log = holdings_of([[0]] * 5 + [[1]] + [[2]] * 2, 3)
    found = find(schedule, log, SOURCE)
    assert found.items.tolist() == [0, 2] and found.first.tolist() == [5 * ONE, 2 * ONE]


@pytest.mark.parametrize("seed", range(3))
def test_without_noise_a_single_key_is_exact_and_several_are_in_the_mean(seed: int) -> None:
    """One key: its count. Several: the sum of counts, weighted as in counting, is that of squared norms."""
    tally = quiet(plan_rounds(1.0, 1e-6, 100)).tally
    assert tally is not None
    sets = random_sets(seed, users=500)
    alone = take_tally(tally, holdings_of(sets, 12), found_at([3], [40 * ONE]), SOURCE)
    assert alone.counts.tolist() == [sum(3 in held for held in sets)]
    found = found_at(list(range(12)), [(5 + 9 * item) * ONE for item in range(12)])
    counted = take_tally(tally, holdings_of(sets, 12), found, SOURCE)
    squares = stepped(tally.weighing, found.first).astype(np.int64) ** 2
    whole = sum(int(squares[item]) for held in sets for item in held)
    assert (counted.counts * squares).sum() == pytest.approx(whole, rel=2e-3)


def found_at(items: list[int], first: list[int]) -> Found:
    return Found(np.array(items), np.array(first), np.ones(len(items), np.int64))


@pytest.mark.parametrize(("factor", "right"), [(1.0, True), (0.7, False), (1.3, False)])
def test_a_count_is_off_by_the_deviation_that_is_stated(factor: float, right: bool) -> None:
    """α = 1e-8: 3,000 keys, each of 500 users of one key; clipping has nothing to clip."""
    schedule = plan_rounds(1.0, 1e-6, 1)
    assert schedule.tally is not None
    holders = np.repeat(np.arange(3000), 500)
    log = Holdings(np.arange(holders.size + 1), holders.astype(np.int32), 3000)
    found = find(schedule, log, SOURCE)
    assert found.items.size == 3000
    drawn = replace(schedule.tally, sigma=round(schedule.tally.sigma * factor))
    counted = take_tally(drawn, log, found, SOURCE)
    noise = np.sqrt(counted.deviations**2 - (counted.counts / 10) ** 2)
    assert abs(counted.counts.mean() / 500 - 1) < 0.3, "all by one factor, by the noise of squared norms"
    z = (counted.counts - counted.counts.mean()) / (noise / factor)
    p = stats.kstest(z, "norm").pvalue
    assert bool(p > 1e-8) is right


def test_counts_of_clipped_users_are_put_right_where_items_fall_independently() -> None:
    """Lognormal users over 80 keys, all popular: the median error is under 10% (5% in 8 runs)."""
    generator = np.random.default_rng(5)
    activity = np.exp(generator.normal(1.0, 1.0, 60_000))
    sizes = np.minimum(generator.poisson(activity), 80)
    chances = np.arange(1, 81) ** -0.8
    sets = [np.unique(generator.choice(80, size=size, p=chances / chances.sum())).tolist() for size in sizes]
    log = holdings_of(sets, 80)
    schedule = plan_rounds(1.0, 1e-6, 100)
    assert schedule.tally is not None
    found = find(schedule, log, SOURCE)
    assert found.items.size > 70
    counted = take_tally(schedule.tally, log, found, SOURCE)
    true = np.bincount(log.items, minlength=80)[found.items]
    assert abs(np.median(counted.counts / true) - 1) < 0.1


def test_a_step_function_takes_the_value_from_its_cut_on() -> None:
    steps = StepFunction((-5, 0, 10), (3, 0, 200))
    numbers = np.array([-6, -5, -1, 0, 9, 10, 1 << 40])
    assert stepped(steps, numbers).tolist() == [0, 3, 3, 0, 0, 200, 200]


def test_an_empty_log_has_nothing_to_find() -> None:
    schedule = plan_rounds(1.0, 1e-6, 100)
    assert schedule.tally is not None
    log = holdings_of([[]], 0)
    found = find(schedule, log, SOURCE)
    assert found.items.size == 0
    assert take_tally(schedule.tally, log, found, SOURCE).counts.size == 0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("held", [1, 5, 100])
@pytest.mark.parametrize("keys_only", [True, False])
def test_a_plan_spends_what_it_may_and_no_more(
    epsilon: float, delta: float, held: int, keys_only: bool
) -> None:
    schedule = plan_rounds(epsilon, delta, held, keys_only=keys_only)
    spent = cost_of(schedule).delta(epsilon)
    assert 0.995 * delta < spent <= delta
    assert len(schedule.rounds) == (1 if held == 1 else DEFAULT.rounds)
    for r, step in enumerate(schedule.rounds):
        weaker = replace(step, threshold=step.threshold - step.threshold // 200)
        mutant = replace(schedule, rounds=(*schedule.rounds[:r], weaker, *schedule.rounds[r + 1 :]))
        assert cost_of(mutant).disclosure > cost_of(schedule).disclosure
        weaker = replace(step, sigma=step.sigma // 2)
        mutant = replace(schedule, rounds=(*schedule.rounds[:r], weaker, *schedule.rounds[r + 1 :]))
        assert cost_of(mutant).delta(epsilon) > delta
    assert cost_of(replace(schedule, held=held + 1)).delta(epsilon) > spent


def test_the_chance_of_an_own_item_leaves_room_for_rounding_to_whole_numbers() -> None:
    """Twelve times η = 2 for each coefficient, and 10^-28 for what lies beyond that."""
    schedule = plan_rounds(1.0, 1e-6, 50)
    for number in range(1, len(schedule.rounds) + 1):
        until = schedule.rounds[:number]
        coefficients = sum(step.coefficient for step in until)
        width = math.sqrt(sum((step.coefficient * step.sigma) ** 2 for step in until))
        room = until[-1].threshold - (ONE + 24) * coefficients
        chance = float(appearance(schedule, number))
        assert chance == pytest.approx(float(stats.norm.sf(room / width)), rel=1e-9)
    far = AdaptiveRounds(1, (Round(10 * ONE, 1, 10_000 * ONE),))
    assert appearance(far, 1) >= Fraction(1, 10**28)


def test_replacing_a_user_costs_more_noise_and_a_higher_threshold() -> None:
    """Two vectors without a common item differ by √2; both may have items of their own."""
    usual = plan_rounds(1.0, 1e-6, 50)
    replacing = plan_rounds(1.0, 1e-6, 50, neighbours=Neighbours.REPLACE)
    assert 0.995e-6 < cost_of(replacing, Neighbours.REPLACE).delta(1.0) <= 1e-6
    assert cost_of(usual, Neighbours.REPLACE).delta(1.0) > 1e-5
    for one, other in zip(usual.rounds, replacing.rounds, strict=True):
        assert other.sigma == pytest.approx(one.sigma * math.sqrt(2), rel=1e-6)


def test_wrong_schedules_and_hopeless_plans_are_refused() -> None:
    with pytest.raises(ParameterError, match="steers"):
        AdaptiveRounds(1, (Round(9, 1, 1), Round(9, 1, 1)))
    with pytest.raises(ParameterError, match="sigma"):
        Round(2, 1, 1)
    with pytest.raises(ParameterError, match="increase"):
        StepFunction((1, 1), (1, 1))
    with pytest.raises(ParameterError, match="relative weight"):
        StepFunction((1,), (256,))
    with pytest.raises((InfeasibleError, ParameterError)):
        plan_rounds(1.0, 0.0, 5)


def test_without_noise_nothing_is_promised() -> None:
    assert cost_of(quiet(plan_rounds(1.0, 1e-6, 5))).delta(100.0) == 1.0


def test_seeded_runs_repeat() -> None:
    schedule = plan_rounds(1.0, 1e-3, 20)
    log = holdings_of(random_sets(3, users=900), 12)
    one, two = (find(schedule, log, SeededRandomness(4)) for _ in range(2))
    assert one.items.tolist() == two.items.tolist()


@pytest.mark.parametrize("delta", [9e-21, 1e-23, 1e-27, 1e-300])
def test_a_delta_too_small_is_refused_without_a_long_search(
    delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forged manifest may ask for any δ; whoever verifies it must not wait for what there is not."""
    from tacit.release.mechanisms import adaptive_planner

    tried: list[int] = []

    def counted(schedule: AdaptiveRounds, r: int) -> Fraction:
        tried.append(r)
        return appearance(schedule, r)

    monkeypatch.setattr(adaptive_planner, "appearance", counted)
    with pytest.raises(InfeasibleError, match="delta"):
        plan_rounds(1.0, delta, 200)
    assert len(tried) < 100
