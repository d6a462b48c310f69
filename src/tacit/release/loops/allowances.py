"""Spreading a user's saved allowance over the user's items, compiled."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.compiled import compiled
from tacit.release.loops.weights import _root

Whole = NDArray[np.int64]


def _value(
    item: Any,
    age: Any,
    values: NDArray[np.uint16],
    floors: NDArray[np.uint16],
    young: NDArray[np.uint8],
) -> Any:
    """What an item weighs for somebody who has held it for so many weeks: new ones no less than a floor."""
    value = np.int64(values[item])
    if age < young[item] and value < floors[item]:
        value = np.int64(floors[item])
    return value


_valued = compiled(_value)


def _spend(
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

    A user spends at most ``unit``, ``part``/256 of what is saved beyond, and Σv²·2^``longest`` (where that is
    not negative). Values are below 2^11 and balances below 2^40, so v²·amount stays below 2^62.
    """
    for user in range(starts.size - 1):
        square = np.int64(0)
        for place in range(starts[user], starts[user + 1]):
            value = _valued(items[place], ages[place], values, floors, young)
            square += value * value
        if square == 0:
            continue  # nothing of this user weighs: all is saved
        amount = balances[user]
        if amount > unit:
            amount = unit + (((amount - unit) * part) >> 8)
        if longest >= 0:
            amount = min(amount, square << longest)
        spent = np.int64(0)
        for place in range(starts[user], starts[user + 1]):
            value = _valued(items[place], ages[place], values, floors, young)
            if value:
                # rounded down, so that the squares of a user's weights never sum to more than the amount
                weight = _root((value * value * amount) // square)
                totals[items[place]] += weight
                spent += weight * weight
        balances[user] -= spent


spend = compiled(_spend)
