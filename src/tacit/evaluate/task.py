"""Retrieval tasks: what they judge, and how ranked lists are measured.

::

    trial = Adhoc().against(original, test)      what does not depend on the release, computed once
    trial.measure(released)                      measures, a value for each test unit

A **unit** is what a task judges: a test query, a test session. One that the release cannot serve at all has
no value (NaN) and counts as 0 in every mean over all units. Units depend on the test part alone, so that two
releases are compared unit by unit. What releases lie between: docs/reference/evaluation/tasks.md.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.evaluate.data import KINDS, CountedLog, LogPart, Numbers, ReleasedData, changes


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
        return len(self.values)

    @property
    def answered(self) -> int:
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
    """A task on one split of a log. Where units share a user, its ``owners`` has the user of each."""

    def measure(self, released: ReleasedData) -> Measures:
        """Measure how well the task goes with this release."""
        ...


class Task(ABC):
    """A retrieval task: a file of :mod:`tacit.evaluate.tasks` holds one, and everything said of it."""

    name: ClassVar[str]
    """As on the command line: the file's name, with hyphens."""
    title: ClassVar[str]
    """What it is called in a sentence: ``ad-hoc search``."""
    description: ClassVar[str]
    """What is done: ``rank pages for a query from the release alone``."""
    unit: ClassVar[str]
    """What is judged, one of them: ``test query with a click``."""
    headline: ClassVar[str]
    """The measure that stands for the task in a summary."""
    nothing: ClassVar[str] = "nothing to fall back on"
    """What serves the task where nothing is released: ``a public list of words``."""
    reads: ClassVar[Collection[str]] = tuple(KINDS.values())
    """The tables (:data:`tacit.evaluate.data.KINDS`) without which it may be served otherwise."""
    judged: ClassVar[bool] = False
    """Whether it needs judgments that people made (:mod:`tacit.evaluate.judged`)."""

    @abstractmethod
    def against(self, original: CountedLog, test: LogPart) -> Trial:
        """Prepare to judge releases of ``original`` on ``test``, other users of the same log."""


def run_task(task: Task, original: CountedLog, released: ReleasedData, test: LogPart) -> Measures:
    return task.against(original, test).measure(released)


def put_in(values: Measures, where: Numbers, others: Measures) -> dict[str, Measured]:
    """The same measures, those of some units from others."""
    found = {name: Measured(measured.values.copy()) for name, measured in values.items()}
    for name, measured in found.items():
        measured.values[where] = others[name].values[where]
    return found


@dataclass(frozen=True, eq=False)
class Ranked:
    """Lists of items by unit: rows in order, within a row the best first.

    Args:
        unit: whose list.
        item: what is listed.
        place: from 1.
    """

    unit: Numbers
    item: Numbers
    place: Numbers


def ranked_by(unit: Numbers, item: Numbers, score: NDArray[np.float64], most: int) -> Ranked:
    """The ``most`` items of each unit with the highest scores; ties by the item's number."""
    order = np.lexsort((item, -score, unit))
    kept = order[places(unit[order]) <= most]
    return Ranked(unit[kept], item[kept], places(unit[kept]))


def places(unit: Numbers) -> Numbers:
    """The place of each row among those of its unit, which stand together, from 1."""
    begins = np.flatnonzero(changes(unit))
    return np.arange(len(unit)) - np.repeat(begins, np.diff(np.append(begins, len(unit)))) + 1


def judge(
    ranked: Ranked, relevant: tuple[Numbers, Numbers], units: int, measures: Mapping[str, Any]
) -> dict[str, Measured]:
    """Compute each measure for each unit, as trec_eval does; a unit without a list has no value.

    Args:
        ranked: the lists, of different items each.
        relevant: unit and item of what is relevant.
        units: how many there are; each must have something relevant.
        measures: of ir-measures by name, each with a cutoff: nDCG, AP, P and R.
    """
    width = max((int(items.max()) + 1 for items in (ranked.item, relevant[1]) if len(items)), default=1)
    wanted = np.unique(relevant[0] * width + relevant[1])
    all_relevant = np.bincount(wanted // width, minlength=units)
    hit = np.isin(ranked.unit * width + ranked.item, wanted)
    unit, place = ranked.unit[hit], ranked.place[hit]
    ideal = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, all_relevant.max(initial=0) + 2)))])
    answered = np.bincount(ranked.unit, minlength=units) > 0
    found = {}
    for name, measure in measures.items():
        cutoff = measure.params["cutoff"]
        gain, most = {
            "P": (np.ones(len(unit)), cutoff),
            "R": (np.ones(len(unit)), all_relevant),
            "AP": (places(unit) / place, all_relevant),
            "nDCG": (1 / np.log2(place + 1.0), ideal[np.minimum(all_relevant, cutoff)]),
        }[measure.NAME]
        within = place <= cutoff
        sums = np.bincount(unit[within], gain[within], minlength=units)
        found[name] = Measured(np.divide(sums, most, out=np.full(units, np.nan), where=answered))
    return found
