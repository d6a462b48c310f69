"""Find the nearest of many directions: for several at once in blocks, or quickly for one.

Sorting all products of a text with 82,115 topics to learn the best ten costs several times the products
themselves. :func:`nearest_rows` compares each product with the least of the best so far, and hardly ever
more.

:class:`ScreenedRows` looks coarsely first, then closely. All rows are kept a second time in whole numbers
from
-127 to 127, a quarter of the memory to read through. A product of those misses the true one by no more than
  a
bound that is known beforehand, so whatever could be among the best is found by the coarse look and compared
by
the true rows: the answer is exact. With x = s·X + e and q = t·Q + f, where X and Q are whole numbers, every
|e| ≤ s/2 and every |f| ≤ t/2::

    |x·q - s·t·X·Q|  ≤  s/2 · ‖q‖₁ + t/2 · ‖s·X‖₁
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.compiled import compiled

_BLOCK = 16_384

_Float32 = npt.NDArray[np.float32]
_Int32 = npt.NDArray[np.int32]


@compiled
def _keep_best(cosines: _Float32, begin: int, rows: _Int32, best: _Float32) -> None:
    """Take what is better than the best so far from a block that begins at row ``begin``."""
    last = rows.shape[1] - 1
    for asked in range(cosines.shape[0]):
        least = best[asked, last]
        for place in range(cosines.shape[1]):
            cosine = cosines[asked, place]
            if cosine > least:
                spot = last
                while spot > 0 and best[asked, spot - 1] < cosine:
                    best[asked, spot] = best[asked, spot - 1]
                    rows[asked, spot] = rows[asked, spot - 1]
                    spot -= 1
                best[asked, spot] = cosine
                rows[asked, spot] = begin + place
                least = best[asked, last]


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
    rows = np.zeros((len(distinct), count), np.int32)
    best = np.full((len(distinct), count), -np.inf, np.float32)
    for begin in range(first, len(matrix), _BLOCK):
        _keep_best(distinct @ matrix[begin : begin + _BLOCK].T, begin, rows, best)
    return rows[place], best[place]


def _distinct(asked: _Float32) -> tuple[_Float32, npt.NDArray[np.intp]]:
    """The distinct rows in order of appearance, and which of them each row is."""
    known: dict[bytes, int] = {}
    place = np.array([known.setdefault(row.tobytes(), len(known)) for row in asked], np.intp)
    firsts = np.unique(place, return_index=True)[1]
    return np.ascontiguousarray(asked[firsts], np.float32), place


_LARGEST = 127
_WIDTH = 64
"""Numbers of a row that are multiplied together: a fixed number, so that the loop is vectorised."""
_CHUNK = 8_192
_ROUNDING = 1e-4
"""More than what 32-bit products of directions can be off by."""

_Float32Screened = npt.NDArray[np.float32]
_Int8 = npt.NDArray[np.int8]
_Int32Screened = npt.NDArray[np.int32]


@compiled
def _products(coarse: _Int8, asked: _Int8) -> _Int32Screened:
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
def _least_of_best(products: _Int32Screened, count: int, first: int) -> int:
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

    def __init__(self, matrix: _Float32Screened, first: int = 0) -> None:
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

    def nearest(self, asked: _Float32Screened, count: int) -> tuple[_Int32Screened, _Float32Screened]:
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


def _whole_numbers(rows: _Float32Screened) -> tuple[_Int8, float]:
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
