"""Which group is nearest to a newcomer: the cosine of the profile and what each group shows.

Groups are kept by term, so a look-up walks only the postings of the newcomer's own terms. Groups formed since
the index was made stand in a list beside it; when that grows long the index is made anew.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.groups.store import Shown

__all__ = ["NearestGroups"]

_BESIDE = 256


class NearestGroups:
    """An index over what groups show."""

    def __init__(self, groups: Iterable[tuple[int, Shown]]) -> None:
        self._beside: dict[int, tuple[NDArray[np.int32], NDArray[np.float32]]] = {}
        self._build(groups)

    def _build(self, groups: Iterable[tuple[int, Shown]]) -> None:
        numbers, offsets, terms, weights = [], [0], [], []
        for group, shown in groups:
            numbers.append(group)
            offsets.append(offsets[-1] + shown.terms.size)
            terms.append(shown.terms)
            weights.append(_unit(shown.shares))
        self._numbers = np.array(numbers, np.int64)
        self._alive = np.ones(self._numbers.size)
        width = max((int(held[-1]) + 1 for held in terms if held.size), default=0)
        content = np.concatenate(weights) if weights else np.empty(0, np.float32)
        columns = np.concatenate(terms) if terms else np.empty(0, np.int32)
        rows = sparse.csr_array((content, columns, np.array(offsets)), shape=(len(numbers), width))
        self._by_term = rows.tocsc()

    def add(self, group: int, shown: Shown) -> bool:
        """Take in a group; False when the index should be made anew."""
        self._beside[group] = (shown.terms, _unit(shown.shares))
        return len(self._beside) <= _BESIDE

    def drop(self, group: int) -> None:
        """A group is no more."""
        self._beside.pop(group, None)
        self._alive[self._numbers == group] = 0

    def nearest(self, terms: NDArray[np.int32], weights: NDArray[np.float32]) -> int | None:
        """The group of the largest cosine; None where no group shows any of these terms."""
        scores = np.zeros(self._numbers.size, np.float64)
        columns = self._by_term
        for term, weight in zip(terms.tolist(), weights.tolist(), strict=True):
            if term < columns.shape[1]:
                held = slice(columns.indptr[term], columns.indptr[term + 1])
                scores[columns.indices[held]] += weight * columns.data[held]
        best, score = None, 0.0
        if scores.size:
            place = int(np.argmax(scores * self._alive))
            score = float(scores[place] * self._alive[place])
            best = int(self._numbers[place]) if score > 0 else None
        for group, (held_terms, shares) in self._beside.items():
            _, mine, theirs = np.intersect1d(terms, held_terms, assume_unique=True, return_indices=True)
            found = float(weights[mine] @ shares[theirs])
            if found > score:
                best, score = group, found
        return best


def _unit(shares: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.sqrt(np.square(shares, dtype=np.float64).sum()))
    return shares / np.float32(length) if length else shares
