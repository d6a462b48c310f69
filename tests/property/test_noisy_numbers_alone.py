"""What is published is a function of noisy numbers alone, and one user moves each by one unit at most.

Noise meets the numbers of a log in one place (``execution.with_noise``). Here numbers written beforehand
stand in the place of the sum. Logs that differ in everything but their keys then publish the same; and of two
neighbouring logs, the numbers that came to that place differ by a vector of norm at most one unit, in every
draw: the central step of the proof (docs/guarantees/adaptive.md). Careless variants fail one or the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawn import SeededRandomness

import tacit
from tacit.release import execution
from tacit.release.execution import Holdings, SelectedItems, execute, select
from tacit.release.mechanisms.adaptive_planner import plan_rounds
from tacit.release.schedule import ONE, AdaptiveRounds, Keys, Part, Schedule

KINDS = 12
ROUNDS = plan_rounds(1.0, 1e-3, KINDS)
LISTED = plan_rounds(1.0, 1e-3, KINDS, listed=6)
STRICT = plan_rounds(1.0, 1e-6, 200, listed=2_000)
"""Every threshold of the list lies below the one of others, and above what is out."""


@contextmanager
def scripted(seed: int, most: int = 80) -> Iterator[list[np.ndarray]]:
    """Numbers from a script in the place of noisy ones; gives what the log had there, draw by draw."""
    seen: list[np.ndarray] = []

    def with_noise(numbers: np.ndarray, noise: np.ndarray) -> np.ndarray:
        assert noise.shape == numbers.shape
        seen.append(numbers.astype(np.int64))
        written = np.random.default_rng((seed, len(seen))).integers(-2, most, 400)
        return (ONE if most == 80 else 1) * written[: numbers.size]

    with mock.patch.object(execution, "with_noise", with_noise):
        yield seen


def holdings_of(sets: list[list[int]]) -> Holdings:
    starts = np.concatenate([[0], np.cumsum([len(held) for held in sets])]).astype(np.int64)
    items = np.array([item for held in sets for item in held], dtype=np.int32)
    words = (1 + np.arange(KINDS) % 4).astype(np.uint8)
    return Holdings(starts, items, KINDS, words, listed=np.arange(KINDS) >= KINDS - 6)


def users(seed: int, number: int) -> list[list[int]]:
    """Users of all items but the last, each held by somebody; the last is on the list, and nobody's."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 5, number)
    return [
        [user % (KINDS - 1)] if user < KINDS else random.permutation(KINDS - 1)[:size].tolist()
        for user, size in enumerate(sizes.tolist())
    ]


def found_by(schedule: AdaptiveRounds, sets: list[list[int]], seed: int) -> tuple[SelectedItems, Any]:
    with scripted(seed) as seen:
        return select(schedule, holdings_of(sets), SeededRandomness(1)), seen


def publishes_noisy_numbers_alone(schedule: AdaptiveRounds, seed: int) -> None:
    """Another number of other users, the same items: the same table."""
    one, seen = found_by(schedule, users(seed, 40), seed)
    two, others = found_by(schedule, users(seed + 1, 300), seed)
    assert len(seen) == len(others) and not np.array_equal(seen[0], others[0])
    for name in ("items", "counts", "deviations", "below"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), f"{name} have something else"


def moves_by_one_unit(schedule: AdaptiveRounds, seed: int) -> None:
    """A user more, with every item: what came to the noise differs by a vector of norm one unit, at most."""
    log = users(seed, 60)
    found, without = found_by(schedule, log, seed)
    _, with_user = found_by(schedule, [*log, list(range(KINDS - 1))], seed)
    assert found.items.size > 2 and len(without) == len(schedule.rounds) + 3
    for number, (one, two) in enumerate(zip(without, with_user, strict=True), start=1):
        assert one.size == two.size, f"draw {number}: other items get noise"
        moved = sum(int(difference) ** 2 for difference in (two - one).tolist())
        assert moved <= ONE**2, f"draw {number} is moved by {moved**0.5 / ONE:.3f} units"


