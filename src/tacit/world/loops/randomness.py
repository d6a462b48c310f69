"""A stream of random numbers for each user and purpose, the same on every machine and thread.

The generator is SplitMix64: a counter that steps by the golden ratio, and a mixing function. It is fast
and its streams need no set-up, which is what a simulation wants; it is **not** secret, and noise that
protects people comes from :mod:`tacit.privacy`, never from here.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.compiled import compiled

Wide = npt.NDArray[np.int64]
State = npt.NDArray[np.uint64]
"""One number that a stream steps forward."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_UNIT = 1.0 / (1 << 53)


def _mix(value: Any) -> Any:
    """Scatter the bits of ``value``: a bijection on 64 bits."""
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


mix = compiled(_mix)


def streams(seed: int, users: Wide, purpose: int) -> npt.NDArray[np.uint64]:
    """Find where the streams of some users for one purpose begin."""
    start = _mix(np.array([seed], np.uint64) + GOLDEN) ^ (users.astype(np.uint64) * GOLDEN)
    return np.asarray(_mix(_mix(start) + np.array([purpose], np.uint64) * _FIRST))


def uniforms(starts: npt.NDArray[np.uint64], places: Wide) -> npt.NDArray[np.float64]:
    """The numbers in [0, 1) at some ``places`` (from 0) of streams, as :func:`uniform` steps."""
    drawn = _mix(starts + (places.astype(np.uint64) + np.uint64(1)) * GOLDEN) >> np.uint64(11)
    return np.asarray(drawn * _UNIT)


@compiled
def uniform(state: State) -> float:
    """A number in [0, 1)."""
    state[0] += GOLDEN
    return float(mix(state[0]) >> np.uint64(11)) * _UNIT


@compiled
def below(state: State, bound: int) -> int:
    """A whole number in [0, bound)."""
    return int(uniform(state) * bound)


@compiled
def normal(state: State) -> float:
    """A standard normal number (Box and Muller)."""
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform(state)))
    return float(radius * np.cos(2.0 * np.pi * uniform(state)))


@compiled
def pick(cumulative: npt.NDArray[np.float64], start: int, stop: int, place: float) -> int:
    """The item in [start, stop) at ``place`` (from 0 to 1) of its share of the cumulative weights."""
    target = cumulative[start] + place * (cumulative[stop] - cumulative[start])
    low, high = start, stop - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle + 1] > target:
            high = middle
        else:
            low = middle + 1
    return low
