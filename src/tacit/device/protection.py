"""What the guard answers: what goes out with a query, where a result was placed, what a topic holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tacit.terminal import shown_as_html, shown_as_text

if TYPE_CHECKING:
    from tacit.device.history import HistoryDocument

__all__ = ["ClickedPage", "Forgotten", "Placement", "Protection", "SentTopic", "TopicNode"]


@dataclass(frozen=True)
class SentTopic:
    """A topic in the part of the profile that a query touches, with the topics below it."""

    label: str
    """Its path from the root, the name under which it is sent."""
    name: str
    share: float
    """The person's preference for it among the query's topics, in [0, 1]; 1 for the root."""
    risk: float
    """The share of the total sensitivity at risk if this topic alone is exposed."""
    sensitivity: float
    """sen(t), if its owner made it sensitive; otherwise 0."""
    sent: bool
    """Whether it goes out; otherwise it stays hidden on the device."""
    below: tuple[SentTopic, ...] = ()


@dataclass(frozen=True)
class Protection:
    """What was decided for one query: what goes out with it, and why."""

    query: str
    upstream: str
    sent: bool
    """Whether a profile goes out with the query."""
    reason: str
    """Why, or why not, in words."""
    message: Mapping[str, Any]
    """Exactly what may leave the device, ready for JSON: the query, and the topics if any."""
    topics: tuple[str, ...]
    """The labels of the topics that are sent, from the root down; none where the query goes out alone."""
    tree: SentTopic | None
    """The part of the profile that the query touches, sent or hidden. It stays on the device."""
    risk: float
    """The risk of what is sent (equation 15); 0 where nothing is."""
    utility: float
    """The predicted gain in discriminating power (section 5.1.1); 0 where nothing is sent."""
    delta: float
    """The bound on the risk of this exposure."""
    bound: float | None
    """The bound on the risk of everything this upstream was told; None if there is none."""
    used: float
    """The risk of everything this upstream was told, this exposure included."""
    exposure: int | None = None
    """The entry's number in the exposure ledger; None for a preview, which is not recorded."""

    def _rows(self) -> list[tuple[str, str]]:
        bound = "" if self.bound is None else f" of at most {self.bound:g}"
        return [
            ("sent with it", ", ".join(self.topics) if self.topics else "nothing: the query goes alone"),
            ("why", self.reason),
            ("risk", f"{self.risk:.3g} of at most {self.delta:g}"),
            (f"risk of all that {self.upstream} was told", f"{self.used:.3g}{bound}"),
            ("recorded", "no: a preview" if self.exposure is None else f"as exposure {self.exposure}"),
        ]

    def __str__(self) -> str:
        return shown_as_text(f"Query for {self.upstream}", self._rows())

    def _repr_html_(self) -> str:
        return shown_as_html(f"Query for {self.upstream}", self._rows())


@dataclass(frozen=True)
class ClickedPage:
    """One document of the person's history."""

    number: int
    time: datetime
    query: str
    url: str
    title: str
    topics: tuple[str, ...] = ()
    """The topics it is filed under, nearest first."""
    withheld: bool = False
    """Whether it may be about a sensitive topic, so that it has no part in what is sent."""


@dataclass(frozen=True)
class Placement:
    """Where a result was put, and why."""

    result: dict[str, Any]
    """The very object that was given."""
    rank: int
    """Its place now, from 1."""
    was: int
    """Its place in the engine's order, from 1."""
    reason: str
    """Why it is here, in words for the person."""
    because: tuple[ClickedPage, ...] = ()
    """The documents of the history that say most for it, the strongest first."""


@dataclass(frozen=True)
class TopicNode:
    """A topic of the taxonomy as its owner sees it."""

    label: str
    name: str
    documents: float
    """How many of the person's documents are filed at it or below."""
    sensitivity: float
    """0 where it is not sensitive itself."""
    protected: bool
    """Whether it is sensitive, or lies below a topic that is."""
    children: int
    """How many topics lie directly below."""
    description: str = ""
    risk: float = 0.0
    """The share of the total sensitivity at risk if this topic alone is exposed (its cost, normalised)."""


@dataclass(frozen=True)
class Forgotten:
    """What is gone from the file."""

    clicks: int = 0
    exposures: int = 0
    topics: int = 0
    warnings: tuple[str, ...] = field(default=())
    """What forgetting cannot undo, in words."""
    documents: tuple[HistoryDocument, ...] = field(default=(), repr=False)
    """What was removed, in memory only, so that :meth:`OwnedProfile.restore` can put it back."""
