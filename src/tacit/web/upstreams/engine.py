"""An engine: what it is asked, how its answer is read, and how it can carry a profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from tacit.web.upstreams.answer import SearchResult
from tacit.web.upstreams.wire import Outgoing

__all__ = ["NOTHING_EXPOSED", "RESULTS_ASKED", "Carriage", "EngineDescription", "Exposed", "Upstream"]

RESULTS_ASKED = 50
"""How many results an engine is asked for, so that further pages need no further request."""


class Carriage(StrEnum):
    """How an engine can carry a profile."""

    HERE = "here"
    """It runs in this process: nothing leaves the machine."""
    PROFILE = "profile"
    """It takes the generalised profile beside the query, and personalises on its side."""
    EXPANSION = "expansion"
    """It takes words only: the names of exposed topics are added to the query."""
    NOTHING = "nothing"
    """It gets the query alone; all personalising happens on the device."""


@dataclass(frozen=True)
class EngineDescription:
    """What the person said about an engine, as it is kept."""

    name: str
    kind: str
    address: str = ""
    carriage: Carriage = Carriage.NOTHING
    enabled: bool = True
    local: bool = False
    """Whether its name may lead to this machine or the network around it, though it is no local address."""
    timeout: float = 4.0
    """Seconds for the whole answer, retries included."""
    description: Mapping[str, Any] = field(default_factory=dict)
    """For an engine described in JSON: where things stand in its answer."""


@dataclass(frozen=True)
class Exposed:
    """What of a profile goes to one engine with one query."""

    topics: tuple[str, ...] = ()
    """Labels of the exposed topics, from the root down."""
    preferences: Mapping[str, float] = field(default_factory=dict)
    """The person's preferences among the exposed leaves, where they are told."""
    words: tuple[str, ...] = ()
    """Readable names of the exposed leaves, to expand a query by."""


NOTHING_EXPOSED = Exposed()
"""The query goes alone."""


class Upstream(Protocol):
    """Writes requests to one kind of engine and reads its answers; no network, no state."""

    def request(self, query: str, told: Exposed) -> Outgoing:
        """What to send for ``query`` with what is exposed of the profile."""
        ...

    def read(self, body: bytes, content_type: str) -> list[SearchResult]:
        """The results in an answer.

        Raises:
            ValueError: the answer is not of the form that this engine speaks.
        """
        ...
