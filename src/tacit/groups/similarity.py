"""How alike two profiles are: the cosine of their weighted terms (eq. 4)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_BLOCK = 512


def similarity(profile: Mapping[Hashable, float], other: Mapping[Hashable, float]) -> float:
    """Eq. 4 for two profiles given as ``{term: weight}``.

    >>> round(similarity({"kitten": 1, "riding": 0.8}, {"pup": 0.6, "riding": 1}), 3)
    0.536
    """
    dot = math.fsum(weight * other.get(term, 0.0) for term, weight in profile.items())
    length = math.sqrt(math.fsum(w * w for w in profile.values()))
    other_length = math.sqrt(math.fsum(w * w for w in other.values()))
    return dot / (length * other_length) if length and other_length else 0.0


def unit_rows(rows: sparse.csr_array) -> sparse.csr_array:
    """Scale rows, none of which is empty, to length 1: the dot product of two is their eq. 4."""
    lengths = np.sqrt(np.add.reduceat(np.square(rows.data), rows.indptr[:-1], dtype=np.float64))
    lengths[lengths == 0] = 1.0  # weights too small for a float
    scaled = rows.data / np.repeat(lengths, np.diff(rows.indptr))
    return sparse.csr_array((scaled.astype(np.float32), rows.indices, rows.indptr), shape=rows.shape)


def pairwise_similarity(rows: sparse.csr_array) -> NDArray[np.float32]:
    """Eq. 4 of every pair of rows of length 1, as a square matrix."""
    found = np.empty((rows.shape[0], rows.shape[0]), np.float32)
    for begin in range(0, len(found), _BLOCK):
        (rows[begin : begin + _BLOCK] @ rows.T).toarray(out=found[begin : begin + _BLOCK])
    return found
