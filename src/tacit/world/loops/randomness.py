"""A stream of random numbers for each user and purpose, the same on every machine and thread.

The generator is SplitMix64: a counter that steps by the golden ratio, and a mixing function. It is fast
and its streams need no set-up, which is what a simulation wants; it is **not** secret, and noise that
protects people comes from :mod:`tacit.privacy`, never from here.
"""

import numpy as np
import numpy.typing as npt

from tacit.compiled import compiled

State = npt.NDArray[np.uint64]
"""One number that a stream steps forward."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_UNIT = 1.0 / (1 << 53)


@compiled
def mix(value: np.uint64) -> np.uint64:
    """Scatter the bits of ``value``: a bijection on 64 bits."""
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


@compiled
def stream(state: State, seed: int, user: int, purpose: int) -> None:
    """Set ``state`` to the beginning of one user's stream for one purpose."""
    start = mix(np.uint64(seed) + GOLDEN)
    start = mix(start ^ (np.uint64(user) * GOLDEN))
    state[0] = mix(start + np.uint64(purpose) * _FIRST)


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
