"""Sums over who holds what, a block of users at a time: of weights by item, and of squares by user.

All is in 64-bit integers: values are at most 255·64 < 2^14, so v²·2^32 < 2^60, and 2^31 items sum below 2^59.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]

_BLOCK = 1 << 17
"""Pairs that are worked on at a time, or those of one user: what lies beside them stays small."""


def blocks(starts: Whole) -> Iterator[tuple[slice, slice, Whole]]:
    """Cut users into blocks: the users of each, their pairs, and how many pairs each user has."""
    user, users = 0, starts.size - 1
    while user < users:
        end = int(np.searchsorted(starts, starts[user] + _BLOCK, side="right")) - 1
        end = min(max(user + 1, end), users)
        yield slice(user, end), slice(starts[user], starts[end]), np.diff(starts[user : end + 1])
        user = end


def sums_by_user(numbers: Whole, sizes: Whole) -> Whole:
    """Sum the numbers of each user, of whom some may have none."""
    sums = np.concatenate(([0], np.cumsum(numbers)))
    ends = np.cumsum(sizes)
    return np.asarray(sums[ends] - sums[ends - sizes])


def whole_roots(squares: Whole) -> Whole:
    """The whole part of each square root, for numbers below 2^52: a double's root is rounded right."""
    return np.sqrt(squares).astype(np.int64)


def add_weights(
    starts: Whole, items: NDArray[np.int32], values: NDArray[np.uint16], least: int, totals: Whole
) -> None:
    """Add every user's weights, isqrt(v²·2^32 / max(Σv², least)): their squares sum to at most 2^32."""
    for _, pairs, sizes in blocks(starts):
        own = items[pairs]
        squares = values[own].astype(np.int64) ** 2
        # a short vector is not stretched, but keeps below the limit of norms; one of zeros weighs nothing
        norms = np.maximum(sums_by_user(squares, sizes), max(least, 1))
        # rounded down, so that the squares of a user's weights never sum to more than 2^32
        np.add.at(totals, own, whole_roots((squares << 32) // np.repeat(norms, sizes)))


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
    starts: Whole,
    items: NDArray[np.int32],
    ages: NDArray[np.uint8],
    values: NDArray[np.uint16],
    floors: NDArray[np.uint16],
    young: NDArray[np.uint8],
    balances: Whole,
    unit: int,
    part: int,
    longest: int,
    totals: Whole,
) -> None:
    """Add every user's weights to ``totals``, and debit each balance by the sum of their squares.

    An item that a user has held for few weeks weighs no less than a floor. A user spends at most ``unit``,
    ``part``/256 of what is saved beyond, and Σv²·2^``longest`` (where that is not negative). Values are below
    2^11 and balances below 2^40, so v²·amount stays below 2^62.
    """
    for users, pairs, sizes in blocks(starts):
        own = items[pairs]
        lasting, least = values[own], np.where(ages[pairs] < young[own], floors[own], 0)
        value = np.maximum(lasting, least).astype(np.int64)
        square = sums_by_user(value**2, sizes)
        balance = balances[users]
        amount = np.where(balance > unit, unit + (((balance - unit) * part) >> 8), balance)
        if longest >= 0:
            amount = np.minimum(amount, square << longest)
        # rounded down, so that the squares of a user's weights never sum to more than the amount
        weights = whole_roots(value**2 * np.repeat(amount, sizes) // np.repeat(np.maximum(square, 1), sizes))
        np.add.at(totals, own, weights)
        balances[users] = balance - sums_by_user(weights**2, sizes)
