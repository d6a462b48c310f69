"""Noisy counts of a tree made to agree, and how far off they are: post-processing, which costs nothing.

Every count of the tree has noise of its own, and a topic's true count is the sum of those right below it. So
the noisy numbers say the same thing several times, and the **least-squares estimate** that satisfies the sums
is nearer to the truth than any of them: it is the best among all that are linear and unbiased (Hay et al.,
"Boosting the accuracy of differentially private histograms through consistency", 2010; here for trees of any
shape). Two passes compute it: upwards, the weighted mean of a topic's own number and the sum of the estimates
below it; downwards, what the estimate above still lacks is shared out by variance.

Estimates are fractions, and may be below 0. From the first level down they are then moved to the **nearest
whole numbers of at least 0 that satisfy the sums**.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.release.topics.tree import TOP, ListedTopics, PublishedTopics

__all__ = ["Estimates", "estimate", "stated_deviations", "whole_counts"]

_Floats = NDArray[np.float64]
_Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Estimates:
    """Counts that satisfy the sums, unbiased, with the variance of each."""

    counts: _Floats
    variances: _Floats


def estimate(topics: PublishedTopics | ListedTopics, noisy: _Whole, variance: float) -> Estimates:
    """The least-squares estimate from numbers of equal variance and independent noise."""
    size, above = len(topics), topics.above
    value, spread = noisy.astype(np.float64), np.full(size, variance, np.float64)
    total, width = np.zeros(size), np.zeros(size)  # of those right below, by topic
    levels = [np.flatnonzero(topics.level == level) for level in range(1, topics.levels + 1)]
    for nodes in reversed(levels[1:]):
        np.add.at(total, above[nodes], value[nodes])
        np.add.at(width, above[nodes], spread[nodes])
        upper = np.unique(above[nodes])
        share = width[upper] / (spread[upper] + width[upper])
        value[upper] = share * value[upper] + (1 - share) * total[upper]
        spread[upper] *= share
    for nodes in levels[1:]:
        upper = above[nodes]
        share = spread[nodes] / width[upper]
        value[nodes] += share * (value[upper] - total[upper])
        spread[nodes] = spread[nodes] * (1 - share) + share**2 * spread[upper]
    return Estimates(value, spread)


def stated_deviations(found: Estimates, variance: float) -> _Whole:
    """The standard errors as they are published: rounded up; 0 where noise is switched off."""
    raised = np.ceil(np.sqrt(found.variances)) if variance else np.zeros(len(found.variances))
    return raised.astype(np.int64)


def whole_counts(topics: PublishedTopics, counts: _Floats) -> _Whole:
    """Whole numbers of at least 0 near to estimates, level by level: each the sum of those right below it."""
    found = np.maximum(np.rint(counts), 0).astype(np.int64)
    order = np.argsort(topics.above, kind="stable")
    uppers, starts = np.unique(topics.above[order], return_index=True)
    families = dict(zip(uppers.tolist(), np.split(order, starts[1:]), strict=True))
    for upper in range(len(topics)):  # from above: each after the one above it
        if upper != TOP and upper in families:
            nodes = families[upper]
            found[nodes] = _shared_out(counts[nodes], int(found[upper]))
    return found


def _shared_out(counts: _Floats, total: int) -> _Whole:
    """The nearest numbers of at least 0 with this sum, then the nearest whole ones, ties by order."""
    falling = np.sort(counts)[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    last = int(np.flatnonzero(falling > over).max(initial=0))
    nearest = np.maximum(counts - over[last], 0)
    whole: _Whole = np.floor(nearest + 1e-9).astype(np.int64)
    missing = total - int(whole.sum())
    if missing:  # fewer than there are topics: each of them lost less than one
        whole[np.argsort(-(nearest - whole), kind="stable")[:missing]] += 1
    return whole
