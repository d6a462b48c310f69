"""Find the quotes of a CSV block that enclose fields, with whole-array operations.

A line is **plainly quoted** when its quotes come in pairs, each opening right after a delimiter or at the
line's beginning and closing right before a delimiter or the line's end. Lines with any other quote (a doubled
one, one within a field, one that never closes) need a second look.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["enclosing_quotes"]

_NEWLINE, _RETURN, _QUOTE = ord("\n"), ord("\r"), ord('"')


def enclosing_quotes(block: bytes, delimiter: bytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where the quotes of plainly quoted lines stand, and which lines (from 0) need a second look.

    Args:
        block: lines, with a line end at the last one.
        delimiter: the byte between fields.
    """
    none = np.empty(0, np.int64)
    if b'"' not in block:
        return none, none
    data = np.frombuffer(block, np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    line_ends = np.flatnonzero(data == _NEWLINE)
    line = np.searchsorted(line_ends, quotes)
    in_line = np.bincount(line, minlength=len(line_ends))
    # The first quote of a line opens, the second closes, and so on.
    opens = (np.arange(len(quotes)) - (np.cumsum(in_line) - in_line)[line]) % 2 == 0
    before = np.where(quotes > 0, data[quotes - 1], _NEWLINE)
    after = data[quotes + 1]  # there is one: the block ends with a line end
    ends_line = (after == _NEWLINE) | ((after == _RETURN) & (quotes + 1 == line_ends[line] - 1))
    sound = np.where(
        opens, (before == ord(delimiter)) | (before == _NEWLINE), (after == ord(delimiter)) | ends_line
    )
    hard = in_line % 2 == 1
    hard[line[~sound]] = True
    return quotes[~hard[line]], np.flatnonzero(hard)
