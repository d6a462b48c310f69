"""Tiny streams of a series, and careless courses: those that the audit looks for, and further ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.audit import series
from tacit.audit.checks import instead
from tacit.audit.series import (
    CHANCES,
    LONG,
    ROUNDS,
    STEEP,
    WEEKS,
    Make,
    N,
    Week,
    alone,
    crowd,
    each_by,
    long_alone,
    rounds_of,
)
from tacit.privacy.noise.randomness import OperatingSystemRandomness, RandomSource
from tacit.release import execution
from tacit.release.mechanisms import series_planner
from tacit.release.rounds_analysis import Cost
from tacit.release.schedule import ONE, SeriesRounds
from tacit.release.series import course as courses
from tacit.release.series.course import Course

__all__ = ["CARELESS", "CARELESS_NOISE", "LOOKED_FOR", "STREAMS", "Stream"]

LONG_MANY = long_alone(rounds_of(memory=0.005, joining=12))
MANY_WEEKS = rounds_of(12, epsilon=0.2, noise_part=0.1)


@dataclass(frozen=True)
class Stream(series.Stream):
    """A stream to which something happens.

    Args:
        erased: after which week (from 1) which users are erased.
        left_out: the weeks whose round was noted and not carried out.
        lost: the weeks after which the state is lost, and the series goes on without it.
    """

    rounds: SeriesRounds = ROUNDS
    erased: tuple[tuple[int, tuple[int, ...]], ...] = ()
    left_out: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()

    def carry_out(self, week: int, course: Course, source: RandomSource) -> None:
        if week in self.left_out:
            course.leave_out()
        else:
            course.draw_round(source)

    def after(self, week: int, course: Course, people: np.ndarray, make: Make) -> Course:
        for number, users in self.erased:
            if number == week:
                gone = np.zeros_like(people)
                gone[:, list(users)] = True
                course.erase(np.flatnonzero(gone & people))
        return without_state(course, make) if week in self.lost else course


def without_state(course: Course, make: Make) -> Course:
    """The series of which only what is published, and the ledger's step, are known."""
    anew = make(course.rounds)
    anew.make_room(0, course.words)
    anew.found[:], anew.held[:] = course.found, course.found >= 0
    anew.__dict__["before_loss"] = course
    anew.start_anew(course.step)
    return anew


NOBODY: Week = []


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
        [*[alone(2 * w, 2 * w + 1) for w in range(4)], each_by(8, 8)], 8, rounds=LONG
    ),
    "the user held it in weeks that are left out": Stream(
        [alone(*range(12)), NOBODY, NOBODY, NOBODY, each_by(12, 16)],
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
        [*[alone(2 * w, 2 * w + 1) for w in range(3)], NOBODY, each_by(6, 24)], 6, lost=(4,), rounds=LONG
    ),
    "new items each week beside a shared one": Stream(
        [crowd(N, 0) + alone(0, 1), alone(2, 3), alone(4, 5), alone(6, 7), alone(8, 9)], 10
    ),
}


class PresenceErased(Course):
    """Items are known by their hashes alone: with its holders' records an item's text, and presence, goes."""

    def erase(self, users: np.ndarray) -> None:
        super().erase(users)
        self.held[:] = False
        self.held[self.items] = True

    def _catch_up(self, items: np.ndarray, source: RandomSource) -> None:
        known = self.standings[:, items].any(axis=0)
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
        super()._catch_up(items[~self.standings[:, items].any(axis=0)], source)


class CatchUpOfAll(Course):
    """An item that is first held later has noise of the rounds that were left out, too."""

    def _catch_up(self, items: np.ndarray, source: RandomSource) -> None:
        carried, self.carried = self.carried, self.round_number
        super()._catch_up(items, source)
        self.carried = carried


class Refilled(Course):
    """What is erased makes room for other items of the same week."""

    asked = np.zeros(0, np.int64)

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


class BalanceErased(Course):
    """Erasing somebody erases the balance, and who comes back has saved everything."""

    def erase(self, users: np.ndarray) -> None:
        super().erase(users)
        self.allowances[users] = self.round_number * ONE**2


CARELESS_NOISE = (BalanceErased,)
"""That shows in the noise alone: a user weighs more than was charged."""

CARELESS: dict[str, tuple[type[Course], str]] = {
    "presence goes with erased records": (PresenceErased, "others are erased"),
    "standings are drawn again at erasure": (RedrawnStandings, "the user shared it and is erased"),
    "standings outlive balances": (StandingsCarriedOver, "the state is lost"),
    "an erased place is filled again": (Refilled, "many items a week, some erased"),
    "catching up on rounds left out": (CatchUpOfAll, "the user held it in weeks that are left out"),
}


class PresentThisWeek(Course):
    """Present is what somebody asked this week; the standing accumulates all the same."""

    asked = np.zeros(0, np.int32)

    def begin_week(self, pairs: np.ndarray, source: RandomSource) -> None:
        self.asked = np.unique(pairs.astype(np.int32))
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
        del source
        self.standings[:, items] = 0


class NotCut(Course):
    """All of a user's items of a week join."""

    def begin_week(self, pairs: np.ndarray, source: RandomSource) -> None:
        self.rounds = replace(self.rounds, joining=10_000)
        super().begin_week(pairs, source)


class TrueSteering(Course):
    """Weights follow true standings, without noise."""

    def draw_round(self, source: RandomSource) -> None:
        noisy = self.standings
        true = self.standings = self.__dict__.setdefault("true", np.zeros_like(noisy))
        values = self._values(self.round_number + 1)
        self.standings = noisy
        real, drawn = self._values, execution.noisy_numbers

        def noting(numbers: np.ndarray, sigma: int, bits: RandomSource) -> np.ndarray:
            self._remember(true, numbers)
            return drawn(numbers, sigma, bits)

        with instead(courses, noisy_numbers=noting):
            self.__dict__["_values"] = lambda _: values
            super().draw_round(source)
            self.__dict__["_values"] = real


def room_for_one_week(rounds: SeriesRounds) -> Course:
    """Thresholds as if nobody ever held more items than join in one week."""
    forgetful: dict[str, Any] = {"held_by": lambda made, _: made.joining}
    with instead(series_planner, **forgetful, series_cost=lambda *_: Cost(0.0, 0.0)):
        return Course(rounds_of(rounds.weeks))


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


LOOKED_FOR: dict[str, Make] = {
    "presence by what was asked this week": PresentThisWeek,
    "no noise of the weeks before an item was held": NoCatchingUp,
    "all items of a person's week": NotCut,
    "room for one week's items": room_for_one_week,
    "steering by true weights": TrueSteering,
    "balances that are not debited": NotDebited,
    "a week looked at twice, charged once": LookedAtTwice,
}
"""What the audit of a series looks for (:data:`tacit.audit.series.CHECKED`)."""
