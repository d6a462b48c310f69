"""What steered rounds promise, against what they do: neighbouring logs told apart by their output, by
running them.

Hundreds of thousands of runs at once: copies of a tiny log that have nothing in common (``copies``). The
chance to tell is estimated for every output and every ε tried, and must lie under what the schedule's
analysis states; where the bound is tight, it must also come near. Every careless variant
(tests/careless_rounds.py) must break the same bound by the same test. α: a real one fails with probability
under 1e-6 (six standard errors above the bound).
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.careless_rounds import Careless, careless_find
from tests.rounds_checks import holdings_of

from tacit.audit.replicas import copies
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.execution import find
from tacit.release.rounds_analysis import cost_of
from tacit.release.schedule import ONE, AdaptiveRounds, Round, StepFunction

SOURCE = OperatingSystemRandomness()
RUNS = 100_000
EPSILONS = (0.0, 0.2, 0.5, 1.0)
KEEP_ALL = StepFunction((-(1 << 60),), (255,))
Sets = list[list[int]]


def outputs(found: np.ndarray, kinds: int, runs: int) -> np.ndarray:
    """Which items each run found, as one number; of more than five kinds, how many."""
    code = np.zeros(runs, dtype=np.int64)
    if kinds > 5:
        np.add.at(code, found // kinds, 1)
    else:
        np.bitwise_or.at(code, found // kinds, 1 << (found % kinds))
    return code


def excess(one: np.ndarray, other: np.ndarray, epsilon: float) -> tuple[float, float]:
    """The largest of P(S) - e^ε·P'(S), and its standard error; S is chosen on one half, measured on the
    other.
    """
    half = one.size // 2
    size = int(max(one.max(), other.max())) + 1
    p, q = (np.bincount(x[:half], minlength=size) / half for x in (one, other))
    chosen = p > math.exp(epsilon) * q
    p_set, q_set = (float(chosen[x[half:]].mean()) for x in (one, other))
    error = math.sqrt((p_set * (1 - p_set) + math.exp(2 * epsilon) * q_set * (1 - q_set)) / half + 1e-12)
    return p_set - math.exp(epsilon) * q_set, error


def worst(
    schedule: AdaptiveRounds, log: Sets, user: list[int], kinds: int, careless: Careless | None = None
) -> float:
    """By how many standard errors the excess passes what is stated, at its worst over ε and both
    directions.
    """

    runs = min(RUNS, 6_000_000 // kinds)

    def run(sets: Sets) -> np.ndarray:
        whole = copies(holdings_of(sets, kinds), runs)
        if careless is None:
            return outputs(find(schedule, whole, SOURCE).items, kinds, runs)
        return outputs(careless_find(schedule, whole, SOURCE, careless), kinds, runs)

    without, with_user = run(log), run([*log, user])
    cost = cost_of(schedule)
    found = []
    for epsilon in EPSILONS:
        for one, other in ((without, with_user), (with_user, without)):
            value, error = excess(one, other, epsilon)
            found.append((value - cost.delta(epsilon)) / error)
    return max(found)


def schedule_of(
    held: int,
    *rounds: tuple[float, float],
    steering: StepFunction = KEEP_ALL,
    coefficients: tuple[int, ...] = (),
) -> AdaptiveRounds:
    """Rounds of (noise, threshold), both in units of what one user weighs."""
    last = len(rounds) - 1
    return AdaptiveRounds(
        held,
        tuple(
            Round(
                round(noise * ONE),
                coefficients[r] if coefficients else 1,
                round(threshold * ONE),
                None if r == last else steering,
            )
            for r, (noise, threshold) in enumerate(rounds)
        ),
    )


ONE_ROUND = schedule_of(1, (3.0, 12.0))
"""Item 0 held by about as many users as the threshold: the noise alone hides one more."""
TWO_ROUNDS = schedule_of(2, (4.0, 30.0), (4.0, 19.0))
STEERED = schedule_of(
    2,
    (4.0, 60.0),
    (4.0, 45.0),
    steering=StepFunction((-(1 << 60), round(20.0 * ONE)), (0, 255)),
    coefficients=(1, 1),
)
"""An item with a standing under 20 after the first round is out; the other item of its holders gets all."""
SEVERAL = schedule_of(16, (4.0, 12.0))
ALONE = schedule_of(1, (3.0, 1 + 6.0), (3.0, 2 + 11.0))
PRIVATE = schedule_of(4, (3.0, 11.0), (3.0, 14.0))


def shared(users: int, items: list[int]) -> Sets:
    return [list(items) for _ in range(users)]


CASES = {
    "one item, many holders": (ONE_ROUND, shared(12, [0]), [0], 1),
    "two rounds, two items": (TWO_ROUNDS, shared(13, [0, 1]), [0, 1], 2),
    "steering that one user may flip": (STEERED, shared(28, [0, 1]), [0, 1], 2),
    "items of one user alone": (PRIVATE, [[0]], [1, 2, 3, 4], 5),
    "many items of one user alone": (PRIVATE, [[0]], list(range(1, 161)), 161),
    "many shared items": (SEVERAL, shared(12, list(range(16))), list(range(16)), 16),
    "all weight on one item of one user alone": (ALONE, [[0]], [1], 2),
    "one item of one user alone": (PRIVATE, [[0]], [1], 2),
    "a shared item and some of one user alone": (PRIVATE, shared(11, [0]), [0, 1, 2], 3),
}


@pytest.mark.parametrize("case", CASES)
def test_no_output_tells_more_than_is_stated(case: str) -> None:
    assert worst(*CASES[case]) < 6


BREAKING = {
    Careless.NOT_CUT: "many items of one user alone",
    Careless.CUT_EACH_ROUND: "many items of one user alone",
    Careless.TRUE_STEERING: "steering that one user may flip",
    Careless.HALF_NOISE: "one item, many holders",
    Careless.LOW_THRESHOLD: "all weight on one item of one user alone",
    Careless.LONG_VECTORS: "many shared items",
}


@pytest.mark.parametrize("careless", BREAKING)
def test_the_same_test_catches_a_careless_variant(careless: Careless) -> None:
    assert worst(*CASES[BREAKING[careless]], careless) > 10


def test_noise_on_weighted_items_alone_is_caught() -> None:
    """In the second round all but the new user prefer item 1: item 0 has weight from that one alone."""
    steering = StepFunction((-(1 << 60), round(28.0 * ONE)), (100, 255))
    schedule = schedule_of(2, (1.5, 90.0), (8.0, 30.5), steering=steering)
    log = [*shared(20, [0, 1]), *shared(40, [1])]
    for careless, low, high in ((None, -math.inf, 6.0), (Careless.NOISE_WHERE_WEIGHTED, 12.0, math.inf)):
        assert low < worst(schedule, log, [0], 2, careless) < high


def test_the_bound_of_items_found_by_chance_is_tight() -> None:
    """One private item, all weight on it: what is stated is at most a fifth above what happens (α = 1e-6)."""
    stated = cost_of(ALONE).disclosure
    happens = find(ALONE, copies(holdings_of([[0]], 1), 400_000), SOURCE).items.size / 400_000
    error = math.sqrt(stated / 400_000)
    assert happens < stated + 5 * error
    assert happens > stated / 1.2


def test_a_round_that_is_not_charged_is_missed_by_the_bound() -> None:
    """What the analysis would state without one of the rounds lies under what happens."""
    happens = find(ALONE, copies(holdings_of([[0]], 1), 400_000), SOURCE).items.size / 400_000
    first = cost_of(schedule_of(1, (3.0, 1 + 6.0))).disclosure
    second = cost_of(ALONE).disclosure - first
    assert happens > first + 6 * math.sqrt(first / 400_000)
    assert happens > second + 6 * math.sqrt(second / 400_000)
