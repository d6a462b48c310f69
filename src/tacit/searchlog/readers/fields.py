"""Cut a block of lines into fields with whole-array operations.

All fields of the block become one Arrow column that shares a single buffer: the block without its
separators. The j-th column of the log is then every field that stands j-th in its line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Fields", "split_fields"]

_NEWLINE, _RETURN, _SPACE = ord("\n"), ord("\r"), ord(" ")


@dataclass(frozen=True)
class Fields:
    """The fields of a block, line after line."""

    values: pa.BinaryArray
    first: npt.NDArray[np.int64]
    """For each line, the position of its first field in ``values``."""
    width: npt.NDArray[np.int64]
    """For each line, how many fields it has."""
    is_ascii: bool

    @property
    def blank(self) -> npt.NDArray[np.bool_]:
        """The lines without a single byte."""
        offsets = np.frombuffer(self.values.buffers()[1], np.int32)
        blank: npt.NDArray[np.bool_] = offsets[self.first + 1] == offsets[self.first]
        blank &= self.width == 1
        return blank

    @property
    def empty(self) -> npt.NDArray[np.bool_]:
        """The lines with nothing, or nothing but white space, between their delimiters."""
        offsets = np.frombuffer(self.values.buffers()[1], np.int32)
        begin, end = offsets[self.first], offsets[self.first + self.width]
        empty: npt.NDArray[np.bool_] = begin == end
        data = np.frombuffer(self.values.buffers()[2] or b"", np.uint8)
        suspects = np.flatnonzero(~empty)
        suspects = suspects[data[begin[suspects]] <= _SPACE]
        for line in suspects:  # lines that begin with white space are few
            empty[line] = not data[begin[line] : end[line]].tobytes().strip()
        return empty

    def nothing_after(self, lines: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.bool_]:
        """Which of ``lines`` (wider than ``width``) hold nothing after their first ``width`` fields."""
        offsets = np.frombuffer(self.values.buffers()[1], np.int32)
        first = self.first[lines]
        nothing: npt.NDArray[np.bool_] = offsets[first + width] == offsets[first + self.width[lines]]
        return nothing

    def column(self, position: int, lines: npt.NDArray[np.int64]) -> pa.BinaryArray:
        """The field at ``position`` (from 0) of each of ``lines``; null where a line is shorter."""
        where = self.first[lines] + position
        shorter = self.width[lines] <= position
        indices = pa.array(where, mask=shorter if shorter.any() else None)
        return self.values.take(indices)


def split_fields(block: bytes, delimiter: bytes, quotes: npt.NDArray[np.int64] | None = None) -> Fields:
    """Cut ``block``, which ends with a line end, at every ``delimiter`` and at LF or CRLF line ends.

    Args:
        block: lines, with a line end at the last one.
        delimiter: the byte between fields.
        quotes: where quotes that enclose fields stand, in pairs: they are no part of the field, and a
            delimiter between them is.
    """
    data = np.frombuffer(block, np.uint8)
    separators = data == _NEWLINE
    if quotes is None or not len(quotes):
        separators |= data == ord(delimiter)
    else:
        delimiters = np.flatnonzero(data == ord(delimiter))
        separators[delimiters[np.searchsorted(quotes, delimiters) % 2 == 0]] = True
    ends = np.flatnonzero(separators)
    last = np.flatnonzero(data[ends] == _NEWLINE)
    first = np.empty_like(last)
    first[0], first[1:] = 0, last[:-1] + 1

    # Bytes dropped up to the end of each field: one separator each, the CR of a CRLF, and quotes.
    dropped = np.arange(len(ends), dtype=np.int64)
    line_ends = ends[last]
    returns = (line_ends > 0) & (data[line_ends - 1] == _RETURN)
    if returns.any():
        separators[line_ends[returns] - 1] = True
        before_end = np.zeros(len(ends), np.int64)
        before_end[last[returns]] = 1
        dropped += np.cumsum(before_end)
    if quotes is not None and len(quotes):
        separators[quotes] = True
        dropped += np.searchsorted(quotes, ends)
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends - dropped
    kept = data[~separators]
    values = pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(kept)])
    return Fields(values, first, last - first + 1, bool(data.max(initial=0) < 0x80))
