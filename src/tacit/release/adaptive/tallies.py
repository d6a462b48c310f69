"""How many users have each found item, carried out: weighted, clipped, with noise drawn once.

The found items are public by now, so a user's whole history takes part, not only the k₀ items of the
selection. Each user's vector over the found items, weighted by what the first round said of them, is clipped
to a norm L that most users keep to (by a noisy histogram of norms). Dividing by weight and by the part
that clipping leaves is post-processing. That part is known on average only: see docs/guarantees/adaptive.md,
"What a count means".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.compiled import compiled
from tacit.privacy.gaussian import discrete_gaussian
from tacit.privacy.randomness import RandomSource
from tacit.release.adaptive.heavy_users import Beyond, beyond_limit
from tacit.release.adaptive.rounds import Found, Holdings, noisy_weights, stepped
from tacit.release.adaptive.rounds_schedule import ONE, TallySchedule

__all__ = ["Clipping", "NoisyTally", "take_tally"]


@dataclass(frozen=True)
class NoisyTally:
    """Counts of the found items, in their order, and the standard deviation of each one's noise."""

    counts: NDArray[np.int64]
    deviations: NDArray[np.float64]
    limit: int
    """L, in units of relative weight."""


def _squared_norms(
    starts: NDArray[np.int64], items: NDArray[np.int32], values: NDArray[np.uint8], squares: NDArray[np.int64]
) -> None:
    for user in range(starts.size - 1):
        square = np.int64(0)
        for place in range(starts[user], starts[user + 1]):
            value = np.int64(values[items[place]])
            square += value * value
        squares[user] = square


squared_norms = compiled(_squared_norms)


def take_tally(schedule: TallySchedule, holdings: Holdings, found: Found, source: RandomSource) -> NoisyTally:
    """Count the found items."""
    relative = stepped(schedule.weighing, found.first)
    values = np.zeros(holdings.kinds, dtype=np.uint8)
    values[found.items] = relative
    squares = np.zeros(holdings.starts.size - 1, dtype=np.int64)
    squared_norms(holdings.starts, holdings.items, values, squares)
    edges = np.array(schedule.norm_edges, dtype=np.int64)
    cells = np.searchsorted(edges[:-1] ** 2, squares[squares > 0], side="left")
    norms = ONE * np.bincount(cells, minlength=edges.size).astype(np.int64)
    norms += discrete_gaussian(schedule.norm_sigma, edges.size, source)
    clipping = _clipping(schedule, norms)
    limit = clipping.limit
    noisy = noisy_weights(holdings, values, found.items, schedule.sigma, source, least=limit * limit)
    weights = relative.astype(np.float64)
    clipped = noisy * (limit / (ONE * weights))
    beyond = beyond_limit(schedule, limit, norms / ONE, clipping.norms, weights, clipped)
    left = clipping.having(beyond).left_of(weights, clipped)
    counts = np.clip(np.rint(clipped / left), 1, _most_users(schedule, norms)).astype(np.int64)
    return NoisyTally(counts, schedule.sigma * limit / (ONE * weights * left), limit)


def _most_users(schedule: TallySchedule, norms: NDArray[np.int64]) -> float:
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


def _clipping(schedule: TallySchedule, norms: NDArray[np.int64]) -> Clipping:
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
    schedule: TallySchedule, norms: NDArray[np.int64], deviations: float
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
