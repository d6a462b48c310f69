"""Sums over who holds what, a block of users at a time: of weights by item, and of squares by user.

All is in 64-bit integers: values are at most 255·64 < 2^14, so v²·2^32 < 2^60, and 2^31 items sum below 2^59.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]

BLOCK = 1 << 17
"""Pairs that are worked on at a time, or those of one user: what lies beside them stays small."""


def blocks(starts: Whole) -> Iterator[tuple[slice, slice, Whole]]:
    """Cut users into blocks: the users of each, their pairs, and how many pairs each user has."""
    user, users = 0, starts.size - 1
    while user < users:
        end = int(np.searchsorted(starts, starts[user] + BLOCK, side="right")) - 1
        end = min(max(user + 1, end), users)
        yield slice(user, end), slice(starts[user], starts[end]), np.diff(starts[user : end + 1])
        user = end


def in_blocks(work: Callable[[slice], None], size: int) -> None:
    """Do work on so many rows, some at a time, so that what lies beside the result stays small."""
    some = [slice(begin, begin + BLOCK) for begin in range(0, size, BLOCK)]
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        deque((workers.map if len(some) > 1 else map)(work, some), maxlen=0)


def sums_by_user(numbers: Whole, sizes: Whole) -> Whole:
    """Sum the numbers of each user, of whom some may have none."""
    sums = np.concatenate(([0], np.cumsum(numbers)))
    ends = np.cumsum(sizes)
    return np.asarray(sums[ends] - sums[ends - sizes])


def add_weights(
    starts: Whole, items: NDArray[np.int32], values: NDArray[np.uint16], least: int, totals: Whole
) -> None:
    """Add every user's weights, isqrt(v²·2^32 / max(Σv², least)): their squares sum to at most 2^32."""
    for _, pairs, sizes in blocks(starts):
        own = items[pairs]
        squares = values[own].astype(np.int64) ** 2
        # a short vector is not stretched, but keeps below the limit of norms; one of zeros weighs nothing
        norms = np.maximum(sums_by_user(squares, sizes), max(least, 1))
        # rounded down (below 2^52 a double's root is right), so that squares never sum to more than 2^32
        np.add.at(totals, own, np.sqrt((squares << 32) // np.repeat(norms, sizes)).astype(np.int64))


def only_weighted(
    starts: Whole, items: NDArray[np.int32], values: NDArray[np.uint16]
) -> tuple[Whole, NDArray[np.int32]]:
    """Leave out pairs whose items have no value: they weigh nothing, in no round to come."""
    weighted = values[items] > 0
    return np.concatenate(([0], np.cumsum(weighted)))[starts], items[weighted]


def squared_norms(
    starts: Whole, items: NDArray[np.int32], values: NDArray[np.uint16], squares: Whole
) -> None:
    """Set each user's sum of squared values."""
    for users, pairs, sizes in blocks(starts):
        squares[users] = sums_by_user(values[items[pairs]].astype(np.int64) ** 2, sizes)


def spend(
    owners: NDArray[np.int32],
    items: NDArray[np.int32],
    values: NDArray[np.uint16],
    balances: Whole,
    unit: int,
    part: int,
    longest: int,
    totals: Whole,
) -> None:
    """Add every user's weights to ``totals``, and debit each balance by the sum of their squares.

    Pairs stand in any order. A user spends an amount of at most ``unit``, ``part``/256 of what is saved
    beyond, and Σv²·2^``longest`` (where that is not negative), by weights ⌊v·f/2^11⌋ with
    f = ⌊√⌊amount·2^22/Σv²⌋⌋, whose squares never sum to more: values are below 2^11, balances below 2^40, so
    amount·2^22 < 2^62, and a double's root, off by a part of 2^-52, adds less than 2^-10 to a whole sum.
    """
    some = [slice(begin, begin + BLOCK) for begin in range(0, owners.size, BLOCK)]
    squares, spent = np.zeros((2, balances.size), np.int64)
    for pairs in some:
        np.add.at(squares, owners[pairs], values[pairs].astype(np.int64) ** 2)
    amounts = np.where(balances > unit, unit + (((balances - unit) * part) >> 8), balances)
    if longest >= 0:
        amounts = np.minimum(amounts, squares << longest)
    amounts <<= 22
    amounts //= np.maximum(squares, 1)
    factors = np.sqrt(amounts).astype(np.int64)
    for pairs in some:
        weights = values[pairs] * factors[owners[pairs]] >> 11
        np.add.at(totals, items[pairs], weights)
        np.add.at(spent, owners[pairs], weights**2)
    balances -= spent
