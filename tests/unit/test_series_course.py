"""A series between its steps against its definition: who holds what, standings, weights, numbers of names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import tacit
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.execution import stepped
from tacit.release.schedule import LARGEST_VALUE, SeriesRounds, StepFunction
from tacit.release.series import course as courses
from tacit.release.series import state
from tacit.release.series.course import Course, packed
from tacit.release.series.state import KeptCourse, SeriesKey, coded

SOURCE = OperatingSystemRandomness()
USERS, ITEMS = 20, 60


@pytest.fixture(scope="module")
def rounds() -> SeriesRounds:
    return tacit.Series(weeks=8, epsilon=8, delta=1e-4, count_every=2).plan().rounds


@pytest.mark.parametrize("alike", [False, True])
def test_nothing_joins_twice_and_all_else_joins_up_to_the_cut(
    rounds: SeriesRounds, monkeypatch: pytest.MonkeyPatch, alike: bool
) -> None:
    """Also where all pairs have one mark."""
    if alike:
        monkeypatch.setattr(courses, "_mark", lambda users, _: np.zeros(users.size, np.uint32))
    rounds = replace(rounds, joining=6, thresholds=((1 << 55,) * 3,) * rounds.rounds)  # nothing is found
    course, lots = Course(rounds), np.random.default_rng(3)
    held: dict[int, set[int]] = {user: set() for user in range(USERS)}
    course.make_room(USERS, np.ones(ITEMS, np.uint8))
    for week in range(1, 7):
        asked = np.unique(lots.integers((0, 0), (USERS, ITEMS), (90, 2)), axis=0)
        course.begin_week(packed(*lots.permutation(asked).T), SOURCE)
        joined = course.joined == week
        for user in range(USERS):
            new = set(asked[asked[:, 0] == user, 1].tolist()) - held[user]
            drawn = course.items[joined & (course.owners == user)].tolist()
            assert len(drawn) == len(set(drawn)) == min(6, len(new))
            assert set(drawn) <= new
            held[user] |= set(drawn)
        assert course.held.tolist() == [any(item in each for each in held.values()) for item in range(ITEMS)]
        course.draw_round(SOURCE)
        course.draw_round(SOURCE)
        course.step = week * course.steps_of_week


def test_a_count_is_of_all_that_was_asked_since_the_last(rounds: SeriesRounds) -> None:
    """Joined or not, each pair once; not of users who were erased, and not of a count that was left out."""
    rounds = replace(rounds, joining=3, thresholds=((1 << 55,) * 3,) * rounds.rounds)
    course, lots, counted = Course(rounds), np.random.default_rng(5), list[tuple[int, int]]()
    course.make_room(USERS, np.ones(ITEMS, np.uint8))
    course.found[::2], course.held[::2] = 0, True
    course.held[3::4], course.found[3::4] = True, -1

    def spent(owners: np.ndarray, items: np.ndarray, *_: object) -> None:
        counted[:] = zip(owners.tolist(), items.tolist(), strict=True)

    since = set[tuple[int, int]]()
    for week in range(1, 9):
        asked = np.unique(lots.integers((0, 0), (USERS, ITEMS), (150, 2)), axis=0)
        waiting = course.window.size
        course.begin_week(packed(*asked.T), SOURCE)
        since |= set(map(tuple, asked.tolist()))
        joined = packed(course.owners, course.items)[course.joined == week]
        assert not np.isin(course.window[waiting:], joined).any()
        course.step += 2
        if week == 3:
            course.found[5] = course.found[9] = 3  # of whom some ask again what has joined
        if week == 7:
            course.erase(np.array([2, 7]))
            since = {pair for pair in since if pair[0] not in (2, 7)}
        if week == 6:
            course.leave_out()
        elif week % 2 == 0:
            with mock.patch.object(courses, "spend", spent):
                course.draw_count(SOURCE)
            assert counted == sorted(pair for pair in since if course.found[pair[1]] >= 0)
        else:
            course.end_week()
        if week % 2 == 0:
            since.clear()
            assert course.window.size == 0


def test_who_comes_late_has_the_standing_of_who_was_there(rounds: SeriesRounds) -> None:
    """If all numbers of a round were alike, so would be the standings of all items, whenever first held."""
    course, drawn = Course(replace(rounds, thresholds=((1 << 55,) * 3,) * rounds.rounds)), 0
    numbers = [70_001, -41_999, 13, 997_003, -5, -800_000, 123_456, 31]

    def alike(true: np.ndarray, sigma: int, source: object) -> np.ndarray:
        nonlocal drawn
        assert sigma == rounds.sigma
        drawn += 1
        return np.full(true.size, numbers[(drawn - 1) % len(numbers)])

    with mock.patch.object(courses, "noisy_numbers", alike):
        for week in range(4):
            course.make_room(1, np.ones(week + 1, np.uint8))
            drawn = 0  # who catches up begins with the first round
            course.begin_week(np.array([week]), SOURCE)
            assert drawn == (2 * week if week else 0)
            drawn = 2 * week
            course.draw_round(SOURCE)
            course.draw_round(SOURCE)
            course.step = 3 * (week + 1)
            assert (course.standings == course.standings[:, :1]).all()
    assert (course.standings != 0).all()


def test_a_new_item_weighs_no_less_than_its_floor(rounds: SeriesRounds) -> None:
    course = Course(rounds)
    words, lots = np.array([1, 2, 3, 4, 9, 1, 2, 3], np.uint8), np.random.default_rng(2)
    course.make_room(2, words)
    for week, item in enumerate((0, 1, 2, 3, 4, 5, 6, 7)):
        course.owners = np.append(course.owners, np.array([0, 1], np.int32))
        course.items = np.append(course.items, np.array([item, 7 - item], np.int32))
        course.joined = np.append(course.joined, np.full(2, 1 + week // 2, np.uint8))
    course.held[:], course.week, course.step = True, 4, 9
    course.standings = lots.integers(-3, 9, (2, 8)) * rounds.sigma // 2
    course.found[5] = 1
    standings, taken = course.standings.copy(), list[np.ndarray]()
    with mock.patch.object(courses, "spend", lambda _owners, _items, values, *_: taken.append(values)):
        course.draw_round(SOURCE)
    weighing, expected = rounds.weighing[6], []
    for item, joined in zip(course.items.tolist(), course.joined.tolist(), strict=True):
        score = rounds.scores[min(int(words[item]), len(rounds.scores)) - 1] if item != 5 else 0
        long, short = standings[:, item].tolist()
        steered = max(
            max([v for cut, v in zip(steps.cuts, steps.values, strict=True) if number >= cut], default=0)
            for steps, number in ((weighing.long, long), (weighing.short, short))
        )
        value = max(min(1, steered * score), steered * score >> 3)
        if 4 - joined < 1 + sum(short >= cut for cut in weighing.young):
            value = max(value, min(1, score), weighing.floor * score >> 3)
        expected.append(value)
    assert taken[0].tolist() == expected
    assert len(set(expected)) > 5


@pytest.mark.parametrize("reach", [0, 3, 1000, 1 << 20, 1 << 57])
def test_steps_are_those_at_each_number(reach: int) -> None:
    """Whatever the grid: at cuts, beside them, between them and far away."""
    lots = np.random.default_rng(reach)
    cuts = np.unique(lots.integers(-reach, reach + 1, 40))
    steps = StepFunction(tuple(cuts.tolist()), tuple(lots.integers(0, LARGEST_VALUE + 1, cuts.size).tolist()))
    far = np.array([-(1 << 61), 1 << 61, 0])
    numbers = np.concatenate([cuts, cuts - 1, cuts + 1, lots.integers(-reach - 9, reach + 9, 5000), far])
    expected = np.array((0, *steps.values))[np.searchsorted(cuts, numbers, side="right")]
    assert np.array_equal(stepped(steps, numbers), expected)


TEXTS = [
    "",
    "a",
    "b",
    "ab",
    "1234567",
    "12345678",
    "12345678 ",
    "12345678 and 12345678",
    "12345678 not 12345678",
]
TEXTS += (
    ["é" * n for n in range(1, 12)] + ["x" * n for n in range(1, 20)] + [f"query {n}" for n in range(300)]
)


def taken_in(kept: KeptCourse, asked: list[str], folder: Path) -> list[int]:
    """The numbers of what one user asks."""
    (folder / "state-parts").mkdir()
    records, found = pa.table({"user": ["u"] * len(asked), "query": asked}), list[int]()
    with mock.patch.object(
        Course, "begin_week", lambda _course, pairs, _source: found.extend(pairs.tolist())
    ):
        kept.take_in(coded(records), folder / "state", SeriesKey(bytes(32)), SOURCE)
    return found


def kept_with(known: list[pa.Array]) -> KeptCourse:
    rounds = tacit.Series(weeks=2, epsilon=8, delta=1e-4, count_every=1).plan().rounds
    kept = KeptCourse(Course(rounds), pa.chunked_array(known, pa.string()))
    kept.course.make_room(0, np.ones(len(kept.texts), np.uint8))
    return kept


@pytest.mark.parametrize("seed", range(20))
def test_each_text_has_one_number(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever in memory it lies; those that are alike at a glance, or share a place, are told apart."""
    if bits := seed % 4 * 3:  # few places
        monkeypatch.setattr(state, "_PLACES", 1 << bits)
        monkeypatch.setattr(state, "_SHIFT", np.uint32(32 - bits))
    lots = np.random.default_rng(seed)
    order = lots.permutation(TEXTS).tolist()
    known, cuts = order[: lots.integers(1, len(order))], np.sort(lots.integers(0, len(order), 3))
    chunks = [pa.array(["beside", *some])[1:] for some in np.split(np.array(known, object), cuts)]
    named = lots.permutation(TEXTS)[: lots.integers(1, len(order))].tolist()
    kept = kept_with(chunks)
    items = taken_in(kept, named, tmp_path)
    texts = kept.texts.to_pylist()
    assert texts[: len(known)] == known
    assert len(texts) == len(set(texts)) == len(set(known) | set(named))
    assert sorted(texts[item] for item in items) == sorted(named)


def test_texts_that_are_alike_at_a_glance_are_two(tmp_path: Path) -> None:
    alike, nearly = TEXTS[7:9]
    first, second = (state._glances([pa.array([text])]) for text in (alike, nearly))
    assert first == second
    kept = kept_with([pa.array([alike])])
    assert taken_in(kept, [nearly, alike], tmp_path) == [0, 1]
    assert kept.texts.to_pylist() == [alike, nearly]


def test_users_are_told_apart_whose_hashes_are_half_alike() -> None:
    kept = kept_with([pa.array(["a"])])
    kept.users = np.array([[5, 1], [5, 2], [6, 1], [9, 1 << 63]], np.uint64)
    named = np.array([[5, 2], [7, 0], [9, 1 << 63], [5, 3], [6, 0], [5, 1], [6, 1]], np.uint64)
    numbers = kept.numbers_of(named)
    assert numbers.tolist() == [1, 4, 3, 5, 6, 0, 2]
    assert kept.numbers_of(named[:0]).size == 0
