"""The vectorised sums over who holds what, against their definitions in whole numbers, one user at a time."""

from itertools import pairwise
from math import isqrt
from unittest import mock

import numpy as np
import pytest

from tacit.release import weights
from tacit.release.weights import add_weights, only_weighted, spend, squared_norms


def people(seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Users of whom some hold nothing, some one item, and one many."""
    generator = np.random.default_rng(seed)
    sizes = generator.choice([0, 1, 3, 8, 40], size=60)
    sizes[generator.integers(60)] = 400
    kinds = 500
    items = [generator.choice(kinds, size, replace=False) for size in sizes]
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return starts, np.concatenate(items).astype(np.int32), kinds


def held_by_each(starts: np.ndarray, items: np.ndarray) -> list[list[int]]:
    return [items[first:last].tolist() for first, last in pairwise(starts)]


@pytest.mark.parametrize("block", [1, 7, 1 << 17])
@pytest.mark.parametrize("least", [0, 1, 255**2])
def test_weights_and_norms(block: int, least: int) -> None:
    """Blocks change nothing, nor does leaving out pairs without a value."""
    starts, items, kinds = people(block + least)
    generator = np.random.default_rng(least)
    values = (generator.integers(0, 255 * 64, kinds) * (generator.random(kinds) < 0.5)).astype(np.uint16)
    expected, norms = [0] * kinds, []
    for held in held_by_each(starts, items):
        norms.append(sum(int(values[item]) ** 2 for item in held))
        for item in held:
            norm = max(norms[-1], least)
            expected[item] += isqrt((int(values[item]) ** 2 << 32) // norm) if norm else 0
    with mock.patch.object(weights, "_BLOCK", block):
        for pairs in ((starts, items), only_weighted(starts, items, values)):
            totals, squares = np.zeros(kinds, np.int64), np.zeros(starts.size - 1, np.int64)
            add_weights(*pairs, values, least, totals)
            squared_norms(*pairs, values, squares)
            assert totals.tolist() == expected and squares.tolist() == norms


@pytest.mark.parametrize(("block", "longest"), [(1, -1), (50, 3), (1 << 17, 20)])
def test_allowances_are_spent(block: int, longest: int) -> None:
    """Floors hold for young items, and what is not spent stays in the balance."""
    starts, items, kinds = people(block)
    generator = np.random.default_rng(block)
    ages = generator.integers(0, 5, items.size).astype(np.uint8)
    values, floors = (generator.integers(0, 1 << 11, kinds).astype(np.uint16) for _ in range(2))
    values[generator.random(kinds) < 0.5] = 0
    floors[generator.random(kinds) < 0.5] = 0
    young = generator.integers(0, 5, kinds).astype(np.uint8)
    balances = generator.integers(0, 1 << 39, starts.size - 1)
    unit, part = 1 << 32, 90
    expected, left = [0] * kinds, balances.tolist()
    for user, held in enumerate(held_by_each(starts, items)):
        own = ages[starts[user] : starts[user + 1]].tolist()
        weighed = [
            int(max(values[item], floors[item]) if age < young[item] else values[item])
            for item, age in zip(held, own, strict=True)
        ]
        square = sum(value**2 for value in weighed)
        amount = left[user] if left[user] <= unit else unit + ((left[user] - unit) * part >> 8)
        amount = min(amount, square << longest) if longest >= 0 else amount
        for item, value in zip(held, weighed, strict=True):
            weight = isqrt(value**2 * amount // square) if square else 0
            expected[item] += weight
            left[user] -= weight**2
    totals = np.zeros(kinds, np.int64)
    with mock.patch.object(weights, "_BLOCK", block):
        spend(starts, items, ages, values, floors, young, balances, unit, part, longest, totals)
    assert totals.tolist() == expected and balances.tolist() == left
