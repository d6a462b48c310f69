"""What clipping leaves of a count, and how large the norms of clipped users are: from noisy numbers alone.

A histogram of norms knows few users of large norm badly, and these are the ones that clipping takes from. The
clipped counts know them better. With weights v and clipped counts c, over items and over users of norm n,

    Σ v²·c = Σ n²·min(1, L/n) = (Σ n² of those within the limit L) + L·(Σ n of those beyond),

whatever items fall to whom. So the mean norm beyond the limit, L·(1 + θ), follows. Norms beyond it are taken
to be exponentially distributed, and θ is drawn towards :data:`USUAL` by as much as noise may have moved it.

All of this is post-processing: it draws nothing and sees nothing of the log but noisy numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.release.schedule import ONE, Tally

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
    schedule: Tally,
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


def most_users(schedule: Tally, norms: NDArray[np.int64]) -> float:
    """How many users there can be by the noisy histogram of norms: no item has more.

    What clipping leaves of a count is known on average over items; for one whose holders are not like those
    of others it may be far too little.
    """
    deviation = schedule.norm_sigma * np.sqrt(norms.size)
    return max(1.0, float(norms.sum() + 2 * deviation) / ONE)


@dataclass(frozen=True)
class Clipping:
    """A limit of norms, and what clipping to it leaves of a count, as the noisy histogram of norms has it.

    How much is left of an item's count is the mean of min(1, L/n) over its holders, whose norms n are not
    those of all users: who has more items holds a given one more likely, and the item itself is part of the
    norm. If items fall to users independently, the users weighted by n² are distributed as the holders of an
    item that is drawn with chance proportional to (weight)²·(count): a holder's other items, and that one. So
    the holders of an item of weight v have squared norms n² - w² + v², n² from the weighted histogram and w²
    the mean square of the weight so drawn.

    Args:
        limit: L, in units of relative weight.
        norms: the middle of each cell.
        users: in each cell, by the noisy histogram.
    """

    limit: int
    norms: NDArray[np.float64]
    users: NDArray[np.float64]

    def having(self, beyond: Beyond | None) -> Clipping:
        """The same with what the clipped counts say of the users beyond the limit."""
        if beyond is None:
            return self
        within = self.norms <= self.limit
        norms, users = beyond.spread_over(self.limit)
        return Clipping(
            self.limit,
            np.concatenate([self.norms[within], norms]),
            np.concatenate([self.users[within], users]),
        )

    def left_of(self, weights: NDArray[np.float64], clipped: NDArray[np.float64]) -> NDArray[np.float64]:
        """The part of each item's count that clipping leaves, given weights and clipped counts."""
        drawn = np.maximum(clipped, 0.0) * weights**2
        if not (self.users.any() and drawn.any()):
            return np.ones_like(weights)
        usual = float((drawn * weights**2).sum() / drawn.sum())
        chances = self.users * self.norms**2
        chances /= chances.sum()
        kinds, which = np.unique(weights, return_inverse=True)
        squares = np.maximum(self.norms**2 - usual, 0.0)[None, :] + kinds[:, None] ** 2
        return np.asarray((np.minimum(1.0, self.limit / np.sqrt(squares)) @ chances)[which])


def clipping_of(schedule: Tally, norms: NDArray[np.int64]) -> Clipping:
    """From the noisy histogram of norms.

    Large norms weigh most and are few. From the first cell on above which all together are no more than noise
    might be, they are taken as one: their sum is known better than each. For the limit noise is told from
    users at 3 standard deviations; for what clipping leaves, which a few users of the largest norms would
    change several times over, at 4.5 where there are enough users for that.
    """
    edges = np.array(schedule.norm_edges, dtype=np.float64)
    middles = edges * np.concatenate([[1.0], np.sqrt(edges[:-1] / edges[1:])])
    likely = _told_from_noise(schedule, norms, 3.0)
    if likely is None:
        return Clipping(schedule.norm_edges[-1], middles, np.zeros_like(middles))
    place = int(np.searchsorted(np.cumsum(likely), schedule.covered * likely.sum()))
    sure = _told_from_noise(schedule, norms, 4.5)
    limit = schedule.norm_edges[min(place, edges.size - 1)]
    return Clipping(limit, middles, likely if sure is None else sure)


def _told_from_noise(
    schedule: Tally, norms: NDArray[np.int64], deviations: float
) -> NDArray[np.float64] | None:
    """The users in each cell, those of the largest norms as one; None where all may be noise."""
    noisy = norms / ONE
    above = np.cumsum(noisy[::-1])[::-1]
    most_noise = deviations * schedule.norm_sigma / ONE * np.sqrt(np.arange(norms.size, 0, -1))
    told = np.flatnonzero(above > most_noise)
    if not told.size:
        return None
    last = int(told[-1])
    users = np.zeros_like(above)
    users[: last + 1] = np.maximum(noisy[: last + 1], 0.0)
    users[last] = above[last]
    return users
