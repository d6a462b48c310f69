"""How alike two profiles are: the cosine of their weighted terms (eq. 4)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.groups.loops.similarity import pairwise


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
    def of(cls, rows: sparse.csr_array) -> UnitVectors:
        """Scale each row, none of which is empty, to length 1."""
        offsets = rows.indptr.astype(np.int64)
        lengths = np.sqrt(np.add.reduceat(np.square(rows.data), offsets[:-1], dtype=np.float64))
        lengths[lengths == 0] = 1.0  # weights too small for a float
        scale = np.repeat(lengths.astype(np.float32), np.diff(offsets))
        weights: NDArray[np.float32] = np.divide(rows.data, scale, dtype=np.float32)
        return cls(offsets, rows.indices.astype(np.int32, copy=False), weights, rows.shape[1])

    def matrix(self) -> sparse.csr_array:
        """The rows as a scipy matrix, sharing memory."""
        return sparse.csr_array((self.weights, self.features, self.offsets), shape=(len(self), self.width))

    def __len__(self) -> int:
        return self.offsets.size - 1


def pairwise_similarity(vectors: UnitVectors, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Eq. 4 of every pair among ``rows``, as a square matrix.

    SciPy's product of sparse matrices gives the same numbers in 2.4 to 3 times the processor time
    (``python benchmarks/own_parts.py``): it builds a sparse result that is not sparse.
    """
    return pairwise(
        rows, vectors.offsets, vectors.features, vectors.weights, np.full(vectors.width, -1, np.int32)
    )
