"""Steered rounds with one thing done carelessly, for tests that must tell them from the real ones.

Each is what somebody might write in good faith; each promises what the *real* rounds of the same schedule do.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from tacit.privacy.noise.randomness import RandomSource
from tacit.privacy.noise.samplers import discrete_gaussian
from tacit.release.execution import Holdings, cut_to, stepped
from tacit.release.schedule import LARGEST_VALUE, ONE, AdaptiveRounds
from tacit.release.weights import add_weights

__all__ = ["Careless", "careless_find"]


class Careless(StrEnum):
    """What is done wrong."""

    NOT_CUT = "every item that somebody holds takes part, however many a user holds"
    CUT_EACH_ROUND = "each round draws anew which items of a user get weight; all that are held can be found"
    TRUE_STEERING = "weights follow the true standing, without noise"
    NOISE_WHERE_WEIGHTED = "a user gives all weight to the best own item, and others get no noise"
    HALF_NOISE = "half the noise"
    LOW_THRESHOLD = "thresholds that forget what a user weighs"
    LONG_VECTORS = "weights that do not shrink with the number of a user's items"


def careless_find(
    schedule: AdaptiveRounds, whole: Holdings, source: RandomSource, careless: Careless
) -> np.ndarray:
    """The found items of rounds done this way."""
    uncut = careless in (Careless.NOT_CUT, Careless.CUT_EACH_ROUND)
    holdings = whole if uncut else cut_to(whole, schedule.held, source)
    present = np.flatnonzero(np.bincount(holdings.items, minlength=holdings.kinds))
    values = np.full(holdings.kinds, LARGEST_VALUE, dtype=np.uint8)
    standing = np.zeros(present.size, dtype=np.int64)
    true = np.zeros(present.size, dtype=np.int64)
    listed = []
    for step in schedule.rounds:
        if careless is Careless.CUT_EACH_ROUND:
            holdings = cut_to(whole, schedule.held, source)
        weight = _weights(holdings, values, careless)[present]
        noise = discrete_gaussian(step.sigma, present.size, source)
        if careless is Careless.HALF_NOISE:
            noise //= 2
        if careless is Careless.NOISE_WHERE_WEIGHTED:
            noise[weight == 0] = 0
        true = true + step.coefficient * weight
        standing = standing + step.coefficient * (weight + noise)
        threshold = step.threshold
        if careless is Careless.LOW_THRESHOLD:
            threshold -= ONE * sum(each.coefficient for each in schedule.rounds)
        reached = standing >= threshold
        listed.append(present[reached])
        values[present] = 0
        if step.steering is None:
            break
        weights = stepped(step.steering, true if careless is Careless.TRUE_STEERING else standing)
        staying = ~reached & (weights > 0)
        present, standing, true = present[staying], standing[staying], true[staying]
        values[present] = weights[staying]
    return np.concatenate(listed)


def _weights(holdings: Holdings, values: np.ndarray, careless: Careless) -> np.ndarray:
    totals = np.zeros(holdings.kinds, dtype=np.int64)
    if careless is Careless.LONG_VECTORS:
        np.add.at(totals, holdings.items, ONE * (values[holdings.items] > 0))
    elif careless is Careless.NOISE_WHERE_WEIGHTED:
        owner = np.repeat(np.arange(holdings.starts.size - 1), np.diff(holdings.starts))
        order = np.lexsort((-values[holdings.items].astype(np.int64), owner))
        first = order[np.concatenate([[True], np.diff(owner[order]) > 0])]
        best = Holdings(np.arange(first.size + 1), holdings.items[first], holdings.kinds)
        add_weights(best.starts, best.items, values, 0, totals)
    else:
        add_weights(holdings.starts, holdings.items, values, 0, totals)
    return totals
