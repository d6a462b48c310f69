"""The nearest of many directions to a few: products in blocks, of which only the best are kept.

Sorting all products of a text with 82,115 topics to learn the best ten costs several times the products
themselves. Here each product is compared with the least of the best so far, and hardly ever more.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.compiled import compiled

__all__ = ["nearest_rows"]

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
