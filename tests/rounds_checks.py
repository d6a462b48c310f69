"""Exact checks of adaptive releases: of rounds, and of a single count of each item.

The real selection runs, on holdings or with noise of our choice. Of rounds:

- :func:`compares_as_stated`: at each threshold, coefficient and first cut, exactly, one step apart;
- :func:`draws_as_stated`: each noise has the width stated, for every item and round by itself;
- :func:`bounds_as_stated`: no user has more items or weighs more than stated, in rounds, counts and squares;
- :func:`charges_as_stated`: guarantee and ledger cover all of it, by a computation of their own.

Of a single count the same, and :func:`diverges_once_as_stated`: the exact divergence of what is published on
neighbouring logs, every value of the noise passed through the release.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tacit import Plan
from tacit.audit.checks import LIMIT, Whole, instead, require
from tacit.audit.replicas import Numbered
from tacit.privacy import Neighbours
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release import execution
from tacit.release.execution import Holdings
from tacit.release.schedule import ONE, SingleCount

HUGE = 1 << 46
REACH = 60
"""Noise of more than this many scales below 0 has a chance under 10^-26."""
Output = tuple[tuple[int, int], ...]


def holdings_of(sets: list[list[int]], kinds: int) -> Holdings:
    """Users with these items."""
    starts = np.concatenate([[0], np.cumsum([len(held) for held in sets])]).astype(np.int64)
    return Holdings(starts, np.array([item for held in sets for item in held], dtype=np.int32), kinds)


def publish(plan: Plan[Any], holdings: Holdings) -> dict[int, int]:
    """What is published: the number of an item to its count (0 where keys alone are published).

    All items are of the first kind that the mechanism releases.
    """
    made = plan.publish(
        None,  # type: ignore[arg-type]
        {"held": Numbered(holdings, plan.schedule)},
        OperatingSystemRandomness(),
    )
    table = made[plan.schedule.parts[0].table]
    counts = table.column("count").to_pylist() if "count" in table.column_names else [0] * len(table)
    keys = [key[0] if isinstance(key, list) else key for key in table.column(0).to_pylist()]
    return {int(key): count for key, count in zip(keys, counts, strict=True)}


@contextmanager
def drawing(draw: Callable[[float, int], Whole] | None = None) -> Iterator[list[tuple[float, Whole]]]:
    """Noise of our choice in every place, or what is drawn anyway; all of it is noted with its width."""
    noted: list[tuple[float, Whole]] = []
    real = execution.__dict__[GAUSSIAN]

    def sampler(sigma: float, size: int, source: Any) -> Whole:
        drawn = real(sigma, size, source) if draw is None else draw(sigma, size)
        noted.append((sigma, drawn))
        return np.asarray(drawn)

    with instead(**{GAUSSIAN: sampler}):
        yield noted


GAUSSIAN, CAPPED = "discrete_gaussian", "capped_laplace"
"""The names under which execution draws the noise of rounds, and of single counts."""


def compares_as_stated(plan: Plan[Any]) -> None:
    """Two items of one user each, whose noise is chosen so that they stand one step apart at every line."""
    for number, step in enumerate(plan.schedule.selection.rounds):  # type: ignore[union-attr]
        first = step.steering.cuts[0] if step.steering else None
        for line, found in ((step.threshold, True), (first, False)):
            if line is not None:
                _compares_at(plan, number, line, found)


def _compares_at(plan: Plan[Any], last: int, line: int, finds: bool) -> None:
    """Item 0 reaches the line in round ``last``, item 1 stays one step below; no other may matter."""
    stated = plan.schedule.selection.rounds  # type: ignore[union-attr]
    plans: list[list[int]] = [[], []]
    for item in (0, 1):
        standing = 0
        for number, step in enumerate(stated[: last + 1]):
            aim = line if number == last else step.threshold
            weight = -(-(aim - standing) // step.coefficient)  # the least that reaches it
            if number < last or item == 1:
                weight -= 1
            standing += step.coefficient * weight
            plans[item].append(weight - ONE)  # all of its user's weight is on it
    drawn = 0

    def noise(sigma: float, size: int) -> Whole:
        nonlocal drawn
        number, drawn = drawn, drawn + 1
        if number <= last:
            return np.array([plan[number] for plan in plans[:size]], np.int64)
        if number >= len(stated):
            return np.zeros(size, np.int64)  # counting
        # What is not found yet must not be, or what is still in is found now.
        return np.full(size, -HUGE if finds else HUGE, np.int64)

    with drawing(noise):
        found = publish(plan, holdings_of([[0], [1]], 2))
    require(set(found) == {0}, f"round {last + 1}: compared with another number than {line}")


def _crowds() -> Holdings:
    """Items of 1 to 60 users of their own each, so that many stay in all rounds."""
    return crowds(np.tile(np.arange(1, 61), 50).tolist())


def crowds(users: list[int]) -> Holdings:
    """Items of so many users of their own each."""
    items = np.repeat(np.arange(len(users)), users)
    return Holdings(np.arange(items.size + 1), items.astype(np.int32), len(users))


def draws_as_stated(plan: Plan[Any]) -> str:
    """Every noise by itself: its width, no item left out in the first round, no draw used again."""
    selection: Any = plan.schedule.selection
    tally = selection.tally
    widths = [step.sigma for step in selection.rounds]
    widths += tally.sigmas if tally is not None else ()
    log = _crowds()
    gathered: list[list[Whole]] = [[] for _ in widths]
    for _ in range(8 if tally is not None else 1):  # few items reach the counts
        with drawing() as noted:
            publish(plan, log)
        if tally is not None and len(noted) == len(selection.rounds):
            noted += [(width, np.zeros(0, np.int64)) for width in tally.sigmas]  # nothing was found
        require(len(noted) == len(widths), "another number of draws than stated")
        require(noted[0][1].size == log.kinds, "an item without noise in the first round")
        for place, (_, drawn) in enumerate(noted):
            gathered[place].append(drawn)
        for (_, one), (_, two) in pairwise(noted):
            size = min(one.size, two.size)
            require(not size or not np.array_equal(one[:size], two[:size]), "noise is used again")
    if tally is not None:
        for (_, users), (_, counts), (_, squares) in _single_draws(plan):
            for place, drawn in ((-3, users), (-2, counts), (-1, squares)):
                gathered[place].append(drawn)
    for number, (width, pieces) in enumerate(zip(widths, gathered, strict=True), start=1):
        sample = np.concatenate(pieces) / width
        if sample.size <= 300:  # a round that few items reach
            continue
        z = (np.mean(sample**2) - 1) * math.sqrt(sample.size / 2)
        require(abs(z) < LIMIT, f"draw {number}: noise of another width than {width} (z = {z:.1f})")
        shared = float(np.mean(sample[1:] * sample[:-1])) * math.sqrt(sample.size)
        require(abs(shared) < LIMIT, f"draw {number}: items share their noise")
    return f"{len(widths)} noises"


def _single_draws(plan: Plan[Any]) -> Iterator[list[tuple[float, Whole]]]:
    """What the counts of one log draw, many times over: two of their noises are one number a release."""
    log = holdings_of([[0]] * 200, 1)
    schedule: Any = plan.schedule.selection
    with drawing(lambda sigma, size: np.full(size, HUGE)):
        found = execution.find(schedule, log, OperatingSystemRandomness())
    for _ in range(400):
        with drawing() as noted:
            execution.take_tally(schedule.tally, log, found, OperatingSystemRandomness())
        yield noted


def bounds_as_stated(plan: Plan[Any]) -> str:
    """One user alone, far over every bound; and what that user adds beside others."""
    stated: Any = plan.schedule.selection
    many = stated.held + 5
    log = holdings_of([list(range(many))], many)
    weights: list[Whole] = []
    real = execution.add_weights

    def add_weights(starts: Any, items: Any, values: Any, least: int, totals: Whole) -> None:
        real(starts, items, values, least, totals)
        weights.append(totals.copy())

    with (
        drawing(lambda sigma, size: np.full(size, HUGE, np.int64)) as noted,
        instead(execution, add_weights=add_weights),
    ):
        found = publish(plan, log)
    require(noted[0][1].size <= stated.held, f"{noted[0][1].size} items of a user take part")
    require(len(found) <= stated.held, f"{len(found)} items of a user are found")
    for totals in weights:
        require(_square(totals) <= ONE**2, "a user weighs more than one")
    if stated.tally is not None:
        _moves_counts_by_one(plan)
    return f"{stated.held} items, weight 1"


def _square(weights: Whole) -> int:
    return sum(int(weight) ** 2 for weight in weights)


def _moves_counts_by_one(plan: Plan[Any]) -> None:
    """Given what was found, a user more moves each number that gets noise in counting by one unit at most.

    Everybody has one item, and one user has all of them: whatever limit is chosen, that user is clipped.
    """
    stated: Any = plan.schedule.selection
    most = min(stated.held, 30)
    others = [[item] for item in range(most) for _ in range(40)]
    logs = [holdings_of(sets, most) for sets in (others, [*others, list(range(most))])]
    found = execution.Found(np.arange(most), np.full(most, 40 * ONE), np.ones(most, np.int64))
    seen: list[list[Whole]] = [[], []]
    for log, numbers in zip(logs, seen, strict=True):

        def noting(true: Whole, noise: Whole, numbers: list[Whole] = numbers) -> Whole:
            del noise
            numbers.append(true)
            return seen[0][len(numbers) - 1]  # the same numbers for both, so that limits are the same

        with instead(with_noise=noting):
            execution.take_tally(stated.tally, log, found, OperatingSystemRandomness())
    users, counts, squares = (two - one for one, two in zip(*seen, strict=True))
    require(users.tolist() == [ONE], "a user is not one user")
    require(_square(counts) <= ONE**2, "a user is not clipped in the count")
    require(0 <= squares[0] <= ONE, "a user adds more than one part to the squares")


def charges_as_stated(plan: Plan[Any]) -> None:
    """μ and the chance of a disclosure, computed again; no less is stated and charged, and not 1% more."""
    for relation in Neighbours:
        made = replace(plan.mechanism, neighbours=relation).plan()
        stated = made.schedule.selection
        widths = [step.sigma for step in stated.rounds]
        if stated.tally is not None:
            widths += stated.tally.sigmas
        changed = 2 if relation is Neighbours.REPLACE else 1
        mu = math.sqrt(sum(ONE**2 / width**2 for width in widths) * changed)
        chance = 0.0
        for number in range(1, len(stated.rounds) + 1):
            until = stated.rounds[:number]
            weight = ONE * sum(step.coefficient for step in until)
            width = math.sqrt(sum((step.coefficient * step.sigma) ** 2 for step in until))
            chance += float(stats.norm.sf((until[-1].threshold - weight) / width))
        chance *= stated.held * changed
        epsilon = made.guarantee.epsilon
        noise = stats.norm.sf(epsilon / mu - mu / 2)
        noise -= math.exp(epsilon) * stats.norm.sf(epsilon / mu + mu / 2)
        promises = {"stated": made.guarantee.delta, "charged": made.event.guarantee.delta}
        for what, promised in promises.items():
            require(promised >= (noise + chance) * (1 - 1e-6), f"{relation}: less is {what} than it costs")
            require(promised <= (noise + chance) * 1.01, f"{relation}: more is {what} than it costs")


def stated_in(plan: Plan[Any]) -> SingleCount:
    """The single count of a plan."""
    found = plan.schedule.selection
    require(isinstance(found, SingleCount), "not a single count")
    return found  # type: ignore[return-value]


def chances_of(stated: SingleCount) -> dict[int, float]:
    """P(noise = x) as the docs define it, summed up here to 1."""
    a, up = math.exp(-1 / stated.scale), stated.upward
    weights = {x: up * a**x for x in range(stated.most + 1)}
    weights |= {-1 - x: (1 - up) * a**x for x in range(math.ceil(REACH * stated.scale))}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def capped_noise(values: Callable[[int], Whole]) -> AbstractContextManager[None]:
    """Values of our choice in the place of the noise of a single count."""

    def sampler(scale: float, upward: float, most: int, size: int, source: Any) -> Whole:
        del scale, upward, most, source
        return values(size)

    return instead(**{CAPPED: sampler})


def compares_once_as_stated(plan: Plan[Any]) -> str:
    """Noise off: a count at the threshold passes as it is, one below does not; noise moves it by as much."""
    stated = stated_in(plan)
    counts = [stated.least + 3, stated.least, stated.least - 1, 1]
    for moved in (0, 2, -2):
        with capped_noise(lambda size, by=moved: np.full(size, by, np.int64)):  # type: ignore[misc]
            found = publish(plan, crowds(counts))
        expected = {
            item: 0 if plan.mechanism.keys_only else count + moved
            for item, count in enumerate(counts)
            if count + moved >= stated.least
        }
        require(found == expected, "compared with another number, or another number is published")
    return f"from {stated.least}"


def draws_once_as_stated(plan: Plan[Any]) -> str:
    """Items far above the threshold show their noise; each value as often as stated, none together."""
    stated = stated_in(plan)
    if plan.mechanism.keys_only:
        return "no number is published"
    # So far above that noise below the threshold is not seen among so many.
    users, size = stated.least + math.ceil(25 * stated.scale), 4000
    real, asked = execution.__dict__[CAPPED], []

    def noting(scale: float, upward: float, most: int, number: int, source: Any) -> Any:
        asked.append((scale, upward, most, number))
        return real(scale, upward, most, number, source)

    with instead(**{CAPPED: noting}):
        found = publish(plan, crowds([users] * size))
    require(len(found) == size, "an item is not shown")
    sample = np.array([found[item] for item in range(size)]) - users
    require(sample.max() <= stated.most, "noise above its bound")
    _as_often(sample, chances_of(stated), size)
    centred = sample - sample.mean()
    spread = max(float((centred**2).mean()), 1e-9)
    require(spread > 1e-6, "one noise for all")
    for lag in (1, size // 2):
        shared = float((centred[lag:] * centred[:-lag]).mean()) / spread * math.sqrt(size - lag)
        require(abs(shared) < LIMIT, "items share their noise")
    # Too rare to be seen: what lies above the bound.
    require(asked == [(stated.scale, stated.upward, stated.most, size)], "other noise is asked for")
    return f"scale {stated.scale:g}"


def _as_often(sample: NDArray[Any], chances: Mapping[int, float], size: int) -> None:
    """Each value of the noise as often as stated, by a χ² test."""
    middle = [x for x, chance in chances.items() if chance * size > 20]
    low, high = min(middle), max(middle)
    clipped = np.clip(sample, low - 1, high + 1)
    seen = np.array([(clipped == x).sum() for x in range(low - 1, high + 2)])
    below, above = (
        sum(p for x, p in chances.items() if x < low),
        sum(p for x, p in chances.items() if x > high),
    )
    expected = size * np.array([below, *(chances[x] for x in range(low, high + 1)), above])
    many = expected > 5
    statistic = float(((seen - expected) ** 2 / expected)[many].sum())
    require(stats.chi2.sf(statistic, int(many.sum()) - 1) > 1e-8, "noise of another distribution")


def bounds_once_as_stated(plan: Plan[Any]) -> str:
    """Users with more items than allowed, noise off: the counts sum up to what all of them may give."""
    stated = stated_in(plan)
    many = stated.held + 3
    users = 20 * many * (stated.least + 5)
    with capped_noise(lambda size: np.zeros(size, np.int64)):
        found = publish(plan, holdings_of([list(range(many))] * users, many))
    require(sum(found.values()) == users * stated.held, "users are counted in another number of items")
    return f"{stated.held} items"


def outputs(plan: Plan[Any], sets: list[list[int]], kinds: int) -> Counter[Output]:
    """The chance of every output, each combination of noises passed through the real release."""
    chances = chances_of(stated_in(plan))
    present = len({item for held in sets for item in held})
    found: Counter[Output] = Counter()
    for values in product(chances, repeat=present):
        with capped_noise(lambda size, v=values: np.array(v[:size], np.int64)):  # type: ignore[misc]
            shown = publish(plan, holdings_of(sets, kinds))
        found[tuple(sorted(shown.items()))] += math.prod(chances[x] for x in values)  # type: ignore[assignment]
    return found


def divergence(one: Counter[Output], other: Counter[Output], epsilon: float) -> float:
    """δ at ε in this direction."""
    factor = math.exp(epsilon) * (1 + 1e-12)
    return math.fsum(max(0.0, chance - factor * other[output]) for output, chance in one.items())


def diverges_once_as_stated(plan: Plan[Any]) -> str:
    """A user more, or another one, among others of the items, or alone: never above δ, and δ is reached."""
    stated = stated_in(plan)
    own = list(range(stated.held))
    elsewhere = [item + stated.held for item in own]
    promise, worst = plan.guarantee, 0.0
    for others in (0, 1, stated.least - 1, stated.least + 2):
        log = [own] * others
        without = [*log] if plan.neighbours is Neighbours.ADD_REMOVE else [*log, elsewhere]
        left = outputs(plan, without, 2 * stated.held)
        right = outputs(plan, [*log, own], 2 * stated.held)
        for a, b in ((left, right), (right, left)):
            found = divergence(a, b, promise.epsilon)
            require(found <= promise.delta * (1 + 1e-6), f"{found} at {others} others")
            worst = max(worst, found)
    require(worst >= 0.999 * promise.delta, "more is charged than it costs")
    return f"δ = {worst:.3g}"


def charges_once_as_stated(plan: Plan[Any]) -> None:
    """ε and δ computed again; no less is stated and charged, and not 1% more."""
    for relation in Neighbours:
        made = replace(plan.mechanism, neighbours=relation).plan()
        stated = stated_in(made)
        chances = chances_of(stated)
        alone = math.fsum(p for x, p in chances.items() if 1 + x >= stated.least)
        delta = 1 - (1 - max(chances[stated.most], alone)) ** stated.held
        epsilon = stated.held * (2 if relation is Neighbours.REPLACE else 1) / stated.scale
        for what, promised in (("stated", made.guarantee), ("charged", made.event.guarantee)):
            require(promised.neighbours is relation, "another relation is promised")
            for least, value in ((epsilon, promised.epsilon), (delta, promised.delta)):
                require(value >= least * (1 - 1e-9), f"{relation}: less is {what} than it costs")
                require(value <= least * 1.01, f"{relation}: more is {what} than it costs")


def diverges_when_replaced(plan: Plan[Any]) -> None:
    """The same for logs in which a user has another item, by the promise for replacing."""
    diverges_once_as_stated(replace(plan.mechanism, neighbours=Neighbours.REPLACE).plan())
