"""Is a difference more than chance? Paired tests over test units, corrected for how many are made.

Two releases are judged on the same units. Their difference, unit by unit, is tested with a two-sided paired
t-test, as the thesis does; units that only one of them answers say nothing about it. The tests of one
measure are corrected together by Holm's method. With many units a tiny difference is "significant": the
interval of the difference says how large it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["Difference", "holm", "mean_interval", "paired"]

_LEVEL = 0.95
_SAME = 1e-6
"""Differences whose spread is so small a share of their mean are equal but for rounding."""


@dataclass(frozen=True)
class Difference:
    """Between two means over the same units.

    Args:
        units: answered by both.
        mean: of the differences.
        low, high: its 95% confidence interval.
        p: of the two-sided paired t-test (of the sign test where all differences are equal); NaN below two.
    """

    units: int
    mean: float
    low: float
    high: float
    p: float


def paired(first: NDArray[np.floating], second: NDArray[np.floating]) -> Difference:
    """First minus second, over units that have a value in both."""
    both = ~np.isnan(first) & ~np.isnan(second)
    differences = (first[both] - second[both]).astype(np.float64)
    units = len(differences)
    if units == 0:
        return Difference(0, np.nan, np.nan, np.nan, np.nan)
    mean = float(differences.mean())
    if units == 1:
        return Difference(1, mean, np.nan, np.nan, np.nan)
    error = float(differences.std(ddof=1) / np.sqrt(units))
    if error <= _SAME * abs(mean):
        # All differ by the same: the t statistic has no denominator, the sign test still counts units.
        return Difference(units, mean, mean, mean, 1.0 if mean == 0 else 2 * 0.5**units)
    half = error * float(stats.t.ppf((1 + _LEVEL) / 2, units - 1))
    p = 2 * float(stats.t.sf(abs(mean) / error, units - 1))
    return Difference(units, mean, mean - half, mean + half, p)


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean of repetitions with its 95% interval (Student's); no interval for a single one."""
    listed = np.array([value for value in values if not np.isnan(value)])
    if not len(listed):
        return np.nan, np.nan, np.nan
    mean = float(listed.mean())
    if len(listed) == 1:
        return mean, np.nan, np.nan
    half = float(listed.std(ddof=1) / np.sqrt(len(listed)) * stats.t.ppf((1 + _LEVEL) / 2, len(listed) - 1))
    return mean, mean - half, mean + half


def holm(p: Sequence[float]) -> list[float]:
    """p-values corrected for their number, step down; NaN stays, and does not count."""
    values = np.array(p, np.float64)
    there = np.flatnonzero(~np.isnan(values))
    order = there[np.argsort(values[there], kind="stable")]
    corrected = np.full(len(values), np.nan)
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - place) * values[index]))
        corrected[index] = largest
    return [float(value) for value in corrected]
