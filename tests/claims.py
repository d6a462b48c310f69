"""What given parameters of a mechanism claim, by the real accounting and under any neighbour relation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tacit import Guarantee
from tacit.privacy import Neighbours
from tacit.privacy.accounting.events import Event
from tacit.release.analysis import Charge, charges_of, event_of, guarantee_of
from tacit.release.mechanism import Mechanism
from tacit.release.mechanisms import click_words, session_words, zealous_words
from tacit.release.prose import PaperFigure, turning_point
from tacit.release.schedule import Schedule

__all__ = ["click", "session", "zealous"]


class _Claims:
    """Guarantee, event and charges as sums of the parts, and what the paper prints."""

    def schedule(self, asked: Mechanism, neighbours: Neighbours | None = None, **stated: Any) -> Schedule:
        """Stated for this relation; in no other way unless said."""
        found = asked.plan().schedule
        return replace(
            found, neighbours=neighbours or found.neighbours, **{"users": None, "at_epsilon": None, **stated}
        )

    def guarantee(self, asked: Mechanism, neighbours: Neighbours | None = None) -> Guarantee:
        return guarantee_of(self.schedule(asked, neighbours))

    def event(self, asked: Mechanism, neighbours: Neighbours | None = None) -> Event:
        return event_of(self.schedule(asked, neighbours))

    def charges(self, asked: Mechanism) -> tuple[Charge, ...]:
        return charges_of(self.schedule(asked))


class _Zealous(_Claims):
    def probabilistic_guarantee(
        self, asked: Mechanism, users: int, neighbours: Neighbours | None = None
    ) -> Guarantee:
        return guarantee_of(self.schedule(asked, neighbours, users=users))

    def probabilistic_charges(
        self, asked: Mechanism, users: int, neighbours: Neighbours | None = None
    ) -> tuple[Charge, ...]:
        return charges_of(self.schedule(asked, neighbours, users=users))

    def exact_event(self, asked: Mechanism, epsilon: float) -> Event:
        return event_of(self.schedule(asked, at_epsilon=epsilon))

    def paper_figure(self, asked: Any, threshold_2: float | None = None) -> PaperFigure:
        return zealous_words.printed_approximate(asked.plan(), threshold_2)

    def paper_probabilistic(self, asked: Any, users: int) -> PaperFigure:
        return zealous_words.printed_probabilistic(asked.plan(), users)


class _Click(_Claims):
    turning_point = staticmethod(turning_point)

    def paper_figure(self, asked: Any, threshold: float | None = None) -> PaperFigure:
        given = asked if threshold is None else replace(asked, threshold=threshold)
        return click_words.paper_figure(given.plan())


class _Session(_Claims):
    def paper_figure(self, asked: Any, threshold: float | None = None) -> PaperFigure:
        given = asked if threshold is None else replace(asked, threshold=threshold)
        return session_words.paper_figure(given.plan())


zealous, click, session = _Zealous(), _Click(), _Session()
