"""Checks that hold an adaptive release by a single count against what its guarantee is computed from.

Each raises AssertionError; the real ``publish`` runs, on holdings or with noise of our choice.

- :func:`compares_once_as_stated`: at the threshold, exactly, and the compared number is what is published;
- :func:`draws_once_as_stated`: the noise has the distribution stated, for every item by itself;
- :func:`bounds_once_as_stated`: no user is counted in more items than stated;
- :func:`diverges_once_as_stated`: the exact divergence of what is published on neighbouring logs, every value
  of the noise passed through the release;
- :func:`charges_once_as_stated`: guarantee and ledger cover it, by a computation of their own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
from scipy import stats
from tests.adaptive_checks import LIMIT, holdings_of, publish

from tacit.privacy import Neighbours
from tacit.release import execution
from tacit.release.execution import Holdings
from tacit.release.mechanism import Plan
from tacit.release.schedule import SingleCount

__all__ = [
    "bounds_once_as_stated",
    "charges_once_as_stated",
    "chances_of",
    "compares_once_as_stated",
    "diverges_once_as_stated",
    "diverges_when_replaced",
    "draws_once_as_stated",
]

REACH = 60
"""Noise of more than this many scales below 0 has a chance under 10^-26."""
Output = tuple[tuple[int, int], ...]


def stated_in(mechanism: Plan[Any]) -> SingleCount:
    found = mechanism.schedule.selection
    assert isinstance(found, SingleCount)
    return found


def chances_of(stated: SingleCount) -> dict[int, float]:
    """P(noise = x) as the docs define it, summed up here to 1."""
    a, up = math.exp(-1 / stated.scale), stated.upward
    weights = {x: up * a**x for x in range(stated.most + 1)}
    weights |= {-1 - x: (1 - up) * a**x for x in range(math.ceil(REACH * stated.scale))}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


@contextmanager
def noise(values: Callable[[int], np.ndarray]) -> Iterator[None]:
    def sampler(scale: float, upward: float, most: int, size: int, source: Any) -> np.ndarray:
        del scale, upward, most, source
        return values(size)

    with mock.patch.object(execution, "capped_laplace", sampler):
        yield


def crowds(users: list[int]) -> Holdings:
    """Items of so many users of their own each."""
    items = np.repeat(np.arange(len(users)), users)
    return Holdings(np.arange(items.size + 1), items.astype(np.int32), len(users))


def compares_once_as_stated(mechanism: Plan[Any]) -> None:
    """Noise off: a count at the threshold passes as it is, one below does not; noise moves it by as much."""
    stated = stated_in(mechanism)
    shown = 0 if mechanism.mechanism.keys_only else None
    counts = [stated.least + 3, stated.least, stated.least - 1, 1]
    for moved in (0, 2, -2):
        with noise(lambda size, by=moved: np.full(size, by, np.int64)):
            found = publish(mechanism, crowds(counts))
        expected = {
            item: count + moved if shown is None else shown
            for item, count in enumerate(counts)
            if count + moved >= stated.least
        }
        assert found == expected, "compared with another number, or another number is published"


def draws_once_as_stated(mechanism: Plan[Any]) -> None:
    """Items far above the threshold show their noise; each value as often as stated, none together."""
    stated = stated_in(mechanism)
    assert not mechanism.mechanism.keys_only
    # So far above that noise below the threshold is not seen among so many.
    users, size = stated.least + math.ceil(25 * stated.scale), 4000
    real, asked = execution.capped_laplace, []

    def noting(scale: float, upward: float, most: int, number: int, source: Any) -> np.ndarray:
        asked.append((scale, upward, most, number))
        return real(scale, upward, most, number, source)

    with mock.patch.object(execution, "capped_laplace", noting):
        found = publish(mechanism, crowds([users] * size))
    assert len(found) == size
    sample = np.array([found[item] for item in range(size)]) - users
    assert sample.max() <= stated.most, "noise above its bound"
    chances = chances_of(stated)
    middle = [x for x, chance in chances.items() if chance * size > 20]
    low, high = min(middle), max(middle)
    cells = [*range(low, high + 1)]
    seen = np.array([(np.clip(sample, low - 1, high + 1) == x).sum() for x in range(low - 1, high + 2)])
    expected = np.array(
        [
            sum(p for x, p in chances.items() if x < low),
            *(chances[x] for x in cells),
            sum(p for x, p in chances.items() if x > high),
        ]
    )
    many = expected * size > 5
    statistic = float(((seen - expected * size) ** 2 / (expected * size))[many].sum())
    assert stats.chi2.sf(statistic, int(many.sum()) - 1) > 1e-8, "noise of another distribution"
    centred = sample - sample.mean()
    spread = max(float((centred**2).mean()), 1e-9)
    assert spread > 1e-6, "one noise for all"
    for lag in (1, size // 2):
        shared = float((centred[lag:] * centred[:-lag]).mean()) / spread * math.sqrt(size - lag)
        assert abs(shared) < LIMIT, "items share their noise"
    # Too rare to be seen: what lies above the bound.
    assert asked == [(stated.scale, stated.upward, stated.most, size)], "other noise is asked for"


def bounds_once_as_stated(mechanism: Plan[Any]) -> None:
    """Users with more items than allowed, noise off: the counts sum up to what all of them may give."""
    stated = stated_in(mechanism)
    assert not mechanism.mechanism.keys_only
    many = stated.held + 3
    users = 20 * many * (stated.least + 5)
    with noise(lambda size: np.zeros(size, np.int64)):
        found = publish(mechanism, holdings_of([list(range(many))] * users, many))
    assert sum(found.values()) == users * stated.held, "users are counted in another number of items"


def outputs(mechanism: Plan[Any], sets: list[list[int]], kinds: int) -> Counter[Output]:
    """The chance of every output, each combination of noises passed through the real release."""
    chances = chances_of(stated_in(mechanism))
    present = len({item for held in sets for item in held})
    found: Counter[Output] = Counter()
    known: dict[tuple[int, ...], float] = {
        values: math.prod(chances[x] for x in values) for values in product(chances, repeat=present)
    }
    for values, chance in known.items():
        with noise(lambda size, v=values: np.array(v[:size], np.int64)):
            shown = publish(mechanism, holdings_of(sets, kinds))
        found[tuple(sorted(shown.items()))] += chance
    return found


def divergence(one: Counter[Output], other: Counter[Output], epsilon: float) -> float:
    factor = math.exp(epsilon) * (1 + 1e-12)
    return math.fsum(max(0.0, chance - factor * other[output]) for output, chance in one.items())


def diverges_once_as_stated(mechanism: Plan[Any]) -> None:
    """A user more, or another one, among others of the items, or alone: never above δ, and δ is reached."""
    stated = stated_in(mechanism)
    own = list(range(stated.held))
    elsewhere = [item + stated.held for item in own]
    adding = mechanism.neighbours is Neighbours.ADD_REMOVE
    promise, worst = mechanism.guarantee, 0.0
    for others in (0, 1, stated.least - 1, stated.least + 2):
        log = [own] * others
        without = [*log] if adding else [*log, elsewhere]
        left = outputs(mechanism, without, 2 * stated.held)
        right = outputs(mechanism, [*log, own], 2 * stated.held)
        for a, b in ((left, right), (right, left)):
            found = divergence(a, b, promise.epsilon)
            assert found <= promise.delta * (1 + 1e-6), f"{found} at {others} others"
            worst = max(worst, found)
    assert worst >= 0.999 * promise.delta, "more is charged than it costs"


def charges_once_as_stated(mechanism: Plan[Any]) -> None:
    """ε and δ computed again; no less is stated and charged, and not 1% more."""
    for relation in Neighbours:
        made = replace(mechanism.mechanism, neighbours=relation).plan()
        stated = stated_in(made)
        chances = chances_of(stated)
        alone = math.fsum(p for x, p in chances.items() if 1 + x >= stated.least)
        delta = 1 - (1 - max(chances[stated.most], alone)) ** stated.held
        epsilon = stated.held * (2 if relation is Neighbours.REPLACE else 1) / stated.scale
        for what, promised in (("stated", made.guarantee), ("charged", made.event.guarantee)):
            assert promised.neighbours is relation
            for least, value in ((epsilon, promised.epsilon), (delta, promised.delta)):
                assert value >= least * (1 - 1e-9), f"{relation}: less is {what} than it costs"
                assert value <= least * 1.01, f"{relation}: more is {what} than it costs"


def diverges_when_replaced(mechanism: Plan[Any]) -> None:
    """The same for logs in which a user has another item, by the promise for replacing."""
    diverges_once_as_stated(replace(mechanism.mechanism, neighbours=Neighbours.REPLACE).plan())
