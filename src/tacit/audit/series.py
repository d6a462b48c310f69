"""Series of weekly releases under attack: all weeks together, with a person and without.

Tiny streams have, for every week, who asks what; user 0 is the one who is there or not. Thousands of runs are
made at once through the real course of a series: copies of a stream that have nothing in common.

- :func:`tells_as_claimed`: how well all weeks tell the streams apart, at several ε, against the whole curve;
- :func:`spends_as_stated`: all that one person weighs, however it was saved, exactly;
- :func:`costs_as_claimed`: δ of a plan, computed again; :func:`costs_as_planned`: of what is carried out.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tacit.audit.checks import ExactCheck, checked, cost_in_floats, gaussian_delta, instead, require
from tacit.privacy.noise.randomness import RandomSource
from tacit.release import execution
from tacit.release.mechanism import Plan
from tacit.release.mechanisms.series_planner import SeriesLayout, plan_series
from tacit.release.schedule import ONE, SeriesRounds, StepFunction, WeighingByStandings
from tacit.release.series.course import Course, packed
from tacit.release.series_analysis import series_cost

EPSILON, DELTA, WEEKS, JOINING = 1.0, 0.02, 5, 2
EPSILONS = (0.0, 0.5, 1.0, 4.0)
RUNS, SURELY = 12_000, 6
"""Of each stream; and so many standard errors beyond what is claimed are no accident."""
NEVER = 1 << 55
Week = list[tuple[int, list[int]]]
Make = Callable[[SeriesRounds], Course]
Found = NDArray[np.int64]


def rounds_of(
    weeks: int = WEEKS, joining: int = JOINING, epsilon: float = EPSILON, **shape: Any
) -> SeriesRounds:
    """One round a week, as planned; not a plan that is remembered, for rules may have been changed."""
    layout = SeriesLayout(per_week=1, scores=(8,), **shape)
    return plan_series.__wrapped__(epsilon, DELTA, weeks, joining, keys_only=True, shape=layout)


def long_alone(rounds: SeriesRounds) -> SeriesRounds:
    """Only the long memory finds."""
    return replace(rounds, thresholds=tuple((long, NEVER, NEVER) for long, _, _ in rounds.thresholds))


@dataclass(frozen=True)
class Stream:
    """Who asks what in each week.

    Args:
        weeks: of each, pairs of a user and items.
        kinds: how many items there are.
        rounds: what is drawn and compared.
    """

    weeks: list[Week]
    kinds: int
    rounds: SeriesRounds

    def carry_out(self, week: int, course: Course, source: RandomSource) -> None:
        """Draw the round of a week, from 1."""
        del week
        course.draw_round(source)

    def after(self, week: int, course: Course, people: NDArray[np.bool_], make: Make) -> Course:
        """What goes on after a week, with the people of all runs who are there: the same course."""
        del week, people, make
        return course


def crowd(size: int, *items: int) -> Week:
    """So many others who ask these."""
    return [(1 + who, list(items)) for who in range(size)]


def alone(*items: int) -> Week:
    """The user asks these."""
    return [(0, list(items))]


def each_by(items: int, size: int) -> Week:
    """Each of some items is asked by so many people of its own."""
    return [(1 + size * item + who, [item]) for item in range(items) for who in range(size)]


def found_weeks(stream: Stream, user: bool, runs: int, source: RandomSource, make: Make = Course) -> Found:
    """In which week each item is found (0: never), by run."""
    people = 1 + max(who for week in stream.weeks for who, _ in week)
    course, there = make(stream.rounds), np.tile(np.arange(people) >= (not user), (runs, 1))
    for number, week in enumerate(stream.weeks, start=1):
        once = np.array([(who, item) for who, items in week for item in items if user or who], np.int64)
        apart = np.arange(runs)[:, None] * packed(np.array(people), np.array(stream.kinds))
        course.make_room(people * runs, np.ones(stream.kinds * runs, np.uint8))
        course.begin_week((apart + packed(*once.reshape(-1, 2).T)).ravel(), source)
        stream.carry_out(number, course, source)
        course.end_week()
        course = stream.after(number, course, there, make)
    return np.maximum(course.found, 0).reshape(runs, stream.kinds)


def told_beyond(stream: Stream, runs: int, source: RandomSource, make: Make = Course) -> float:
    """By how many standard errors the chance to tell passes what is claimed, at worst over ε and direction.

    The event is chosen on half of the runs: the weeks in which up to four items are found, or how many are.
    """

    def outputs(found: Found) -> Found:
        if found.shape[1] > 4:
            return np.asarray((found > 0).sum(axis=1))
        return np.asarray(found @ (16 ** np.arange(found.shape[1]))).astype(np.int64)

    without, having = (outputs(found_weeks(stream, user, runs, source, make)) for user in (False, True))
    cost, half, worst = series_cost(stream.rounds), runs // 2, -math.inf
    for one, other in ((without, having), (having, without)):
        values, both = np.unique(np.concatenate([one, other]), return_inverse=True)
        halves = both[:runs], both[runs:]
        for epsilon in EPSILONS:
            p, q = (np.bincount(each[:half], minlength=values.size) for each in halves)
            chosen = p > math.exp(epsilon) * q
            p_set, q_set = (float(chosen[each[half:]].mean()) for each in halves)
            spread = p_set * (1 - p_set) + math.exp(2 * epsilon) * q_set * (1 - q_set)
            error = math.sqrt(spread / half + 1e-9)
            worst = max(worst, (p_set - math.exp(epsilon) * q_set - cost.delta(epsilon)) / error)
    return worst


def tells_as_claimed(stream: Stream, source: RandomSource, make: Make = Course, runs: int = RUNS) -> str:
    """All weeks together tell no more than is claimed."""
    beyond = told_beyond(stream, runs, source, make)
    require(beyond <= SURELY, f"told {beyond:.1f} standard errors more than is claimed")
    return f"{runs:,} runs, {beyond:.1f} standard errors from the claim"


def spends_as_stated(stream: Stream, source: RandomSource, make: Make = Course) -> str:
    """All that a person alone weighs in all rounds together is within the allowance of all rounds."""
    spent, real = 0, execution.with_noise

    def noting(numbers: Found, noise: Found) -> Found:
        nonlocal spent
        spent += sum(int(each) ** 2 for each in numbers)
        return real(numbers, noise)

    found_nothing = replace(stream.rounds, thresholds=((NEVER,) * 3,) * stream.rounds.rounds)
    with instead(with_noise=noting):
        found_weeks(replace(stream, rounds=found_nothing), True, 1, source, make)
    allowed = stream.rounds.rounds * ONE**2
    require(spent <= allowed, f"a person weighs {spent / ONE**2:.2f} of {stream.rounds.rounds} units")
    return f"{spent / ONE**2:.2f} of {stream.rounds.rounds} units"


def delta_at(rounds: SeriesRounds, epsilon: float, changed: int = 1) -> float:
    """δ of all weeks, and of the past at the opening, from what is drawn and compared: again, in floats."""
    square, by_chance = (0.0, 0.0) if rounds.history is None else cost_in_floats(rounds.history)
    square += rounds.rounds * (ONE / rounds.sigma) ** 2
    if rounds.tally is not None:
        square += rounds.counts * rounds.tally.gain / rounds.tally.sigma**2
    delta = gaussian_delta(epsilon, changed * square) + changed * by_chance
    for q, thresholds in enumerate(rounds.thresholds, start=1):
        held = rounds.joining * -(-q // rounds.per_week)
        for memory, threshold in zip(rounds.memories, thresholds, strict=True):
            length = math.sqrt(sum((memory / 65536) ** (2 * (q - j)) for j in range(1, q + 1)))
            room = threshold / length - ONE * math.sqrt(q)
            delta += changed * held * float(ndtr(-room / rounds.sigma))
    return delta


def costs_as_claimed(plan: Plan[Any]) -> str:
    """What is promised and charged is no less than δ computed again."""
    rounds, changed = plan.schedule.series, plan.neighbours.users_changed
    require(rounds is not None, "not a series")
    delta = delta_at(rounds, plan.epsilon, changed)  # type: ignore[arg-type]
    for promise in (plan.guarantee, plan.event.guarantee):
        require(promise.delta >= delta * (1 - 1e-6), f"δ is {delta:.4g}, and {promise.delta:.4g} is promised")
    return f"δ = {delta:.4g} at ε = {plan.epsilon:.4g}"


def costs_as_planned(stream: Stream, source: RandomSource, make: Make = Course) -> str:
    """The rounds that are carried out keep to the δ that they were planned for."""
    del source
    delta = delta_at(make(stream.rounds).rounds, EPSILON)
    require(delta <= DELTA, f"δ is {delta:.4g}, and was to be {DELTA:g}")
    return f"δ = {delta:.4g} of {DELTA:g}"


def series_checks(plan: Plan[Any], source: RandomSource) -> Iterator[ExactCheck]:
    """The cost of a plan, and what its course does on tiny streams planned at δ = 0.02."""
    yield checked(costs_as_claimed, plan)
    for careless, (stream, check) in CHECKED.items():
        found = checked(check, stream, source)
        yield replace(found, says=f"{found.says} (to notice {careless})")


N = 13
"""Others whose weight brings an item near its threshold."""
_STEP = StepFunction((round(N * ONE / 2**0.5) + ONE // 2,), (255,))
_EVERYTHING = StepFunction((-NEVER,), (255,))
ROUNDS, QUIET = rounds_of(), list[list[tuple[int, list[int]]]]([[]]) * WEEKS
LONG, CHANCES = long_alone(rounds_of(memory=0.005)), rounds_of(epsilon=0.2, noise_part=0.1)
"""A memory that forgets next to nothing, and no other; and most of δ for items that are found by chance."""
STEEP = replace(
    LONG,
    weighing=(
        WeighingByStandings(_EVERYTHING, _EVERYTHING, 1, ()),
        *[WeighingByStandings(_STEP, _STEP, 1, ())] * (WEEKS - 1),
    ),
)
"""An item is out whose standing lacks one user."""
SPENDING = Stream([alone(0, 1), alone(2), alone(3, 4), alone(5), alone(6)], 7, ROUNDS)
_BY_WEEK = [alone(2 * w, 2 * w + 1) for w in range(20)]

CHECKED: dict[str, tuple[Stream, Callable[..., str]]] = {
    "presence by what was asked this week": (
        Stream([crowd(N, 0), *QUIET[2:], alone(0)], 1, ROUNDS), tells_as_claimed),
    "no noise of the weeks before an item was held": (
        Stream([*_BY_WEEK[:4], each_by(8, 8)], 8, LONG), tells_as_claimed),
    "all items of a person's week": (
        Stream([alone(*range(60)), *QUIET[1:]], 60, CHANCES), tells_as_claimed),
    "room for one week's items": (Stream(_BY_WEEK, 40, rounds_of(20)), costs_as_planned),
    "steering by true weights": (
        Stream([crowd(N, 0, 1) + alone(0), *QUIET[1:]], 2, STEEP), tells_as_claimed),
    "balances that are not debited": (SPENDING, spends_as_stated),
    "a week looked at twice, charged once": (SPENDING, spends_as_stated),
}  # fmt: skip
"""What a careless series might do, with the stream and the check that would notice."""
