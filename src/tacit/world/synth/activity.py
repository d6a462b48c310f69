"""How much each user searches: a few thousands of times, many a handful.

Records a user follow a log-normal law, which fits logs of individual activity well: its tail is heavy
(in AOL's shape one user in 270 has over a thousand records) and half of the users have fewer than 20.

Users take their places in the law one golden-ratio step apart, so the first N users of any log cover
the law evenly: a log of 2,000 users has nearly the mean of one of 600,000, although its tail is heavy.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import special

from tacit.world.synth.randomness import GOLDEN

__all__ = ["MOST_PER_WEEK", "SPREAD", "mean_of_law", "quotas"]

SPREAD = 1.5
"""Standard deviation of the logarithm of a user's records."""
MOST_PER_WEEK = 770
"""Nobody has more records a week than this (10,000 in 13 weeks): a person, not a robot."""
_GRID = 200_000


def _records(places: npt.NDArray[np.float64], location: float, most: int) -> npt.NDArray[np.int64]:
    raw = np.exp(location + SPREAD * special.ndtri(places))
    return np.clip(np.rint(raw), 1, most).astype(np.int64)


def mean_of_law(location: float, most: int) -> float:
    """The mean number of records a user, rounding and bounds included."""
    middle = (np.arange(_GRID) + 0.5) / _GRID
    return float(_records(middle, location, most).mean())


@cache
def _location(mean: float, most: int) -> float:
    """The location of the law whose mean is ``mean``, by halving."""
    low, high = np.log(mean) - 4 * SPREAD, np.log(mean) + 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_of_law(middle, most) < mean else (low, middle)
    return float((low + high) / 2)


def quotas(seed: int, users: int, *, mean: float, weeks: int) -> npt.NDArray[np.int64]:
    """The number of records of each of the first ``users`` users."""
    most = MOST_PER_WEEK * weeks
    # The offset is a pure function of the seed; the multiplication wraps modulo 2^64, as intended.
    offset = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
    turns = offset + np.arange(users, dtype=np.uint64) * GOLDEN
    places = ((turns >> np.uint64(11)).astype(np.float64) + 0.5) / (1 << 53)
    return _records(places, _location(mean, most), most)
