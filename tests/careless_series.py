"""Series with one thing done carelessly, and tiny streams on which each must be told from the real one.

Each is what somebody might write in good faith; each promises what the *real* series of the same rounds does.
A stream has, for every week, who asks what; user 0 is the one who is there or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np

from tacit.privacy.noise.randomness import OperatingSystemRandomness, RandomSource
from tacit.release.mechanisms import series_planner
from tacit.release.mechanisms.series_planner import SeriesLayout, plan_series
from tacit.release.rounds_analysis import Cost
from tacit.release.schedule import ONE, SeriesRounds, StepFunction, WeighingByStandings
from tacit.release.series import course as course_module
from tacit.release.series.course import Course

__all__ = ["CARELESS", "CARELESS_NOISE", "EPSILON", "ROUNDS", "STREAMS", "Stream", "found_weeks"]

EPSILON, DELTA, WEEKS, JOINING = 1.0, 0.02, 5, 2
NEVER = 1 << 55


def rounds_of(
    weeks: int = WEEKS, joining: int = JOINING, epsilon: float = EPSILON, **shape: Any
) -> SeriesRounds:
    """One round a week, as planned."""
    layout = SeriesLayout(per_week=1, scores=(8,), **shape)
    # not one that is remembered: tests plan with other rules
    return plan_series.__wrapped__(epsilon, DELTA, weeks, joining, keys_only=True, shape=layout)


ROUNDS = rounds_of()


def long_alone(rounds: SeriesRounds) -> SeriesRounds:
    """Only the long memory finds."""
    return replace(rounds, thresholds=tuple((long, NEVER, NEVER) for long, _, _ in rounds.thresholds))


LONG = long_alone(rounds_of(memory=0.005))
LONG_MANY = long_alone(rounds_of(memory=0.005, joining=12))
"""A memory that forgets next to nothing, and no other."""
CHANCES = rounds_of(epsilon=0.2, noise_part=0.1)
MANY_WEEKS = rounds_of(12, epsilon=0.2, noise_part=0.1)
"""Most of δ is for items that are found by chance, so that too many of them show soon."""
N = 13
"""Others whose weight brings an item near its threshold."""
_EVERYTHING = StepFunction((-NEVER,), (255,))
_FROM = StepFunction((round(N * ONE / 2**0.5) + ONE // 2,), (255,))
STEEP = replace(
    LONG,
    weighing=(
        WeighingByStandings(_EVERYTHING, _EVERYTHING, 1, ()),
        *[WeighingByStandings(_FROM, _FROM, 1, ())] * (WEEKS - 1),
    ),
)
"""An item is out whose standing lacks one user."""
Week = list[tuple[int, list[int]]]


@dataclass(frozen=True)
class Stream:
    """Who asks what in each week, and what happens between weeks.

    Args:
        weeks: of each, pairs of a user and items.
        kinds: how many items there are.
        erased: after which week (from 1) which users are erased.
        left_out: the weeks whose round was noted and not carried out.
        lost: the weeks after which the state is lost, and the series goes on without it.
        rounds: what is drawn and compared.
    """

    weeks: list[Week]
    kinds: int
    erased: tuple[tuple[int, tuple[int, ...]], ...] = ()
    left_out: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()
    rounds: SeriesRounds = ROUNDS


def found_weeks(
    stream: Stream,
    user: bool,
    runs: int,
    source: RandomSource,
    make: Callable[[SeriesRounds], Course] = Course,
) -> np.ndarray:
    """In which week each item is found (0: never), by run: copies of the stream with nothing in common."""
    people = 1 + max(who for week in stream.weeks for who, _ in week)
    course = make(stream.rounds)
    for number, week in enumerate(stream.weeks, start=1):
        once = np.array([(who, item) for who, items in week for item in items if user or who])
        pairs = np.tile(once.reshape(-1, 2), (runs, 1))
        copies = np.repeat(np.arange(runs), len(once))
        course.make_room(people * runs, np.ones(stream.kinds * runs, np.uint8))
        numbered = np.stack([copies * people + pairs[:, 0], copies * stream.kinds + pairs[:, 1]], axis=1)
        course.begin_week(numbered.astype(np.int32), source)
        if number in stream.left_out:
            course.leave_out()
        else:
            course.draw_round(source)
        course.end_week()
        for after, users in stream.erased:
            if after == number:
                gone = [who for who in users if user or who]
                course.erase((np.arange(runs)[:, None] * people + np.array(gone, int)).ravel())
        if number in stream.lost:
            course = without_state(course, make)
    return np.maximum(course.found, 0).reshape(runs, stream.kinds)


def without_state(course: Course, make: Callable[[SeriesRounds], Course]) -> Course:
    """The series of which only what is published, and the ledger's step, are known."""
    anew = make(course.rounds)
    anew.make_room(0, course.words)
    anew.found[:], anew.held[:] = course.found, course.found >= 0
    anew.__dict__["before_loss"] = course
    anew.start_anew(course.step)
    return anew


def crowd(size: int, *items: int) -> Week:
    """So many others who ask these."""
    return [(1 + who, list(items)) for who in range(size)]


