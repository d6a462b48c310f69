"""How many rows an adaptive release can be expected to publish: by carrying it out on synthetic holdings.

What is found in one round steers the next, so no formula sums chances item by item. The rounds run on the
holdings of a synthetic log, whose users are nobody. For fewer users than it has, some are drawn by lot; for
more, every weight grows in proportion, which is to say that noise, thresholds and cuts shrink by as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.gaussian_loss import ROUNDING
from tacit.privacy.randomness import RandomSource
from tacit.release.adaptive.holdings import Counted
from tacit.release.adaptive.rounds import Holdings, find
from tacit.release.adaptive.rounds_schedule import Round, RoundsSchedule

__all__ = ["foresee", "mean_rows", "some_users"]

_DRAWS = 4
"""Over so many releases the rows are averaged."""


def foresee(
    schedule: RoundsSchedule, counted: Counted, share: float, source: RandomSource
) -> dict[str, float]:
    """By kind, the rows of a log with ``share`` times as many users as the synthetic one.

    Args:
        schedule: what would be carried out.
        counted: who holds what in the synthetic log.
        share: users over users of the synthetic log.
        source: of lots and noise.
    """

    def found() -> NDArray[np.int64]:
        if share < 1:
            return find(schedule, some_users(counted.holdings, share, source), source).items
        return find(_shrunk(schedule, share), counted.holdings, source).items

    return mean_rows(counted, found)


def mean_rows(counted: Counted, found: Callable[[], NDArray[np.int64]]) -> dict[str, float]:
    """By kind, the mean number of found items over several releases."""
    rows = dict.fromkeys(counted.offsets, 0.0)
    for _ in range(_DRAWS):
        items = found()
        for kind in rows:
            rows[kind] += float(counted.of_kind(kind, items).sum()) / _DRAWS
    return rows


def some_users(holdings: Holdings, share: float, source: RandomSource) -> Holdings:
    """This part of the users, by lot."""
    sizes = np.diff(holdings.starts)
    kept = np.argsort(source.words(sizes.size))[: max(1, round(share * sizes.size))]
    chosen = np.zeros(sizes.size, dtype=np.bool_)
    chosen[kept] = True
    starts = np.concatenate([[0], np.cumsum(sizes[chosen])]).astype(np.int64)
    return Holdings(starts, holdings.items[np.repeat(chosen, sizes)], holdings.kinds)


def _shrunk(schedule: RoundsSchedule, share: float) -> RoundsSchedule:
    """The schedule in units of ``share`` users."""

    def shrunk(step: Round) -> Round:
        steering = step.steering
        if steering is not None:
            cuts = [round(cut / share) for cut in steering.cuts]
            apart = tuple(max(cut, cuts[0] + place) for place, cut in enumerate(cuts))  # cuts increase
            steering = replace(steering, cuts=apart)
        return replace(
            step,
            sigma=max(ROUNDING + 1, round(step.sigma / share)),
            threshold=round(step.threshold / share),
            steering=steering,
        )

    return replace(schedule, rounds=tuple(shrunk(step) for step in schedule.rounds))
