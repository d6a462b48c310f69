"""Exact, vectorised inversion: from uniform bits to a value whose distribution is given by thresholds.

Let 0 < F_1 < F_2 < ... < F_n < 1 and let U be uniform on [0, 1). The value drawn is the number of
thresholds at or under U, so P(value ≥ t) = P(U ≥ F_t) = 1 - F_t. U is never rounded: its binary
digits are drawn only as far as they are needed to place it between two thresholds.

1. The first 16 digits name one of 2^16 cells. In most cells no threshold lies; a table holds their
   value.
2. In the others 48 further digits are drawn and compared with the thresholds' own first 64 digits,
   which were computed with proven bounds.
3. If all 64 digits agree with those of a threshold, U and the threshold are refined together, 64
   digits at a time, until they part.

Every step decides on proven inequalities alone, so the value is the one that the infinite sequence
of digits would have given: exactness rests on the bits being uniform and independent, on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.enclosure import Enclosure
from tacit.privacy.randomness import RandomSource

__all__ = ["GradualUniform", "InversionTable", "Thresholds"]

_COARSE = 16
_FINE = 64
_UNDECIDED = -1


class Thresholds(Protocol):
    """An increasing sequence F_1 < ... < F_n in (0, 1), each known to any precision."""

    @property
    def count(self) -> int:
        """How many thresholds there are (n)."""
        ...

    def enclose(self, t: int, bits: int) -> Enclosure:
        """Integers (low, high) with low ≤ F_t·2^bits ≤ high; more bits bring them as near as one likes."""
        ...

    def enclose_all(self, bits: int) -> Iterator[Enclosure]:
        """Enclosures of F_1, ..., F_n in this order."""
        ...


class GradualUniform:
    """A uniform number of which only the first binary digits have been drawn so far."""

    def __init__(self, digits: int, known: int, source: RandomSource) -> None:
        self._digits = digits
        self._known = known
        self._source = source

    def reaches(self, thresholds: Thresholds, t: int) -> bool:
        """Whether U ≥ F_t, drawing further digits while the known ones leave it open."""
        while True:
            low, high = thresholds.enclose(t, self._known + _FINE)
            if self._digits << _FINE >= high:
                return True
            if (self._digits + 1) << _FINE <= low:
                return False
            self._digits = (self._digits << 64) | int.from_bytes(self._source.bits(8), "little")
            self._known += 64


class InversionTable:
    """Draws values by the thresholds given (see the module's text)."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self.fine = np.array(list(_leading_digits(thresholds)), dtype=np.uint64)
        """The first 64 binary digits of each threshold."""
        coarse = self.fine >> np.uint64(_FINE - _COARSE)
        cells = np.arange(1 << _COARSE, dtype=np.uint64)
        values = np.searchsorted(coarse, cells, side="left").astype(np.int32)
        values[coarse.astype(np.int64)] = _UNDECIDED
        self.coarse = values
        """The value in each cell of 16 digits; -1 where a threshold lies in the cell."""

    def draw(self, size: int, source: RandomSource) -> NDArray[np.int32]:
        """``size`` independent values in 0..n."""
        cells = source.words(-(-size // 4)).view(np.uint16)[:size]
        values: NDArray[np.int32] = self.coarse[cells]
        open_ones = np.flatnonzero(values == _UNDECIDED)
        if open_ones.size:
            values[open_ones] = self._draw_finely(cells[open_ones], source)
        return values

    def _draw_finely(self, cells: NDArray[np.uint16], source: RandomSource) -> NDArray[np.int32]:
        further = source.words(cells.size) >> np.uint64(_COARSE)
        digits = (cells.astype(np.uint64) << np.uint64(_FINE - _COARSE)) | further
        values = np.searchsorted(self.fine, digits, side="left").astype(np.int32)
        nearest = self.fine[np.minimum(values, self.fine.size - 1)]
        for position in np.flatnonzero(nearest == digits):
            values[position] = self._draw_exactly(int(digits[position]), source)
        return values

    def _draw_exactly(self, digits: int, source: RandomSource) -> int:
        """The number of thresholds at or under U, by bisection over one gradually drawn U."""
        uniform = GradualUniform(digits, _FINE, source)
        low, high = 0, self._thresholds.count
        while low < high:
            middle = (low + high + 1) // 2
            if uniform.reaches(self._thresholds, middle):
                low = middle
            else:
                high = middle - 1
        return low


def _leading_digits(thresholds: Thresholds) -> Iterator[int]:
    """floor(F_t·2^64) for each t, proven: both ends of the enclosure have these digits."""
    bits = 2 * _FINE
    for t, (low, high) in enumerate(thresholds.enclose_all(bits), start=1):
        precision = bits
        while low >> (precision - _FINE) != high >> (precision - _FINE):
            precision *= 2
            low, high = thresholds.enclose(t, precision)
        yield low >> (precision - _FINE)
