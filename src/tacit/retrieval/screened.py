"""The nearest of many directions to one, when it must be quick: a coarse look first, then a close one.

All rows are kept a second time in whole numbers from -127 to 127, a quarter of the memory to read through. A
product of those misses the true one by no more than a bound that is known beforehand, so whatever could be
among the best is found by the coarse look and compared by the true rows: the answer is exact.

With x = s·X + e and q = t·Q + f, where X and Q are whole numbers, every |e| ≤ s/2 and every |f| ≤ t/2::

    |x·q - s·t·X·Q|  ≤  s/2 · ‖q‖₁ + t/2 · ‖s·X‖₁
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.compiled import compiled

__all__ = ["ScreenedRows"]

_LARGEST = 127
_WIDTH = 64
"""Numbers of a row that are multiplied together: a fixed number, so that the loop is vectorised."""
_CHUNK = 8_192
_ROUNDING = 1e-4
"""More than what 32-bit products of directions can be off by."""

_Float32 = npt.NDArray[np.float32]
_Int8 = npt.NDArray[np.int8]
_Int32 = npt.NDArray[np.int32]


@compiled
def _products(coarse: _Int8, asked: _Int8) -> _Int32:
    """The product of every row, whose numbers lie in blocks, with what is asked."""
    products = np.zeros(coarse.shape[1], np.int32)
    for block in range(coarse.shape[0]):
        for row in range(coarse.shape[1]):
            product = np.int32(0)
            for place in range(_WIDTH):
                product += np.int32(coarse[block, row, place]) * np.int32(asked[block, place])
            products[row] += product
    return products


@compiled
def _least_of_best(products: _Int32, count: int, first: int) -> int:
    """The least of the ``count`` largest from ``first`` on."""
    best = np.full(count, -(1 << 30), np.int32)
    last = count - 1
    for row in range(first, products.size):
        product = products[row]
        if product > best[last]:
            spot = last
            while spot > 0 and best[spot - 1] < product:
                best[spot] = best[spot - 1]
                spot -= 1
            best[spot] = product
    return int(best[last])


class ScreenedRows:
    """Rows of length 1 at most, ready for quick questions.

    Args:
        matrix: the rows.
        first: rows before this one are no answer.
    """

    def __init__(self, matrix: _Float32, first: int = 0) -> None:
        self._matrix = matrix
        self._first = first
        self._coarse, self._scale = _whole_numbers(np.asarray(matrix))
        self._longest = self._scale * max(
            (
                int(np.abs(self._coarse[:, begin : begin + _CHUNK]).sum(axis=(0, 2), dtype=np.int32).max())
                for begin in range(0, len(matrix), _CHUNK)
            ),
            default=0,
        )

    def nearest(self, asked: _Float32, count: int) -> tuple[_Int32, _Float32]:
        """The ``count`` rows (there must be as many) with the largest products with ``asked``, best first.

        Of equal products the lower row comes first.
        """
        coarse, scale = _whole_numbers(asked[None, :])
        products = _products(self._coarse, coarse[:, 0])
        least = _least_of_best(products, count, self._first)
        off = self._scale * float(np.abs(asked).sum()) / 2 + scale * self._longest / 2 + _ROUNDING
        step = self._scale * scale
        # The least of the best is off to one side, whatever replaces it to the other.
        reach = least - 2 * off / step if step > 0 else -np.inf
        rows = self._first + np.flatnonzero(products[self._first :] >= reach)
        exact = self._matrix[rows] @ asked
        order = np.argsort(-exact, kind="stable")[:count]
        return rows[order].astype(np.int32), exact[order]


def _whole_numbers(rows: _Float32) -> tuple[_Int8, float]:
    """The rows in whole numbers, in blocks filled up with zeros, and what they are to be multiplied by."""
    scale = float(np.abs(rows).max(initial=0)) / _LARGEST
    blocks = -(-rows.shape[1] // _WIDTH)
    coarse = np.zeros((blocks, len(rows), _WIDTH), np.int8)
    if scale > 0:
        for block in range(blocks):
            part = rows[:, block * _WIDTH : (block + 1) * _WIDTH]
            for begin in range(0, len(rows), _CHUNK):
                some = np.rint(part[begin : begin + _CHUNK] / np.float32(scale))
                coarse[block, begin : begin + _CHUNK, : part.shape[1]] = some
    return coarse, scale
