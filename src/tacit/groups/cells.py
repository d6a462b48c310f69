"""A coarse partition of a large population into cells of similar users, to bundle one after another.

Each profile is sketched: every feature adds its weight, with a random sign and the inverse of how
common it is, to one of a few hundred coordinates (a count sketch, which keeps dot products on average).
The sketches are parted around at most sixteen centres (k-means by cosine, learnt on a sample), and the
parts again, until every part is small enough. Users in different cells are never bundled together,
which is what this loses against the greedy algorithm on everybody (``benchmarks/bundling.py`` measures
it).

Cost: O(postings) for the sketches and O(n log n) for the parting; bundling inside cells of bounded
size is then O(n) in all.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacit.compiled import compiled
from tacit.groups.similarity import UnitVectors

__all__ = ["cells_of_similar_users"]

_COORDINATES = 256
_CENTRES = 16
_ROUNDS = 8
_SAMPLE = 8192
_BLOCK = 65_536
_SMALLEST_SHARE = 0.25
"""A part smaller than this share of a full cell is dissolved: few users make poor groups."""


def cells_of_similar_users(
    vectors: UnitVectors, order: NDArray[np.int64], largest: int, seed: int
) -> list[NDArray[np.int64]]:
    """Part the users into cells of at most ``largest``; cells made one after another are alike.

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
            cells.append(order[places])
        else:
            waiting += _part(sketches, places, largest, randomness)
    return cells


def _part(
    sketches: NDArray[np.float32], places: NDArray[np.int64], largest: int, randomness: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Part these users around centres, each user to the closest one."""
    centres = min(_CENTRES, 2 * math.ceil(places.size / largest))
    sample = sketches[places[:: max(1, places.size // _SAMPLE)]]
    found = _centres(sample, centres, randomness)
    fewest = min(_SMALLEST_SHARE * largest, places.size / 4)
    while True:
        closest = _closest(sketches, places, found)
        sizes = np.bincount(closest, minlength=len(found))
        if sizes.min() >= fewest or len(found) == 1:
            break
        found = np.delete(found, sizes.argmin(), axis=0)
    parts = [places[closest == centre] for centre in range(len(found))]
    # Users who are all alike cannot be told apart: any two halves are as good.
    return parts if len(parts) > 1 else [places[::2], places[1::2]]


def _centres(sample: NDArray[np.float32], count: int, randomness: np.random.Generator) -> NDArray[np.float32]:
    """Lloyd's rounds on a sample, by cosine."""
    centres = sample[np.sort(randomness.choice(len(sample), min(count, len(sample)), replace=False))]
    for _ in range(_ROUNDS):
        closest = np.argmax(sample @ centres.T, axis=1)
        for centre in range(len(centres)):
            total = sample[closest == centre].sum(axis=0)
            length = np.linalg.norm(total)
            if length > 0:
                centres[centre] = total / length
    return centres


def _closest(
    sketches: NDArray[np.float32], places: NDArray[np.int64], centres: NDArray[np.float32]
) -> NDArray[np.int64]:
    """The closest centre of each user, block by block so that no copy of all sketches is made."""
    blocks = [places[begin : begin + _BLOCK] for begin in range(0, places.size, _BLOCK)]
    return np.concatenate([np.argmax(sketches[block] @ centres.T, axis=1) for block in blocks])


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
