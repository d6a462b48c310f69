"""Checks that hold what an adaptive release does against the rounds from which its guarantee is computed.

Each raises AssertionError, and looks at the release from outside: its real ``publish`` runs, on holdings or
with noise of our choice.

- :func:`compares_as_stated`: at each threshold, coefficient and first cut, exactly, one step apart;
- :func:`draws_as_stated`: each noise has the width stated, for every item and round by itself;
- :func:`bounds_as_stated`: no user has more items or weighs more than stated, in rounds, counts and squares;
- :func:`charges_as_stated`: guarantee and ledger cover all of it, by a computation of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from scipy import stats

from tacit.privacy import Neighbours
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release import execution
from tacit.release.execution import Holdings
from tacit.release.mechanism import Plan
from tacit.release.mechanisms.adaptive import HELD_COLUMNS, HeldItem
from tacit.release.schedule import ONE

__all__ = ["bounds_as_stated", "charges_as_stated", "compares_as_stated", "draws_as_stated", "holdings_of"]

LIMIT = 5.5
"""Standard errors: a false alarm in at most one of 26 million (two-sided, normal approximation)."""
HUGE = 1 << 46


def holdings_of(sets: list[list[int]], kinds: int) -> Holdings:
    """Users with these items."""
    starts = np.concatenate([[0], np.cumsum([len(held) for held in sets])]).astype(np.int64)
    return Holdings(starts, np.array([item for held in sets for item in held], dtype=np.int32), kinds)


@dataclass(frozen=True)
class _Numbered:
    """Items of one kind, each shown as its number."""

    holdings: Holdings

    def of_kind(self, table: str, items: np.ndarray) -> np.ndarray:
        del table
        return np.ones(items.size, np.bool_)

    def keys(self, table: str, items: np.ndarray) -> pa.Table:
        texts = [str(item) for item in items.tolist()]
        if table == "sessions":
            return pa.table({"queries": pa.array([[text] * 2 for text in texts], pa.list_(pa.string()))})
        return pa.table(dict.fromkeys(HELD_COLUMNS[HeldItem(table)], pa.array(texts, pa.string())))


def publish(mechanism: Plan[Any], holdings: Holdings) -> dict[int, int]:
    """What is published: the number of an item to its count (0 where keys alone are published).

    All items are of the first kind that the mechanism releases.
    """
    kind = mechanism.mechanism.items[0]
    made = mechanism.publish(None, {"held": _Numbered(holdings)}, OperatingSystemRandomness())  # type: ignore[arg-type]
    table = made[kind.value]
    counts = table.column("count").to_pylist() if "count" in table.column_names else [0] * len(table)
    keys = [key[0] if isinstance(key, list) else key for key in table.column(0).to_pylist()]
    return {int(key): count for key, count in zip(keys, counts, strict=True)}


@contextmanager
def drawing(draw: Callable[[float, int], np.ndarray] | None = None) -> Iterator[list[tuple[float, Any]]]:
    """Noise of our choice in every place, or what is drawn anyway; all of it is noted with its width."""
    noted: list[tuple[float, Any]] = []

    def noting(real: Any) -> Any:
        def sampler(sigma: float, size: int, source: Any) -> np.ndarray:
            drawn = real(sigma, size, source) if draw is None else draw(sigma, size)
            noted.append((sigma, drawn))
            return drawn

        return sampler

    with mock.patch.object(execution, "discrete_gaussian", noting(execution.discrete_gaussian)):
        yield noted


def compares_as_stated(mechanism: Plan[Any]) -> None:
    """Two items of one user each, whose noise is chosen so that they stand one step apart at every line."""
    stated = mechanism.schedule.selection.rounds
    for number, step in enumerate(stated):
        for line, found in [
            (step.threshold, True),
            (step.steering.cuts[0] if step.steering else None, False),
        ]:
            if line is not None:
                _compares_at(mechanism, number, line, found)


def _compares_at(mechanism: Plan[Any], last: int, line: int, finds: bool) -> None:
    """Item 0 reaches the line in round ``last``, item 1 stays one step below; no other may matter."""
    stated = mechanism.schedule.selection.rounds
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

    def noise(sigma: float, size: int) -> np.ndarray:
        nonlocal drawn
        number, drawn = drawn, drawn + 1
        if number <= last:
            return np.array([plan[number] for plan in plans[:size]], np.int64)
        if number >= len(stated):
            return np.zeros(size, np.int64)  # counting
        # What is not found yet must not be, or what is still in is found now.
        return np.full(size, -HUGE if finds else HUGE, np.int64)

    with drawing(noise):
        found = publish(mechanism, holdings_of([[0], [1]], 2))
    assert set(found) == {0}, f"round {last + 1}: compared with another number than {line}"


def _crowds() -> Holdings:
    """Items of 1 to 60 users of their own each, so that many stay in all rounds."""
    sizes = np.tile(np.arange(1, 61), 50)
    items = np.repeat(np.arange(sizes.size), sizes)
    return Holdings(np.arange(items.size + 1), items.astype(np.int32), sizes.size)


def draws_as_stated(mechanism: Plan[Any]) -> None:
    """Every noise by itself: its width, no item left out in the first round, no draw used again."""
    tally = mechanism.schedule.selection.tally
    widths = [step.sigma for step in mechanism.schedule.selection.rounds]
    widths += tally.sigmas if tally is not None else ()
    log = _crowds()
    gathered: list[list[np.ndarray]] = [[] for _ in widths]
    for _ in range(8 if tally is not None else 1):  # few items reach the counts
        with drawing() as noted:
            publish(mechanism, log)
        assert len(noted) == len(widths), "another number of draws than stated"
        assert noted[0][1].size == log.kinds, "an item without noise in the first round"
        for place, (_, drawn) in enumerate(noted):
            gathered[place].append(drawn)
        for (_, one), (_, two) in pairwise(noted):
            size = min(one.size, two.size)
            assert not np.array_equal(one[:size], two[:size]), "noise is used again"
    if tally is not None:
        for (_, users), _, (_, squares) in _single_draws(mechanism):
            gathered[-3].append(users)
            gathered[-1].append(squares)
    for number, (width, pieces) in enumerate(zip(widths, gathered, strict=True), start=1):
        sample = np.concatenate(pieces) / width
        assert sample.size > 300
        z = (np.mean(sample**2) - 1) * math.sqrt(sample.size / 2)
        assert abs(z) < LIMIT, f"draw {number}: noise of another width than {width} (z = {z:.1f})"
        shared = float(np.mean(sample[1:] * sample[:-1])) * math.sqrt(sample.size)
        assert abs(shared) < LIMIT, f"draw {number}: items share their noise"


def _single_draws(mechanism: Plan[Any]) -> Iterator[list[tuple[float, Any]]]:
    """What the counts of one log draw, many times over: two of their noises are one number a release."""
    log = holdings_of([[0]] * 200, 1)
    schedule = mechanism.schedule.selection
    with drawing(lambda sigma, size: np.full(size, HUGE)):
        found = execution.find(schedule, log, OperatingSystemRandomness())
    for _ in range(400):
        with drawing() as noted:
            execution.take_tally(schedule.tally, log, found, OperatingSystemRandomness())
        yield noted


def bounds_as_stated(mechanism: Plan[Any]) -> None:
    """One user alone, far over every bound; and what that user adds beside others."""
    stated = mechanism.schedule.selection
    many = stated.held + 5
    log = holdings_of([list(range(many))], many)
    weights: list[np.ndarray] = []
    real = execution.add_weights

    def add_weights(starts: Any, items: Any, values: Any, least: int, totals: np.ndarray) -> None:
        real(starts, items, values, least, totals)
        weights.append(totals.copy())

    def lifting(sigma: float, size: int) -> np.ndarray:
        del sigma
        return np.full(size, HUGE, np.int64)

    with drawing(lifting) as noted, mock.patch.object(execution, "add_weights", add_weights):
        found = publish(mechanism, log)
    assert noted[0][1].size <= stated.held, f"{noted[0][1].size} items of a user take part"
    assert len(found) <= stated.held
    for totals in weights:
        assert sum(int(weight) ** 2 for weight in totals) <= ONE**2, "a user weighs more than one"
    if stated.tally is not None:
        _moves_counts_by_one(mechanism)


def _moves_counts_by_one(mechanism: Plan[Any]) -> None:
    """Given what was found, a user more moves each number that gets noise in counting by one unit at most.

    Everybody has one item, and one user has all of them: whatever limit is chosen, that user is clipped.
    """
    stated = mechanism.schedule.selection
    most = min(stated.held, 30)
    others = [[item] for item in range(most) for _ in range(40)]
    logs = [holdings_of(sets, most) for sets in (others, [*others, list(range(most))])]
    found = execution.Found(np.arange(most), np.full(most, 40 * ONE), np.ones(most, np.int64))
    seen: list[list[np.ndarray]] = [[], []]
    for log, numbers in zip(logs, seen, strict=True):

        def noting(true: np.ndarray, noise: np.ndarray, numbers: Any = numbers) -> np.ndarray:
            del noise
            numbers.append(true)
            return seen[0][len(numbers) - 1]  # the same numbers for both, so that limits are the same

        with mock.patch.object(execution, "with_noise", noting):
            execution.take_tally(stated.tally, log, found, OperatingSystemRandomness())
    users, counts, squares = (two - one for one, two in zip(*seen, strict=True))
    assert users.tolist() == [ONE], "a user is not one user"
    assert sum(int(weight) ** 2 for weight in counts) <= ONE**2, "a user is not clipped in the count"
    assert 0 <= squares[0] <= ONE, "a user adds more than one part to the squares"


def charges_as_stated(mechanism: Plan[Any]) -> None:
    """μ and the chance of a disclosure, computed again; no less is stated and charged, and not 1% more."""
    for relation in Neighbours:
        made = replace(mechanism.mechanism, neighbours=relation).plan()
        stated = made.schedule.selection
        widths = [step.sigma for step in stated.rounds]
        if stated.tally is not None:
            widths += stated.tally.sigmas
        replacing = relation is Neighbours.REPLACE
        mu = math.sqrt(sum(ONE**2 / width**2 for width in widths) * (2 if replacing else 1))
        chance = 0.0
        for number in range(1, len(stated.rounds) + 1):
            until = stated.rounds[:number]
            weight = ONE * sum(step.coefficient for step in until)
            width = math.sqrt(sum((step.coefficient * step.sigma) ** 2 for step in until))
            chance += float(stats.norm.sf((until[-1].threshold - weight) / width))
        chance *= stated.held * (2 if replacing else 1)
        epsilon = made.guarantee.epsilon
        noise = stats.norm.sf(epsilon / mu - mu / 2) - math.exp(epsilon) * stats.norm.sf(
            epsilon / mu + mu / 2
        )
        event = made.event
        for what, promised in (("stated", made.guarantee.delta), ("charged", event.guarantee.delta)):
            assert promised >= (noise + chance) * (1 - 1e-6), f"{relation}: less is {what} than it costs"
            assert promised <= (noise + chance) * 1.01, f"{relation}: more is {what} than it costs"
