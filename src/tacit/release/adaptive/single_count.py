"""One noisy count per item, compared once: what is drawn and compared where a user gives very few items.

Every item's count of users gets Laplace noise that never exceeds ``most`` (:mod:`tacit.privacy.capped`), and
is published, as it was compared, from ``least`` on.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.capped import capped_laplace
from tacit.privacy.randomness import RandomSource
from tacit.release.adaptive.rounds import Holdings, cut_to

__all__ = ["SingleCount", "count_once"]


@dataclass(frozen=True)
class SingleCount:
    """All that is drawn and compared.

    Args:
        held: the most items of a user that are counted.
        scale: of the noise.
        upward: the chance of noise at or above 0.
        most: the largest noise.
        least: the least noisy count that is published.
    """

    held: int
    scale: float
    upward: float
    most: int
    least: int

    def to_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return {"noise": "capped Laplace", **asdict(self)}


def count_once(
    schedule: SingleCount, holdings: Holdings, source: RandomSource, times: float = 1.0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Carry it out: the items that are published, and their noisy counts.

    Args:
        schedule: what is drawn and compared.
        holdings: who holds what.
        source: of lots and noise.
        times: every count so many times as large, to foresee a larger log; 1 in a release.
    """
    holdings = cut_to(holdings, schedule.held, source)
    counts = np.bincount(holdings.items, minlength=holdings.kinds).astype(np.int64)
    present = np.flatnonzero(counts).astype(np.int64)
    true = counts[present] if times == 1 else np.rint(times * counts[present]).astype(np.int64)
    noisy = true + capped_laplace(schedule.scale, schedule.upward, schedule.most, present.size, source)
    published = noisy >= schedule.least
    return present[published], noisy[published]
