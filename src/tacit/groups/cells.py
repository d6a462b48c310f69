"""A coarse partition of a large population into cells of similar users, to bundle one after another.

Each profile is sketched: every feature adds its weight, with a random sign and the inverse of how
common it is, to one of a few dozen coordinates (a count sketch, which keeps dot products on average).
The sketches are then halved again and again, each time at the median along the direction in which
they vary most, until every part is small enough. Halves are equal, so cells are balanced whatever the
data; users on two sides of a cut are never bundled together, which is what this loses against the
greedy algorithm on everybody (measured in ``benchmarks/bundling.py``).

Cost: O(postings) for the sketches and O(n log n) for the halving; bundling inside cells of a fixed
size is then O(n) similarity matrices of that size: linear in n in all but the logarithm.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacit.groups.compiled import compiled
from tacit.groups.similarity import UnitVectors

__all__ = ["cells_of_similar_users"]

_COORDINATES = 256
_SAMPLE = 4096
_POWER_STEPS = 6


def cells_of_similar_users(
    vectors: UnitVectors, order: NDArray[np.int64], largest: int, seed: int
) -> list[NDArray[np.int64]]:
    """Cut the users into cells of at most ``largest``; neighbouring cells are the most alike.

    Args:
        order: the users in canonical order; cells list them in that order.
    """
    randomness = np.random.default_rng(seed)
    sketches = _sketch(vectors, order, randomness)
    cells = []
    waiting = [np.arange(order.size)]
    while waiting:
        places = waiting.pop()
        if places.size <= largest:
            cells.append(order[np.sort(places)])
            continue
        along = sketches[places] @ _widest_direction(sketches, places, randomness)
        ranked = places[np.argsort(along, kind="stable")]
        half = places.size // 2
        waiting += [ranked[half:], ranked[:half]]
    return cells


def _sketch(
    vectors: UnitVectors, order: NDArray[np.int64], randomness: np.random.Generator
) -> NDArray[np.float32]:
    common = np.bincount(vectors.features, minlength=vectors.width)
    rarity = np.log(len(vectors) / np.maximum(common, 1)).astype(np.float32)
    sign = randomness.integers(0, 2, vectors.width).astype(np.float32) * 2 - 1
    coordinate = randomness.integers(0, _COORDINATES, vectors.width).astype(np.int32)
    sketches = np.zeros((order.size, _COORDINATES), np.float32)
    _fill_sketches(
        order, vectors.offsets, vectors.features, vectors.weights, coordinate, sign * rarity, sketches
    )
    return sketches


@compiled
def _fill_sketches(
    order: NDArray[np.int64],
    offsets: NDArray[np.int64],
    features: NDArray[np.int32],
    weights: NDArray[np.float32],
    coordinate: NDArray[np.int32],
    factor: NDArray[np.float32],
    sketches: NDArray[np.float32],
) -> None:
    for place in range(order.size):
        sketch = sketches[place]
        for at in range(offsets[order[place]], offsets[order[place] + 1]):
            feature = features[at]
            sketch[coordinate[feature]] += weights[at] * factor[feature]
        square = np.float32(0)
        for value in sketch:
            square += value * value
        if square > 0:
            sketch /= np.float32(math.sqrt(square))


def _widest_direction(
    sketches: NDArray[np.float32], places: NDArray[np.int64], randomness: np.random.Generator
) -> NDArray[np.float32]:
    """The leading principal direction of a sample, by a few steps of power iteration."""
    step = max(1, places.size // _SAMPLE)
    sample = sketches[places[::step]]
    sample = sample - sample.mean(axis=0)
    direction = randomness.standard_normal(_COORDINATES).astype(np.float32)
    for _ in range(_POWER_STEPS):
        direction = sample.T @ (sample @ direction)
        length = float(np.linalg.norm(direction))
        if length == 0:  # all sketches are equal: any cut is as good
            return np.ones(_COORDINATES, np.float32)
        direction = direction / np.float32(length)
    return direction
