"""Find the nearest of many directions.

Sorting all products of a text with 82,115 topics to learn the best ten costs several times the products
themselves. The largest products of blocks of rows give a threshold that at least as many rows reach as are
asked for, and hardly any more: only these are sorted.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_BLOCK = 256
_AT_ONCE = 32
"""So many directions are compared together: their products with all topics take 10 MB."""

_Float32 = npt.NDArray[np.float32]
_Int32 = npt.NDArray[np.int32]


def nearest_rows(matrix: _Float32, asked: _Float32, count: int, first: int = 0) -> tuple[_Int32, _Float32]:
    """The ``count`` rows of ``matrix`` with the largest products with each row asked for, best first.

    Of equal products the lower row comes first. Rows asked for twice are compared once.

    Args:
        matrix: at least ``first + count`` rows.
        asked: the directions to compare with.
        count: how many, 1 or more.
        first: rows before this one are no answer.
    """
    distinct, place = _distinct(asked)
    rows = np.empty((len(distinct), count), np.int32)
    best = np.empty((len(distinct), count), np.float32)
    for begin in range(0, len(distinct), _AT_ONCE):
        products = distinct[begin : begin + _AT_ONCE] @ matrix[first:].T
        least = _least_to_sort(products, count)
        for number, product in enumerate(products, start=begin):
            found = np.flatnonzero(product >= least[number - begin])
            order = np.argsort(-product[found], kind="stable")[:count]
            rows[number], best[number] = first + found[order], product[found[order]]
    return rows[place], best[place]


def _least_to_sort(products: _Float32, count: int) -> _Float32:
    """For each row of products, a value that at least ``count`` of them reach."""
    blocks = products.shape[1] // _BLOCK
    if blocks < count:
        return np.partition(products, -count, axis=1)[:, -count]
    # Each of the ``count`` blocks with the largest maxima holds a product as large as the least of these.
    largest = products[:, : blocks * _BLOCK].reshape(len(products), blocks, _BLOCK).max(axis=2)
    return np.partition(largest, -count, axis=1)[:, -count]


def _distinct(asked: _Float32) -> tuple[_Float32, npt.NDArray[np.intp]]:
    """The distinct rows in order of appearance, and which of them each row is."""
    known: dict[bytes, int] = {}
    place = np.array([known.setdefault(row.tobytes(), len(known)) for row in asked], np.intp)
    firsts = np.unique(place, return_index=True)[1]
    return np.ascontiguousarray(asked[firsts], np.float32), place
