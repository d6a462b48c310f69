"""The words of a document as they are kept: numbers into the word table with their frequencies, packed.

Four bytes per word: the number in the lower 24 bits, the frequency (at most 255) above. Vectors and weights
are computed from them when a profile is opened, so that a better table needs no new clicks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.text.vectors import WordTable

__all__ = ["LONGEST", "pack", "unpack"]

LONGEST = 400
"""How many distinct words of a document are kept, from its beginning."""

_NUMBER = np.uint32((1 << 24) - 1)


def pack(table: WordTable, text: str) -> bytes:
    """The telling words of a text, packed."""
    bag = list(table.bag(text).items())[:LONGEST]
    packed = [number | min(times, 255) << 24 for number, times in bag]
    return np.array(packed, "<u4").tobytes()


def unpack(features: bytes) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Numbers and frequencies of the words of one document, or of several in a row."""
    packed = np.frombuffer(features, "<u4")
    return (packed & _NUMBER).astype(np.int32), (packed >> np.uint32(24)).astype(np.uint8)
