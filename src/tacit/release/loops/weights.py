"""Loops over who holds what, compiled; in a folder of their own, whose machine code outlasts other edits."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.compiled import compiled

Whole = NDArray[np.int64]


def _whole_root(square: Any) -> int:
    """The whole part of the square root, for numbers up to 2^52."""
    root = int(math.sqrt(square))
    while root * root > square:
        root -= 1
    while (root + 1) * (root + 1) <= square:
        root += 1
    return root


_root = compiled(_whole_root)


def _add_weights(
    starts: Whole, items: NDArray[np.int32], values: NDArray[np.uint16], least: int, totals: Whole
) -> None:
    """Add every user's weights, isqrt(v²·2^32 / max(Σv², least)): their squares sum to at most 2^32."""
    for user in range(starts.size - 1):
        # int64 throughout: values are at most 255·64 < 2^14, so v²·2^32 < 2^60, and 2^31 items sum below 2^59
        square = np.int64(0)
        for place in range(starts[user], starts[user + 1]):
            value = np.int64(values[items[place]])
            square += value * value
        if square == 0:
            continue  # nothing of this user weighs in this round
        if square < least:  # a short vector is not stretched: it keeps below the limit of norms
            square = np.int64(least)
        for place in range(starts[user], starts[user + 1]):
            value = np.int64(values[items[place]])
            if value:
                # rounded down, so that the squares of a user's weights never sum to more than 2^32
                totals[items[place]] += _root(((value * value) << 32) // square)


add_weights = compiled(_add_weights)


def _squared_norms(
    starts: Whole, items: NDArray[np.int32], values: NDArray[np.uint16], squares: Whole
) -> None:
    for user in range(starts.size - 1):
        square = np.int64(0)
        for place in range(starts[user], starts[user + 1]):
            value = np.int64(values[items[place]])
            square += value * value
        squares[user] = square


squared_norms = compiled(_squared_norms)


def _place_pairs(
    next_place: Whole, holders: NDArray[np.int32], items: NDArray[np.int32], placed: NDArray[np.int32]
) -> None:
    """Put each item where its holder's begin, one after the other: counting instead of sorting."""
    for pair in range(holders.size):
        holder = holders[pair]
        placed[next_place[holder]] = items[pair]
        next_place[holder] += 1


place_pairs = compiled(_place_pairs)
