"""What there is to know of a way to find and count items, once what it draws and compares is settled.

There are two: steered rounds (:mod:`~tacit.release.adaptive.steered`), and a single noisy count of each item
(:mod:`~tacit.release.adaptive.counted_once`) where a user gives very few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.events import Event
from tacit.privacy.randomness import RandomSource
from tacit.release.adaptive.holdings import Counted
from tacit.release.adaptive.parameters import AdaptiveParameters
from tacit.release.adaptive.rounds import Holdings
from tacit.release.adaptive.rounds_schedule import RoundsSchedule
from tacit.release.adaptive.single_count import SingleCount
from tacit.release.analysis.charge import Charge
from tacit.release.mechanism import DescribedStep

__all__ = ["Numbered", "FindingWay"]


@dataclass(frozen=True)
class Numbered:
    """Published items by their numbers, with counts and the standard deviations of their noise, if any."""

    items: NDArray[np.int64]
    counts: NDArray[np.int64] | None = None
    deviations: NDArray[np.float64] | None = None


class FindingWay(Protocol):
    """Carries out what is drawn and compared, and says what it costs and means."""

    @property
    def schedule(self) -> RoundsSchedule | SingleCount:
        """What is drawn and compared."""
        ...

    @property
    def least(self) -> int | None:
        """The least count that can be published, where there is one."""
        ...

    def delta(self, epsilon: float) -> float:
        """δ at the ε for which it is laid out."""
        ...

    def charges(self, epsilon: float) -> tuple[Charge, ...]:
        """What its parts cost."""
        ...

    def event(self, epsilon: float) -> Event:
        """What the ledger is charged with."""
        ...

    def figures(self) -> dict[str, float]:
        """What it costs in utility."""
        ...

    def words(self, p: AdaptiveParameters) -> Sequence[str]:
        """What the parameters mean and cost."""
        ...

    def steps(self, p: AdaptiveParameters) -> Sequence[DescribedStep]:
        """What is done to the log."""
        ...

    def carry_out(self, holdings: Holdings, source: RandomSource) -> Numbered:
        """Draw and compare."""
        ...

    def foresee(self, counted: Counted, share: float, source: RandomSource) -> dict[str, float]:
        """By kind, the rows of a log with ``share`` times the users of the one that was counted."""
        ...
