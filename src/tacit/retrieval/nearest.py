"""Find the nearest of many directions: for several at once, or quickly for one.

Sorting all products of a text with 82,115 topics to learn the best ten costs several times the products
themselves. The largest products of blocks of rows give a threshold that at least as many rows reach as are
asked for, and hardly any more: only these are sorted.

:class:`ScreenedRows` looks coarsely first, then closely. All rows are kept a second time in whole numbers
from -127 to 127, a quarter of the memory to read through. A product of those misses the true one by no more
than a bound that is known beforehand, so whatever could be among the best is found by the coarse look and
compared by the true rows: the answer is exact. With x = s·X + e and q = t·Q + f, where X and Q are whole
numbers, every |e| ≤ s/2 and every |f| ≤ t/2::

    |x·q - s·t·X·Q|  ≤  s/2 · ‖q‖₁ + t/2 · ‖s·X‖₁
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tacit.retrieval.loops.products import WIDTH, add_products

_BLOCK = 256
_AT_ONCE = 32
"""So many directions are compared together: their products with all topics take 10 MB."""

_LARGEST = 127
_CHUNK = 8_192
_ROUNDING = 1e-4
"""More than what 32-bit products of directions can be off by."""

_Float32 = npt.NDArray[np.float32]
_Int8 = npt.NDArray[np.int8]
_Int32 = npt.NDArray[np.int32]

_Products = TypeVar("_Products", _Float32, _Int32)


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


def _least_to_sort(products: _Products, count: int) -> _Products:
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


class ScreenedRows:
    """Rows of length 1 at most, ready for quick questions.

    Args:
        matrix: the rows.
        first: rows before this one are no answer.
    """

    def __init__(self, matrix: _Float32, first: int = 0) -> None:
        self._matrix = matrix
        self._first = first
        self._coarse, self._scale = _whole_numbers(matrix[first:])
        self._longest = self._scale * max(
            (
                int(np.abs(self._coarse[:, begin : begin + _CHUNK]).sum(axis=(0, 2), dtype=np.int32).max())
                for begin in range(0, self._coarse.shape[1], _CHUNK)
            ),
            default=0,
        )

    def nearest(self, asked: _Float32, count: int) -> tuple[_Int32, _Float32]:
        """The ``count`` rows (there must be as many) with the largest products with ``asked``, best first.

        Of equal products the lower row comes first.
        """
        coarse, scale = _whole_numbers(asked[None, :])
        products = np.zeros((1, self._coarse.shape[1]), np.int32)
        add_products(self._coarse, coarse[:, 0], products[0])
        off = self._scale * float(np.abs(asked).sum()) / 2 + scale * self._longest / 2 + _ROUNDING
        step = self._scale * scale
        # The least of the best is off to one side, whatever replaces it to the other.
        reach = _least_to_sort(products, count)[0] - 2 * off / step if step > 0 else -np.inf
        rows = self._first + np.flatnonzero(products[0] >= reach)
        exact = self._matrix[rows] @ asked
        order = np.argsort(-exact, kind="stable")[:count]
        return rows[order].astype(np.int32), exact[order]


def _whole_numbers(rows: _Float32) -> tuple[_Int8, float]:
    """The rows in whole numbers, in blocks filled up with zeros, and what they are to be multiplied by."""
    scale = float(np.abs(rows).max(initial=0)) / _LARGEST
    blocks = -(-rows.shape[1] // WIDTH)
    coarse = np.zeros((blocks, len(rows), WIDTH), np.int8)
    if scale > 0:
        for block in range(blocks):
            part = rows[:, block * WIDTH : (block + 1) * WIDTH]
            for begin in range(0, len(rows), _CHUNK):
                some = np.rint(part[begin : begin + _CHUNK] / np.float32(scale))
                coarse[block, begin : begin + _CHUNK, : part.shape[1]] = some
    return coarse, scale
