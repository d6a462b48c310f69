"""How much each user searches: a few thousands of times, many a handful.

Records a user follow a log-normal law: its tail is heavy (in AOL's shape one user in 270 has over a
thousand records) and half of the users have fewer than 20.

The N users of a log sit at the middles of N equal parts of the law, in an order drawn from the seed. A
heavy tail would otherwise make small logs vary widely (the busiest of 2,000 users makes 3% of all
records); so every log of N users has the right number of records.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import special

__all__ = ["MOST_PER_WEEK", "SPREAD", "quotas"]

SPREAD = 1.5
"""Standard deviation of the logarithm of a user's records."""
MOST_PER_WEEK = 770
"""Nobody has more records per week than this (10,010 in 13 weeks): a person, not a robot."""
_HALVINGS = 40


def _records(deviations: npt.NDArray[np.float64], location: float, most: int) -> npt.NDArray[np.int64]:
    return np.clip(np.rint(np.exp(location + SPREAD * deviations)), 1, most).astype(np.int64)


@cache
def _law(users: int, mean: float, most: int) -> npt.NDArray[np.int64]:
    """The records of all users, fewest first, with the given mean (rounding and bounds included)."""
    deviations = special.ndtri((np.arange(users) + 0.5) / users)
    low, high = np.log(mean) - 4 * SPREAD, np.log(mean) + 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _records(deviations, middle, most).mean() < mean else (low, middle)
    return _records(deviations, high, most)


def quotas(seed: int, users: int, *, mean: float, weeks: int) -> npt.NDArray[np.int64]:
    """The number of records of each of ``users`` users, ``mean`` on average."""
    order = np.random.Generator(np.random.PCG64(seed)).permutation(users)
    drawn: npt.NDArray[np.int64] = _law(users, mean, MOST_PER_WEEK * weeks)[order]
    return drawn
