"""The rounds of selection, carried out: the only code that weighs, draws noise and compares for them.

What a user's weights depend on: the user's own items, the noisy numbers of those items in earlier rounds, and
the schedule. What happens to an item depends on its own noisy numbers alone. Nothing is normalised, ranked or
fitted over items, and no order of items or users plays a part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.compiled import compiled
from tacit.privacy.gaussian import discrete_gaussian
from tacit.privacy.randomness import RandomSource
from tacit.release.adaptive.rounds_schedule import LARGEST_VALUE, RoundsSchedule, StepFunction

__all__ = ["Found", "Holdings", "add_weights", "cut_to", "find", "noisy_weights", "stepped"]

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Holdings:
    """Who holds which items: those of user u are ``items[starts[u]:starts[u+1]]``, each once. Secret."""

    starts: Whole
    items: NDArray[np.int32]
    kinds: int
    """How many different items there are; they are numbered from 0."""


@dataclass(frozen=True)
class Found:
    """What the rounds found.

    Args:
        items: the numbers of found items.
        first: the noisy weight of each in the first round.
        rounds: the round in which each was found, from 1.
    """

    items: NDArray[np.int64]
    first: Whole
    rounds: NDArray[np.int64]


def cut_to(holdings: Holdings, held: int, source: RandomSource) -> Holdings:
    """At most ``held`` items per user, drawn by lot among the user's own, once and for all rounds.

    The user's own randomness decides: neither other users nor the numbering of items has a say.
    """
    sizes = np.diff(holdings.starts)
    if sizes.size == 0 or sizes.max() <= held:
        return holdings
    many = np.flatnonzero(sizes > held)
    keep = np.ones(holdings.items.size, dtype=np.bool_)
    for start, size in zip(holdings.starts[many].tolist(), sizes[many].tolist(), strict=True):
        # 64 random bits an item, the smallest stay; equal ones are drawn again with all the others.
        lots = source.words(size)
        while np.unique(lots).size < size:
            lots = source.words(size)
        keep[start + np.argsort(lots)[held:]] = False
    starts = np.concatenate([[0], np.cumsum(np.minimum(sizes, held))]).astype(np.int64)
    return Holdings(starts, holdings.items[keep], holdings.kinds)


def _whole_root(square: Any) -> int:
    """The whole part of the square root, for numbers up to 2^52."""
    root = int(math.sqrt(square))
    while root * root > square:
        root -= 1
    while (root + 1) * (root + 1) <= square:
        root += 1
    return root


_root = compiled(_whole_root)


def _add_weights(
    starts: Whole, items: NDArray[np.int32], values: NDArray[np.uint8], least: int, totals: Whole
) -> None:
    """Add every user's weights, isqrt(v²·2^32 / max(Σv², least)): their squares sum to at most 2^32."""
    for user in range(starts.size - 1):
        square = np.int64(0)
        for place in range(starts[user], starts[user + 1]):
            value = np.int64(values[items[place]])
            square += value * value
        if square == 0:
            continue
        if square < least:
            square = np.int64(least)
        for place in range(starts[user], starts[user + 1]):
            value = np.int64(values[items[place]])
            if value:
                totals[items[place]] += _root(((value * value) << 32) // square)


add_weights = compiled(_add_weights)


def noisy_weights(
    holdings: Holdings,
    values: NDArray[np.uint8],
    present: Whole,
    sigma: int,
    source: RandomSource,
    least: int = 0,
) -> Whole:
    """The weight of each present item, summed over users, with noise: on every one, weighted or not."""
    totals = np.zeros(holdings.kinds, dtype=np.int64)
    add_weights(holdings.starts, holdings.items, values, least, totals)
    return totals[present] + discrete_gaussian(sigma, present.size, source)


def stepped(steps: StepFunction, numbers: Whole) -> NDArray[np.uint8]:
    """The value of the step function at each number."""
    values = np.array((0, *steps.values), dtype=np.uint8)
    return values[np.searchsorted(np.array(steps.cuts, dtype=np.int64), numbers, side="right")]


def find(schedule: RoundsSchedule, holdings: Holdings, source: RandomSource) -> Found:
    """Carry out the rounds of selection.

    An item whose steering says 0 is out for good, by its own noisy numbers, so no more noise is drawn for it:
    whatever it would be, it is not looked at.
    """
    holdings = cut_to(holdings, schedule.held, source)
    present = np.flatnonzero(np.bincount(holdings.items, minlength=holdings.kinds)).astype(np.int64)
    values = np.full(holdings.kinds, LARGEST_VALUE, dtype=np.uint8)
    standing = np.zeros(present.size, dtype=np.int64)
    first = np.zeros(0, dtype=np.int64)
    listed: list[tuple[Whole, Whole, Whole]] = []
    for number, step in enumerate(schedule.rounds, start=1):
        noisy = noisy_weights(holdings, values, present, step.sigma, source)
        if number == 1:
            first = noisy
        standing = standing + step.coefficient * noisy
        reached = standing >= step.threshold
        listed.append((present[reached], first[reached], np.full(int(reached.sum()), number)))
        values[present] = 0
        if step.steering is None:
            break
        weights = stepped(step.steering, standing)
        staying = ~reached & (weights > 0)
        present, standing, first = present[staying], standing[staying], first[staying]
        values[present] = weights[staying]
    items, starts, rounds = (np.concatenate(column) for column in zip(*listed, strict=True))
    return Found(items, starts, rounds)
