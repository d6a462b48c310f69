"""Query rows written out as text, straight into the buffers of an Arrow column."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.compiled import compiled
from tacit.world.synth.lexicon import Spelling
from tacit.world.synth.queries import BASE, BEFORE, FIRST, SECOND, SLIP
from tacit.world.synth.randomness import GOLDEN, mix
from tacit.world.synth.typos import NO_SLIP, mistype

__all__ = ["spell", "spelled_column"]

_SPACE = 32


@compiled
def _longest(rows: npt.NDArray[np.int32], bounds: npt.NDArray[np.int64]) -> int:
    """Bytes that suffice for all rows, a separator and a doubled letter each included."""
    total = 0
    for row in range(len(rows)):
        for part in (BEFORE, BASE, FIRST, SECOND):
            phrase = rows[row, part]
            if phrase >= 0:
                total += bounds[phrase + 1] - bounds[phrase] + 1
        total += 1
    return total


@compiled
def spell(
    rows: npt.NDArray[np.int32], spelling: Spelling
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32], npt.NDArray[np.uint64]]:
    """The text of each row: bytes, where each begins (and the last ends), and a 64-bit hash of each."""
    text, bounds = spelling.text, spelling.bounds
    written = np.empty(_longest(rows, bounds), np.uint8)
    begins = np.zeros(len(rows) + 1, np.int32)
    hashes = np.empty(len(rows), np.uint64)
    at = 0
    for row in range(len(rows)):
        start = at
        for part in (BEFORE, BASE, FIRST, SECOND):
            phrase = rows[row, part]
            if phrase < 0:
                continue
            if at > start:
                written[at] = _SPACE
                at += 1
            for byte in range(bounds[phrase], bounds[phrase + 1]):
                written[at] = text[byte]
                at += 1
        if rows[row, SLIP] != NO_SLIP:
            at = start + mistype(written[start:], at - start, rows[row, SLIP], spelling.keys)
        digest = np.uint64(0)
        for byte in range(start, at):
            digest = (digest ^ np.uint64(written[byte])) * GOLDEN
            digest ^= digest >> np.uint64(29)
        hashes[row] = mix(digest + np.uint64(at - start))
        begins[row + 1] = at
    return written[:at], begins, hashes


def spelled_column(written: npt.NDArray[np.uint8], begins: npt.NDArray[np.int32]) -> pa.Array:
    """The text of :func:`spell` as an Arrow column, without copying it."""
    return pa.StringArray.from_buffers(len(begins) - 1, pa.py_buffer(begins), pa.py_buffer(written))
