"""What a retrieval task is: something people do with a search log, and how well it goes with a release.

::

    trial = Adhoc().against(original, test)      what does not depend on the release, worked out once
    trial.measure(released)                      measures, a value for each test unit

A **unit** is what a task judges: a test query, a test session. A unit that the release cannot serve at all
has no value (NaN). Two numbers tell them apart: the mean over units that were answered, which the papers
report, and the mean over all units with 0 for the rest, which is what a user of the release would meet.
Units depend on the test part alone, so that two releases are compared unit by unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.evaluate.log_part import LogPart
from tacit.evaluate.released import ReleasedData

__all__ = ["Measured", "Measures", "Task", "Trial", "run_task"]


@dataclass(frozen=True, eq=False, repr=False)
class Measured:
    """One measure over all units of a test part.

    Args:
        values: one per unit, NaN where the release could not answer.
    """

    values: NDArray[np.float64]

    def __repr__(self) -> str:
        found = f"{self.mean:.4g} where answered ({self.answered:,} of {self.units:,} units)"
        return f"Measured({found}, {self.mean_of_all:.4g} over all)"

    @property
    def units(self) -> int:
        """How many there are."""
        return len(self.values)

    @property
    def answered(self) -> int:
        """How many the release could serve."""
        return int(np.count_nonzero(~np.isnan(self.values)))

    @property
    def mean(self) -> float:
        """Over answered units; NaN if there is none."""
        return float(np.nanmean(self.values)) if self.answered else float("nan")

    @property
    def mean_of_all(self) -> float:
        """Over all units, unanswered ones as 0; NaN if there is none."""
        return float(np.nansum(self.values) / self.units) if self.units else float("nan")


Measures = Mapping[str, Measured]
"""By name: what was done, a colon, the measure: ``random walk: nDCG@10``."""


class Trial(Protocol):
    """A task on one split of a log."""

    def measure(self, released: ReleasedData) -> Measures:
        """How well the task goes with this release."""
        ...


class Task(Protocol):
    """A retrieval task."""

    @property
    def name(self) -> str:
        """As on the command line."""
        ...

    @property
    def headline(self) -> str:
        """The measure that stands for the task in a summary."""
        ...

    def against(self, original: LogPart, test: LogPart) -> Trial:
        """Get ready to judge releases of ``original`` on ``test``, other users of the same log."""
        ...


def run_task(task: Task, original: LogPart, released: ReleasedData, test: LogPart) -> Measures:
    """One task on one release, all at once."""
    return task.against(original, test).measure(released)
