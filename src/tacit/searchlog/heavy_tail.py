"""How heavy the tail of query popularity is.

All figures come from the **frequency spectrum**: for each count x, how many distinct queries were asked
exactly x times. It is small however large the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["SMALLEST_COUNT_FITTED", "Spectrum"]

SMALLEST_COUNT_FITTED = 5
"""The power law is fitted to queries asked at least so often: the head and body, not the single askings."""

_FEWEST_QUERIES_FITTED = 50


@dataclass(frozen=True)
class Spectrum:
    """For each count, ascending, the number of distinct queries asked so often."""

    counts: npt.NDArray[np.int64]
    queries: npt.NDArray[np.int64]

    @classmethod
    def of(cls, counts: npt.NDArray[Any], queries: npt.NDArray[Any]) -> Spectrum:
        """From counts in any order."""
        order = np.argsort(counts)
        return cls(counts[order].astype(np.int64), queries[order].astype(np.int64))

    @property
    def distinct(self) -> int:
        """Distinct queries."""
        return int(self.queries.sum())

    @property
    def total(self) -> int:
        """Queries asked."""
        return int((self.counts * self.queries).sum())

    @property
    def share_once(self) -> float:
        """Share of the distinct queries that were asked once."""
        return float(self.queries[self.counts == 1].sum()) / self.distinct

    def top_share(self, part: float) -> float:
        """Share of all askings taken by the most frequent ``part`` of the distinct queries (at least one)."""
        wanted = max(1, round(part * self.distinct))
        descending = self.queries[::-1]
        taken = np.minimum(descending, np.maximum(0, wanted - (np.cumsum(descending) - descending)))
        return float((taken * self.counts[::-1]).sum()) / self.total

    def zipf_exponent(self, smallest: int = SMALLEST_COUNT_FITTED) -> float | None:
        """The exponent s of Zipf's law: the r-th most frequent query is asked in proportion to r**-s.

        Estimator: the counts x >= ``smallest`` are taken to follow P(x) = x**-a / zeta(a, smallest); a is
        its maximum likelihood estimate, and s = 1/(a - 1). (Fitting a line to log count against log rank
        is common, but biased, for the points are neither independent nor equally certain.)
        None when fewer than 50 queries were asked so often.
        """
        from scipy.optimize import minimize_scalar
        from scipy.special import zeta

        fitted = self.counts >= smallest
        counts, queries = self.counts[fitted], self.queries[fitted]
        if queries.sum() < _FEWEST_QUERIES_FITTED or len(counts) < 2:
            return None
        mean_log = float((queries * np.log(counts)).sum() / queries.sum())
        best = minimize_scalar(
            lambda a: a * mean_log + np.log(zeta(a, smallest)),
            bounds=(1.01, 20.0),
            method="bounded",
            options={"xatol": 1e-6},
        )
        return float(1 / (best.x - 1))