def draws_for_all_that_are_listed(schedule: AdaptiveRounds, seed: int) -> None:
    """Listed keys get noise whoever holds them, or nobody."""
    sizes = []
    for sets in (users(seed, 60), [[0], [1]]):
        _, seen = found_by(schedule, sets, seed)
        sizes.append(seen[0].size)
    assert sizes == [KINDS, 2 + 6]


SCHEDULES = pytest.mark.parametrize("schedule", [ROUNDS, LISTED], ids=["rounds", "with a list"])


@SCHEDULES
@pytest.mark.parametrize("seed", range(12))
def test_rounds_and_counts_publish_noisy_numbers_alone(schedule: AdaptiveRounds, seed: int) -> None:
    publishes_noisy_numbers_alone(schedule, seed)


@SCHEDULES
@pytest.mark.parametrize("seed", range(12))
def test_a_user_moves_what_gets_noise_by_one_unit_at_most(schedule: AdaptiveRounds, seed: int) -> None:
    moves_by_one_unit(schedule, seed)


def test_listed_keys_get_noise_whether_anybody_holds_them_or_not() -> None:
    draws_for_all_that_are_listed(LISTED, 1)


@pytest.mark.parametrize("number", range(len(STRICT.rounds)))
def test_only_listed_keys_have_the_threshold_of_the_list(number: int) -> None:
    """Keys that stand at that threshold, in each round: those on the list are found there, others are not."""
    assert STRICT.public is not None
    standing, calls = 0, 0

    def with_noise(numbers: np.ndarray, noise: np.ndarray) -> np.ndarray:
        nonlocal standing, calls
        del noise
        step, line = STRICT.rounds[calls], STRICT.public.thresholds[calls]
        calls += 1
        last = calls > number
        wanted = -(-(line - standing) // step.coefficient) - (0 if last else 1)
        wanted = wanted if calls <= number + 1 else -(1 << 40)
        standing += step.coefficient * wanted
        return np.full(numbers.size, wanted)

    with mock.patch.object(execution, "with_noise", with_noise):
        found = execution.find(STRICT, holdings_of(users(1, 60)), SeededRandomness(1))
    assert sorted(found.items.tolist()) == list(range(KINDS - 6, KINDS))
    assert set(found.rounds.tolist()) == {number + 1}


def test_a_user_at_the_limits_of_64_bits_weighs_one() -> None:
    """The largest values and scores on many items, against whole numbers without bounds."""
    from tacit.release.weights import add_weights

    items = np.arange(100_000, dtype=np.int32)
    values = np.full(items.size, 255 * 64, np.uint16)
    totals = np.zeros(items.size, np.int64)
    add_weights(np.array([0, items.size]), items, values, 0, totals)
    square = (255 * 64) ** 2
    assert square << 32 < 1 << 61
    expected = int((((square << 32) // (square * items.size)) ** 0.5) + 1e-9)
    assert set(totals.tolist()) == {expected} and sum(int(x) ** 2 for x in totals) <= ONE**2


def _true_users(number: int, sigma: int, source: Any) -> int:
    """The number of users and T as they are."""
    return int(execution.with_noise(np.array([number]), np.zeros(1, np.int64))[0] * 0) + number


def _learned(schedule: AdaptiveRounds, holdings: Holdings, listed: Any) -> np.ndarray:
    """Scores that follow how many users hold an item."""
    held = np.bincount(holdings.items, minlength=holdings.kinds)
    return np.clip(64 * held // held.max(), 1, 64).astype(np.uint16)


def _not_clipped(schedule: Any, holdings: Any, found: Any, source: Any) -> Any:
    """Counts of which every user gives each found item whole."""
    real = execution.noisy_weights

    def whole(holdings: Any, values: Any, present: Any, sigma: int, source: Any, least: int = 0) -> Any:
        if not least:
            return real(holdings, values, present, sigma, source)
        totals = np.bincount(holdings.items, minlength=holdings.kinds) * ONE
        return execution.with_noise(totals[present], np.zeros(present.size, np.int64))

    with mock.patch.object(execution, "noisy_weights", whole):
        return TAKE_TALLY(schedule, holdings, found, source)


def _true_limit(schedule: Any, holdings: Any, found: Any, source: Any) -> Any:
    """The limit is the largest norm of the users themselves."""
    values = np.zeros(holdings.kinds, np.uint16)
    values[found.items] = execution.stepped(schedule.weighing, found.first)
    squares = np.zeros(holdings.starts.size - 1, np.int64)
    execution.squared_norms(holdings.starts, holdings.items, values, squares)
    with mock.patch.object(execution, "limit_of", return_value=int(squares.max())):
        return TAKE_TALLY(schedule, holdings, found, source)


def _only_held(schedule: AdaptiveRounds, holdings: Holdings, source: Any) -> Any:
    held = np.bincount(holdings.items, minlength=holdings.kinds) > 0
    return FIND(schedule, replace(holdings, listed=holdings.listed & held), source)


def _long_vectors(starts: Any, items: Any, values: Any, least: int, totals: np.ndarray) -> None:
    del starts, least
    np.add.at(totals, items, ONE * (values[items] > 0))


TAKE_TALLY, FIND = execution.take_tally, execution.find
CARELESS = {
    "the true number of users": (execution, "noisy_number", _true_users, publishes_noisy_numbers_alone),
    "scores learned from the log": (execution, "scores_of", _learned, moves_by_one_unit),
    "vectors not divided by their norm": (execution, "add_weights", _long_vectors, moves_by_one_unit),
    "counts that are not clipped": (execution, "take_tally", _not_clipped, moves_by_one_unit),
    "a limit from true norms": (execution, "take_tally", _true_limit, moves_by_one_unit),
    "squares that are not bounded": (
        execution,
        "bounded_parts",
        lambda squares, bound: squares * ONE * 16 // bound,
        moves_by_one_unit,
    ),
    "listed keys only if held": (execution, "find", _only_held, draws_for_all_that_are_listed),
}


@pytest.mark.parametrize("what", CARELESS)
def test_a_careless_variant_is_caught(what: str) -> None:
    where, name, careless, check = CARELESS[what]
    caught = 0
    with mock.patch.object(where, name, careless):
        for seed in range(12):
            try:
                check(LISTED, seed)
            except AssertionError:
                caught += 1
    assert caught


def test_leaving_the_cut_out_for_one_item_more_is_caught() -> None:
    """Of one item more than the bound, one takes no part."""
    whole = holdings_of([list(range(KINDS - 1))])
    cut = execution.cut_to(whole, KINDS - 2, SeededRandomness(1))
    assert np.diff(cut.starts).tolist() == [KINDS - 2]


def _counts(part: Part, seed: int) -> pa.Table:
    """The same keys with other counts, all of which take part."""
    random = np.random.default_rng(seed)
    least = max(1, part.minimum)
    names = [column.name for column in part.columns]
    texts = {name: [f"{name[0]} {number}" for number in range(50)] for name in names}
    table = pa.table({**texts, "count": random.integers(least, least + 300, 50)})
    return table.append_column("public", pa.array([True] * 50)) if part.keys is Keys.BOTH else table


PLANS = {
    "zealous": tacit.Zealous(epsilon=1, delta=1e-6),
    "zealous, exact loss": tacit.Zealous(epsilon=1, delta=1e-6, per_user=20),
    "click, pure": tacit.Click(epsilon=1, queries_per_user=3),
    "click, approximate": tacit.Click(epsilon=2, delta=1e-6, queries_per_user=3),
    "session": tacit.Session(epsilon=8, same_counts=False),
    "topics": tacit.Topics(epsilon=1),
}


@pytest.mark.parametrize("name", PLANS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_every_mechanism_publishes_noisy_numbers_alone(name: str, seed: int) -> None:
    schedule: Schedule = PLANS[name].plan().schedule
    parts = [part for part in schedule if not any(column.several for column in part.columns)]
    schedule = replace(schedule, parts=tuple(replace(part, within=()) for part in parts))
    made = []
    for other in (1, 2):
        with scripted(seed, most=2_000):
            counts = {part.table: _counts(part, seed + other) for part in schedule}
            made.append(execute(schedule, counts, SeededRandomness(1)))
    assert made[0] == made[1]
    assert name == "session" or any(table.num_rows for table in made[0].values())
