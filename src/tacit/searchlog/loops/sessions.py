"""Compiled loops of sessions by words: character trigrams, their overlap, and where sessions begin.

A trigram is three characters that follow each other; a text shorter than three characters is one trigram by
itself. The **overlap coefficient** of two texts is the number of different trigrams they share over that of
the text with fewer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.compiled import compiled

_LONGEST = 500
"""Characters of a text that are looked at: nobody types more."""
_BITS = np.uint64(21)
"""A character of Unicode fits in 21 bits, so three fit in one number: no two trigrams are ever confused."""
_REMEMBERED = 3
"""How many of a user's different queries a search is compared with."""


@dataclass(frozen=True)
class Trigrams:
    """The different trigrams of each text, ascending."""

    values: npt.NDArray[np.uint64]
    start: npt.NDArray[np.int64]
    """Where each text's trigrams begin in ``values``."""
    size: npt.NDArray[np.int64]
    """How many there are of each text; 0 for an empty one."""


def trigrams_of(texts: pa.StringArray) -> Trigrams:
    """The trigrams of each of ``texts``, which has no nulls; of a long text, those of its first
    characters.
    """
    texts = pc.utf8_slice_codeunits(texts, 0, _LONGEST)
    lengths = np.asarray(pc.utf8_length(texts)).astype(np.int64)
    characters = np.frombuffer("".join(texts.to_pylist()).encode("utf-32-le"), np.uint32).astype(np.uint64)
    grams = np.where(lengths == 0, 0, np.maximum(lengths - 2, 1))
    start = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(grams, out=start[1:])
    begins = np.cumsum(lengths) - lengths
    values = np.empty(start[-1], np.uint64)
    size = _filled(characters, begins, lengths, start, values)
    return Trigrams(values, start[:-1], size)


@compiled
def _filled(
    characters: npt.NDArray[np.uint64],
    begins: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    start: npt.NDArray[np.int64],
    values: npt.NDArray[np.uint64],
) -> npt.NDArray[np.int64]:
    """Write each text's trigrams to its place in ``values``; give back how many different ones there are."""
    size = np.zeros(lengths.size, np.int64)
    for text in range(lengths.size):
        first, last = start[text], start[text + 1]
        for place in range(last - first):
            gram = np.uint64(0)
            for offset in range(3):
                gram <<= _BITS
                if place + offset < lengths[text]:
                    gram |= characters[begins[text] + place + offset]
            # Queries are short: each trigram goes to its place among those before it, unless it is there.
            at = first + size[text]
            while at > first and values[at - 1] > gram:
                at -= 1
            if at > first and values[at - 1] == gram:
                continue
            for later in range(first + size[text], at, -1):
                values[later] = values[later - 1]
            values[at] = gram
            size[text] += 1
    return size


@compiled
def overlap(
    one: int,
    other: int,
    values: npt.NDArray[np.uint64],
    start: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
) -> float:
    """The overlap coefficient of two texts by their numbers; 0 when one of them is empty."""
    if size[one] == 0 or size[other] == 0:
        return 0.0
    left, right = start[one], start[other]
    left_end, right_end = left + size[one], right + size[other]
    shared = 0
    while left < left_end and right < right_end:
        if values[left] == values[right]:
            shared += 1
            left += 1
            right += 1
        elif values[left] < values[right]:
            left += 1
        else:
            right += 1
    found: float = shared / min(size[one], size[other])
    return found


@compiled
def starts_by_words(
    user: npt.NDArray[np.int64],
    instants: npt.NDArray[np.int64],
    text: npt.NDArray[np.int64],
    short: int,
    long: int,
    shared: float,
    values: npt.NDArray[np.uint64],
    start: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Find the records that begin a session, in records ordered by user and time.

    ``text`` numbers each record's query among those of ``values``, ``start`` and ``size`` (a
    :class:`Trigrams`); ``short`` and ``long`` are pauses in microseconds.
    """
    begins = np.zeros(user.size, np.bool_)
    recent = np.full(_REMEMBERED, -1, np.int64)
    for n in range(user.size):
        if n == 0 or user[n] != user[n - 1]:
            begins[n] = True
            recent[:] = -1
        else:
            pause = instants[n] - instants[n - 1]
            if pause > long:
                begins[n] = True
            elif pause > short and size[text[n]] > 0:
                # Compared with several queries, not with the last alone: people reword in between.
                new = True
                for before in recent:
                    if before >= 0 and (
                        before == text[n] or overlap(int(text[n]), int(before), values, start, size) >= shared
                    ):
                        new = False
                        break
                begins[n] = new
        if size[text[n]] > 0 and recent[0] != text[n]:
            # The latest of the different queries first; one that recurs moves to the front.
            place = _REMEMBERED - 1
            for at in range(_REMEMBERED):
                if recent[at] == text[n]:
                    place = at
                    break
            for at in range(place, 0, -1):
                recent[at] = recent[at - 1]
            recent[0] = text[n]
    return begins
