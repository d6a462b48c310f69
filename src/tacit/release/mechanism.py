"""What a release mechanism is: parameters with a guarantee, counting without noise, publishing with it.

The two halves are apart so that everything that can fail on its way to the counts has failed before the
ledger is charged, and so that no noise can be drawn before::

    counting  = mechanism.count(engine, log)       bounded histograms, deterministic
    ledger.spend(mechanism.event(), …)             the charge, on the disk
    tables    = mechanism.publish(engine, counting, source)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from tacit.privacy import Guarantee, Neighbours
from tacit.privacy.events import Event, GuaranteedRelease
from tacit.privacy.randomness import RandomSource
from tacit.release.analysis.charge import Charge, PaperFigure
from tacit.release.engines import Engine

__all__ = ["Counting", "Mechanism", "Step", "Tables", "charge_of", "run"]

Tables = dict[str, pa.Table]
"""What is published: tables by name, each with a column ``count``."""

Counting = Mapping[str, Any]
"""Bounded histograms by name, kept in the engine. Secret."""


@dataclass(frozen=True)
class Step:
    """A step of the mechanism as a reader of the release's page sees it."""

    title: str
    detail: str
    noisy: bool = False


class Mechanism(Protocol):
    """A way to publish a search log."""

    @property
    def name(self) -> str:
        """As on the command line: zealous, click, session or k-query."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """Which logs its guarantee keeps from being told apart."""
        ...

    def guarantee(self) -> Guarantee:
        """What publishing once provably promises."""
        ...

    def charges(self) -> tuple[Charge, ...]:
        """What each published thing costs, for adding or removing a user."""
        ...

    def paper(self) -> PaperFigure | None:
        """What the paper prints for these parameters, to stand beside the provable guarantee."""
        ...

    def event(self) -> Event:
        """What the ledger is charged with, before any noise is drawn."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Every parameter, for the manifest; ``mechanism_from_dict`` reads it back."""
        ...

    def steps(self) -> Sequence[Step]:
        """What is done to the log, in order, in words."""
        ...

    def count(self, engine: Engine, log: Any) -> Counting:
        """Bounded histograms of a log: deterministic, no noise."""
        ...

    def publish(self, engine: Engine, counting: Counting, source: RandomSource) -> Tables:
        """Draw noise and publish what passes."""
        ...


def run(mechanism: Mechanism, engine: Engine, log: Any, source: RandomSource) -> Tables:
    """Count and publish in one go, uncharged: for tests, audits and evaluation, where nothing gets out."""
    return mechanism.publish(engine, mechanism.count(engine, log), source)


def charge_of(guarantee: Guarantee) -> Event:
    """The event of a mechanism whose whole guarantee is known."""
    return GuaranteedRelease(guarantee)
