"""How alike two profiles are: the cosine of their weighted terms (eq. 4)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.compiled import compiled


def similarity(profile: Mapping[Hashable, float], other: Mapping[Hashable, float]) -> float:
    """Eq. 4 for two profiles given as ``{term: weight}``.

    >>> round(similarity({"kitten": 1, "riding": 0.8}, {"pup": 0.6, "riding": 1}), 3)
    0.536
    """
    dot = math.fsum(weight * other.get(term, 0.0) for term, weight in profile.items())
    length = math.sqrt(math.fsum(w * w for w in profile.values()))
    other_length = math.sqrt(math.fsum(w * w for w in other.values()))
    return dot / (length * other_length) if length and other_length else 0.0


@dataclass(frozen=True, eq=False)
class UnitVectors:
    """Sparse rows of length 1: the dot product of two is their eq. 4.

    Attributes:
        offsets, features, weights: the rows, compressed; features are terms or synonym sets.
        width: the number of features.
    """

    offsets: NDArray[np.int64]
    features: NDArray[np.int32]
    weights: NDArray[np.float32]
    width: int

    @classmethod
    def of(
        cls, offsets: NDArray[np.int64], features: NDArray[np.int32], weights: NDArray[np.float32], width: int
    ) -> UnitVectors:
        """Scale each row to length 1, in place: the weights become the vectors' own."""
        _scale_rows(offsets, weights)
        return cls(offsets, features, weights, width)

    def __len__(self) -> int:
        return self.offsets.size - 1


@compiled
def _scale_rows(offsets: NDArray[np.int64], weights: NDArray[np.float32]) -> None:
    for row in range(offsets.size - 1):
        square = 0.0
        for at in range(offsets[row], offsets[row + 1]):
            square += weights[at] * weights[at]
        if square > 0:
            length = np.float32(math.sqrt(square))
            for at in range(offsets[row], offsets[row + 1]):
                weights[at] /= length


def pairwise_similarity(vectors: UnitVectors, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Eq. 4 of every pair among ``rows``, as a square matrix.

    SciPy's product of sparse matrices gives the same numbers in 2.4 to 3 times the processor time
    (``python benchmarks/own_parts.py``): it builds a sparse result that is not sparse.
    """
    return _pairwise(
        rows, vectors.offsets, vectors.features, vectors.weights, np.full(vectors.width, -1, np.int32)
    )


@compiled
def _postings_by_feature(
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    features: NDArray[np.int32],
    local: NDArray[np.int32],
) -> tuple[int, NDArray[np.int64]]:
    """Number the features that occur (into ``local``); give where each one's postings begin."""
    postings = 0
    for row in rows:
        postings += offsets[row + 1] - offsets[row]
    starts = np.zeros(postings + 1, np.int64)
    distinct = 0
    for row in rows:
        for at in range(offsets[row], offsets[row + 1]):
            feature = features[at]
            if local[feature] < 0:
                local[feature] = distinct
                distinct += 1
            starts[local[feature] + 1] += 1
    for feature in range(distinct):
        starts[feature + 1] += starts[feature]
    return distinct, starts


@compiled
def _pairwise(
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    features: NDArray[np.int32],
    weights: NDArray[np.float32],
    local: NDArray[np.int32],
) -> NDArray[np.float32]:
    """Walk each row's features through an index that grows row by row, so each pair is met once."""
    distinct, starts = _postings_by_feature(rows, offsets, features, local)
    filled = starts[:distinct].copy()
    posting_row = np.empty(starts[distinct], np.int32)
    posting_weight = np.empty(starts[distinct], np.float32)
    result = np.zeros((rows.size, rows.size), np.float32)
    for index in range(rows.size):
        row = rows[index]
        line = result[index]
        for at in range(offsets[row], offsets[row + 1]):
            feature = local[features[at]]
            weight = weights[at]
            for posting in range(starts[feature], filled[feature]):
                line[posting_row[posting]] += weight * posting_weight[posting]
            line[index] += weight * weight
        for at in range(offsets[row], offsets[row + 1]):
            feature = local[features[at]]
            posting_row[filled[feature]] = index
            posting_weight[filled[feature]] = weights[at]
            filled[feature] += 1
        for other in range(index):
            result[other, index] = line[other]
    return result
