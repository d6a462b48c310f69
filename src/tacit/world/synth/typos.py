"""Slips of the keyboard: two letters swapped, one lost, doubled, or its neighbour hit.

A slip is one number, so that the same slip of the same query is the same string. Only letters change,
and only inside words of four letters or more: a slip never makes white space, so a mistyped query stays
normalised.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.compiled import compiled

__all__ = ["NO_SLIP", "mistype", "neighbouring_keys"]

NO_SLIP = 0
_SHORTEST = 4
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def neighbouring_keys() -> npt.NDArray[np.uint8]:
    """For each letter a to z the letters left and right of it on the keyboard."""
    keys = np.zeros((26, 2), np.uint8)
    for row in _ROWS:
        for place, letter in enumerate(row):
            left, right = row[max(place - 1, 0)], row[min(place + 1, len(row) - 1)]
            keys[ord(letter) - 97] = (
                ord(left if left != letter else right),
                ord(right if right != letter else left),
            )
    return keys


@compiled
def _is_letter(byte: int) -> bool:
    return 97 <= byte <= 122


@compiled
def _place(text: npt.NDArray[np.uint8], length: int, choice: int) -> int:
    """A letter that has a letter on both sides, within a word of four or more; -1 if there is none."""
    for attempt in range(length):
        place = (choice + attempt) % length
        first, last = place, place
        if not _is_letter(text[place]):
            continue
        while first > 0 and _is_letter(text[first - 1]):
            first -= 1
        while last + 1 < length and _is_letter(text[last + 1]):
            last += 1
        if last - first + 1 >= _SHORTEST and first < place < last:
            return place
    return -1


@compiled
def mistype(text: npt.NDArray[np.uint8], length: int, slip: int, keys: npt.NDArray[np.uint8]) -> int:
    """Apply ``slip`` to the first ``length`` bytes of ``text`` in place; gives the new length.

    ``text`` must have room for one byte more.
    """
    kind = slip & 3
    place = _place(text, length, slip >> 3)
    if place < 0:
        return length
    if kind == 0:
        text[place], text[place + 1] = text[place + 1], text[place]
    elif kind == 1:
        for byte in range(place, length - 1):
            text[byte] = text[byte + 1]
        return length - 1
    elif kind == 2:
        for byte in range(length, place, -1):
            text[byte] = text[byte - 1]
        return length + 1
    else:
        text[place] = keys[text[place] - 97, (slip >> 2) & 1]
    return length
