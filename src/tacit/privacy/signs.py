"""From magnitudes to integers of both signs."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.randomness import RandomSource

__all__ = ["MagnitudeSampler", "with_fair_sign"]


class MagnitudeSampler(Protocol):
    """Draws integers g ≥ 0, P(g) proportional to some w(g)."""

    def draw(self, size: int, source: RandomSource) -> NDArray[np.int64]:
        """``size`` independent magnitudes."""
        ...


def with_fair_sign(sampler: MagnitudeSampler, size: int, source: RandomSource) -> NDArray[np.int64]:
    """Draws x with P(x) proportional to w(|x|) on all integers.

    Minus zero is drawn again with its magnitude, so that 0 has its weight once.
    """
    value = sampler.draw(size, source)
    packed = np.frombuffer(source.bits(-(-size // 8)), dtype=np.uint8)
    minus = np.unpackbits(packed, count=size).astype(np.int64)
    again = np.flatnonzero((value == 0) & (minus == 1))
    value ^= -minus
    value += minus
    if again.size:
        value[again] = with_fair_sign(sampler, again.size, source)
    return value
