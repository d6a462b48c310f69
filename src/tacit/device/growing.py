"""Arrays that grow at their end, so that one more click does not copy a long history."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Growing"]


class Growing:
    """Rows of one type, appended at amortised constant cost."""

    def __init__(self, kind: npt.DTypeLike, width: int | None = None) -> None:
        self._rows = np.empty((64,) if width is None else (64, width), kind)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> npt.NDArray[Any]:
        """What was appended so far (a view: valid until the next change)."""
        return self._rows[: self._size]

    def extend(self, more: npt.NDArray[Any]) -> None:
        """Append rows."""
        needed = self._size + len(more)
        if needed > len(self._rows):
            grown = np.empty((max(needed, 2 * len(self._rows)), *self._rows.shape[1:]), self._rows.dtype)
            grown[: self._size] = self.rows
            self._rows = grown
        self._rows[self._size : needed] = more
        self._size = needed
