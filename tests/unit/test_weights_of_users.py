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
    with mock.patch.object(weights, "BLOCK", block):
        for pairs in ((starts, items), only_weighted(starts, items, values)):
            totals, squares = np.zeros(kinds, np.int64), np.zeros(starts.size - 1, np.int64)
            add_weights(*pairs, values, least, totals)
            squared_norms(*pairs, values, squares)
            assert totals.tolist() == expected and squares.tolist() == norms


@pytest.mark.parametrize(("block", "longest"), [(1, -1), (50, 3), (1 << 17, 20)])
def test_allowances_are_spent(block: int, longest: int) -> None:
    """Whatever the order of pairs; and what is not spent stays in the balance."""
    starts, items, kinds = people(block)
    generator = np.random.default_rng(block)
    owners = np.repeat(np.arange(starts.size - 1, dtype=np.int32), np.diff(starts))
    values = (generator.integers(0, 1 << 11, items.size) * (generator.random(items.size) < 0.7)).astype(
        np.uint16
    )
    values[owners == owners[-1]] = (1 << 11) - 1
    balances = generator.integers(0, 1 << 40, starts.size - 1)
    balances[owners[-1]] = (1 << 40) - 1
    unit, part = 1 << 32, 90
    expected, left = [0] * kinds, balances.tolist()
    for user in range(starts.size - 1):
        own = range(starts[user], starts[user + 1])
        square = sum(int(values[place]) ** 2 for place in own)
        amount = left[user] if left[user] <= unit else unit + ((left[user] - unit) * part >> 8)
        amount = min(amount, square << longest) if longest >= 0 else amount
        factor = isqrt((amount << 22) // max(1, square))
        mine = [int(values[place]) * factor >> 11 for place in own]
        for place, weight in zip(own, mine, strict=True):
            expected[items[place]] += weight
        spent = sum(weight**2 for weight in mine)
        assert spent <= amount
        if square:  # all but what is rounded down, of weights and of their common factor
            assert sum((weight + 1) ** 2 for weight in mine) * (factor + 1) ** 2 >= amount * factor**2
        left[user] -= spent
    order = generator.permutation(items.size)
    totals = np.zeros(kinds, np.int64)
    with mock.patch.object(weights, "BLOCK", block):
        spend(owners[order], items[order], values[order], balances, unit, part, longest, totals)
    assert totals.tolist() == expected and balances.tolist() == left


def test_a_root_is_never_too_large() -> None:
    """Where the double nearest to a large number is the square of the next whole number."""
    balances, totals = np.array([(1 << 40) - 1]), np.zeros(1, np.int64)
    one = np.zeros(1, np.int32)
    spend(one, one, np.ones(1, np.uint16), balances, 1 << 62, 256, -1, totals)
    assert totals[0] == isqrt((1 << 40) - 1) == (1 << 20) - 1
    assert balances[0] >= 0
