"""How large the norms of those users are that were clipped: computed from noisy numbers alone.

A histogram of norms knows few users of large norm badly, and these are the ones that clipping takes from. The
clipped counts know them better. With weights v and clipped counts c, over items and over users of norm n,

    Σ v²·c = Σ n²·min(1, L/n) = (Σ n² of those within the limit L) + L·(Σ n of those beyond),

whatever items fall to whom. So the mean norm beyond the limit, L·(1 + θ), follows. Norms beyond it are taken
to be exponentially distributed, and θ is drawn towards :data:`USUAL` by as much as noise may have moved it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.release.adaptive.rounds_schedule import ONE, TallySchedule

__all__ = ["USUAL", "Beyond", "beyond_limit"]

USUAL = 0.5
"""θ where nothing is known: on synthetic logs of 20,000 users it lies between 0.49 and 0.53."""

_SPREAD = 0.1
"""How far θ is taken to lie from that, from log to log."""
_REACH = 8.0
"""Nobody is looked for beyond so many times the limit: of exponential norms one in a million is there."""
_SURE = 8.0
"""So many standard deviations of noise there must be of them: of fewer users this makes counts worse."""
_CROWDED = 0.25
"""Where more than this part of the users is in one cell, norms are too much alike for its middle."""
_POINTS = 64


@dataclass(frozen=True)
class Beyond:
    """Users beyond the limit: how many, and θ."""

    users: float
    theta: float

    def spread_over(self, limit: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Norms, and how many users have each."""
        parts = (np.arange(_POINTS) + 0.5) / _POINTS
        norms = limit * (1 - self.theta * np.log1p(-parts))
        return norms, np.full(_POINTS, self.users / _POINTS)


def beyond_limit(
    schedule: TallySchedule,
    limit: int,
    noisy_users: NDArray[np.float64],
    middles: NDArray[np.float64],
    weights: NDArray[np.float64],
    clipped: NDArray[np.float64],
) -> Beyond | None:
    """Those beyond the limit; None where noise does not tell how many there are.

    Args:
        schedule: whose noise is in the numbers.
        limit: L, one of the histogram's edges.
        noisy_users: in each cell.
        middles: the norm in the middle of each cell.
        weights: v of each item.
        clipped: c of each item.
    """
    edges = np.array(schedule.norm_edges, dtype=np.float64)
    within, near = edges <= limit, (edges > limit) & (edges <= _REACH * limit)
    users, width = float(noisy_users[near].sum()), schedule.norm_sigma / ONE
    unsure = width * math.sqrt(near.sum())
    if users <= _SURE * unsure or noisy_users.max() > _CROWDED * noisy_users.sum():
        return None
    square = float((noisy_users[within] * middles[within] ** 2).sum())
    mean = float((weights**2 * clipped).sum() - square) / (limit * users)
    variance = (
        width**2 * float((middles[within] ** 4).sum())
        + (limit * schedule.sigma / ONE) ** 2 * float((weights**2).sum())
        + (limit * mean * unsure) ** 2
    ) / (limit**2 * users) ** 2
    trust = _SPREAD**2 / (_SPREAD**2 + variance)
    return Beyond(users, max(0.0, USUAL + trust * (mean / limit - 1 - USUAL)))
