"""The words of a document as they are kept: numbers into the word table with their frequencies, packed.

Four bytes per word: the number in the lower 24 bits, the frequency (at most 255) above. Vectors and weights
are computed from them when a profile is opened, so that a better table needs no new clicks.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
import numpy.typing as npt

from tacit.text.vectors import WordTable

__all__ = ["LONGEST", "fits", "pack", "packed_words", "unpack"]

LONGEST = 400
"""How many distinct words of a document are kept, from its beginning."""

_NUMBER = np.uint32((1 << 24) - 1)


def packed_words(table: WordTable, text: str) -> list[int]:
    """The telling words of a text, each with its frequency in one number."""
    bag = islice(table.bag(text).items(), LONGEST)
    return [number | min(times, 255) << 24 for number, times in bag]


def pack(table: WordTable, text: str) -> bytes:
    """The telling words of a text, as they are kept."""
    return np.array(packed_words(table, text), "<u4").tobytes()


def unpack(packed: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Numbers and frequencies of the words of one document, or of several in a row."""
    return (packed & _NUMBER).astype(np.int32), (packed >> np.uint32(24)).astype(np.uint8)


def fits(table: WordTable, features: bytes) -> bool:
    """Whether what was kept can be words of this table, each with a frequency."""
    if len(features) % 4:
        return False
    words, times = unpack(np.frombuffer(features, "<u4"))
    return int(words.max(initial=0)) < len(table.weight) and bool(times.all())