NOBODY: Week = []


def alone(*items: int) -> Week:
    """The user asks these."""
    return [(0, list(items))]


def _others(items: int, size: int) -> Week:
    """Each of some items is asked by so many people of its own."""
    return [(1 + size * item + who, [item]) for item in range(items) for who in range(size)]


QUIET: list[Week] = [NOBODY] * WEEKS
STREAMS = {
    "an item of the user alone": Stream([alone(0), *QUIET[1:]], 1),
    "two items of the user alone each week": Stream(
        [alone(2 * w, 2 * w + 1) for w in range(WEEKS)], 2 * WEEKS
    ),
    "an item of the user alone in the last week": Stream([*QUIET[1:], alone(0)], 1),
    "many items of the user alone": Stream([alone(*range(60)), *QUIET[1:]], 60, rounds=CHANCES),
    "a shared item": Stream([crowd(N, 0) + alone(0), *QUIET[1:]], 1),
    "a shared item and own ones": Stream([crowd(N, 0) + alone(0, 1), *QUIET[1:]], 2),
    "the user comes last": Stream([crowd(N, 0), *QUIET[2:], alone(0)], 1),
    "the user comes first": Stream([alone(0), crowd(N, 0), *QUIET[2:]], 1),
    "two shared items": Stream([crowd(N, 0, 1) + alone(0, 1), *QUIET[1:]], 2),
    "steering that one user may flip": Stream([crowd(N, 0, 1) + alone(0), *QUIET[1:]], 2, rounds=STEEP),
    "the user held it long before others": Stream(
        [*[alone(2 * w, 2 * w + 1) for w in range(4)], _others(8, 8)], 8, rounds=LONG
    ),
    "the user held it in weeks that are left out": Stream(
        [alone(*range(12)), NOBODY, NOBODY, NOBODY, _others(12, 16)],
        12,
        left_out=(1, 2, 3),
        rounds=LONG_MANY,
    ),
    "others come late": Stream([*QUIET[2:], crowd(N, 0) + alone(0), NOBODY], 1),
    "others are erased": Stream(
        [NOBODY, NOBODY, crowd(2 * N, 0, 1), alone(0, 1), NOBODY],
        2,
        erased=((3, tuple(range(1, 2 * N + 1))),),
        rounds=LONG,
    ),
    "many items a week, some erased": Stream(
        [alone(*range(80)), *[alone(80 + w) for w in range(WEEKS - 1)]],
        84,
        erased=((1, (0,)),),
        rounds=CHANCES,
    ),
    "two items of the user alone in each of many weeks": Stream(
        [alone(2 * w, 2 * w + 1) for w in range(12)], 24, rounds=MANY_WEEKS
    ),
    "the user is erased and comes back": Stream(
        [alone(0), alone(1), alone(2), alone(3), alone(4)], 5, erased=((1, (0,)), (2, (0,)), (3, (0,)))
    ),
    "a round is left out": Stream([NOBODY, NOBODY, alone(0, 1), alone(2, 3), alone(4, 5)], 6, left_out=(1,)),
    "two rounds are left out": Stream([crowd(N, 0) + alone(0), *QUIET[1:]], 1, left_out=(2, 3)),
    "the user shared it and is erased": Stream(
        [crowd(N, 0) + alone(0), *QUIET[1:]], 1, erased=((1, (0,)),), rounds=LONG
    ),
    "the state is lost": Stream(
        [*[alone(2 * w, 2 * w + 1) for w in range(3)], NOBODY, _others(6, 24)], 6, lost=(4,), rounds=LONG
    ),
    "new items each week beside a shared one": Stream(
        [crowd(N, 0) + alone(0, 1), alone(2, 3), alone(4, 5), alone(6, 7), alone(8, 9)], 10
    ),
}


class PresentThisWeek(Course):
    """Present is what somebody asked this week; the standing accumulates all the same."""

    asked = np.zeros(0, np.int32)

    def begin_week(self, pairs: np.ndarray, source: RandomSource) -> None:
        self.asked = np.unique(pairs[:, 1])
        super().begin_week(pairs, source)

    def draw_round(self, source: RandomSource) -> None:
        before = self.found.copy()
        super().draw_round(source)
        absent = np.ones(self.held.size, np.bool_)
        absent[self.asked] = False
        self.found[absent] = before[absent]


class NoCatchingUp(Course):
    """A standing begins when the item is first held."""

    def _catch_up(self, items: np.ndarray, source: RandomSource) -> None:
        self.standings[items] = 0


class NotCut(Course):
    """All of a user's items of a week join."""

    def begin_week(self, pairs: np.ndarray, source: RandomSource) -> None:
        self.rounds = replace(self.rounds, joining=10_000)
        super().begin_week(pairs, source)


class TrueSteering(Course):
    """Weights follow true standings, without noise."""

    def draw_round(self, source: RandomSource) -> None:
        noisy = self.standings
        self.standings = self.__dict__.setdefault("true", np.zeros_like(noisy))
        values = self._values(self.round_number + 1)
        self.standings = noisy
        real, seen = self._values, course_module.noisy_numbers

        def noting(numbers: np.ndarray, sigma: int, drawn: RandomSource) -> np.ndarray:
            items = np.flatnonzero(self.held & (self.found < 0))
            self.__dict__["true"][items] = self._remembered(self.__dict__["true"][items], numbers)
            return seen(numbers, sigma, drawn)

        self._values = lambda _: values  # type: ignore[method-assign]
        course_module.noisy_numbers = noting
        try:
            super().draw_round(source)
        finally:
            self._values, course_module.noisy_numbers = real, seen  # type: ignore[method-assign]


class PresenceErased(Course):
    """Items are known by their hashes alone: with its holders' records an item's text, and presence, goes."""

    def erase(self, users: np.ndarray) -> None:
        super().erase(users)
        self.held[:] = False
        self.held[self.items] = True

    def _catch_up(self, items: np.ndarray, source: RandomSource) -> None:
        known = self.standings[items].any(axis=1)
        super()._catch_up(items[~known], source)


class RedrawnStandings(Course):
    """What an erased user held has fresh standings, as if it were first held now by the others."""

    def erase(self, users: np.ndarray) -> None:
        mine = np.unique(self.items[np.isin(self.owners, users)]).astype(np.int64)
        super().erase(users)
        self.held[mine] = False
        self.held[self.items] = True
        self._catch_up(mine, OperatingSystemRandomness())


class StandingsCarriedOver(Course):
    """Going on without balances or holdings, old items keep their standings, and new ones begin at 0."""

    def start_anew(self, step: int) -> None:
        super().start_anew(step)
        self.standings = self.__dict__["before_loss"].standings.copy()

    def _catch_up(self, items: np.ndarray, source: RandomSource) -> None:
        super()._catch_up(items[~self.standings[items].any(axis=1)], source)


class CatchUpOfAll(Course):
    """An item that is first held later has noise of the rounds that were left out, too."""

    def _catch_up(self, items: np.ndarray, source: RandomSource) -> None:
        carried, self.carried = self.carried, self.round_number
        super()._catch_up(items, source)
        self.carried = carried


class Refilled(Course):
    """What is erased makes room for other items of the same week."""

    asked = np.zeros((0, 2), np.int32)

    def begin_week(self, pairs: np.ndarray, source: RandomSource) -> None:
        self.asked = pairs
        super().begin_week(pairs, source)

    def erase(self, users: np.ndarray) -> None:
        super().erase(users)
        week, step, rounds = self.week, self.step, self.rounds
        self.week, self.step = week - 1, (week - 1) * self.steps_of_week
        self.rounds = replace(rounds, joining=10_000)  # after so many erasures
        super().begin_week(self.asked, OperatingSystemRandomness())
        self.week, self.step, self.rounds = week, step, rounds


class RoomForOneWeek(Course):
    """Thresholds as if nobody ever held more items than join in one week."""

    def __init__(self, rounds: SeriesRounds) -> None:
        with (
            mock.patch.object(series_planner, "held_by", lambda made, _: made.joining),
            mock.patch.object(series_planner, "series_cost", return_value=Cost(0.0, 0.0)),
        ):
            made = rounds_of(rounds.weeks, epsilon=0.2, noise_part=0.1)
        super().__init__(made)


class NotDebited(Course):
    """What is spent is not taken from the balance."""

    def draw_round(self, source: RandomSource) -> None:
        before = self.allowances + ONE**2
        super().draw_round(source)
        self.allowances = before


class LookedAtTwice(Course):
    """A round that was cut off is drawn again, with the balances of before."""

    def draw_round(self, source: RandomSource) -> None:
        before, step = self.allowances.copy(), self.step
        super().draw_round(source)
        self.allowances, self.step = before, step
        super().draw_round(source)


class BalanceErased(Course):
    """Erasing somebody erases the balance, and who comes back has saved everything."""

    def erase(self, users: np.ndarray) -> None:
        super().erase(users)
        self.allowances[users] = self.round_number * ONE**2


CARELESS_NOISE = (NotDebited, LookedAtTwice, BalanceErased)
"""Those that show in the noise alone: a user weighs more than was charged."""

CARELESS: dict[str, tuple[type[Course], str]] = {
    "present = asked this week": (PresentThisWeek, "the user comes last"),
    "no noise of rounds before": (NoCatchingUp, "the user held it long before others"),
    "no cut": (NotCut, "many items of the user alone"),
    "room for one week's items": (RoomForOneWeek, "two items of the user alone in each of many weeks"),
    "steering by true weights": (TrueSteering, "steering that one user may flip"),
    "presence goes with erased records": (PresenceErased, "others are erased"),
    "standings are drawn again at erasure": (RedrawnStandings, "the user shared it and is erased"),
    "standings outlive balances": (StandingsCarriedOver, "the state is lost"),
    "an erased place is filled again": (Refilled, "many items a week, some erased"),
    "catching up on rounds left out": (CatchUpOfAll, "the user held it in weeks that are left out"),
}
