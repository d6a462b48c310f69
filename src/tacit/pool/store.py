"""Where a pool keeps what it must remember: one epoch, in memory or in Redis, and nothing older.

All that changes does so in one step, compared against where the epoch stands: several workers may run the
same pool, and a worker that dies leaves nothing half done.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tacit.pool.protocol import FirstMessage, Phase, Reply, SecondMessage

__all__ = ["MemoryStore", "Standing", "PoolStore"]


@dataclass(frozen=True)
class Standing:
    """Where the pool stands: the epoch, its phase, and when the phase began and ends."""

    epoch: int
    phase: Phase
    since: float
    until: float


class PoolStore(Protocol):
    """What a pool remembers. Everything but :meth:`advance` concerns the present epoch alone."""

    def standing(self) -> Standing | None:
        """Where the pool stands; None before its first epoch, or when the store has lost everything."""

    def advance(
        self,
        seen: Standing | None,
        then: Standing,
        documents: Mapping[str, str],
        asked: set[int] | None = None,
    ) -> bool:
        """Go from ``seen`` to ``then``, if the pool still stands there; was it so?

        With a new epoch all messages and documents of the old one are forgotten. ``documents`` are kept
        for the epoch; ``asked`` are the groups that may identify themselves.
        """

    def document(self, name: str) -> str | None:
        """A document of the epoch: the table, the keys."""

    def first(self, message: FirstMessage, capacity: int) -> Reply:
        """Take M1 if the epoch counts; a token counts once."""

    def counts(self) -> dict[int, int]:
        """How many tokens each group counted."""

    def second(self, message: SecondMessage) -> Reply:
        """Take M2 if the group is asked and its token counted for it; the first record of a token stays."""

    def batches(self, least: int) -> dict[int, list[str]]:
        """The sealed records of the groups that have at least ``least`` of them, in the order of tokens.

        Of other groups nothing is handed over, not even how many there are.
        """


class MemoryStore:
    """A store inside one process; with the process it is gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._standing: Standing | None = None
        self._documents: dict[str, str] = {}
        self._forget()

    def _forget(self) -> None:
        self._counted: dict[str, int] = {}
        self._counts: dict[int, int] = {}
        self._sealed: dict[int, dict[str, str]] = {}
        self._asked: set[int] = set()

    def standing(self) -> Standing | None:
        """Where the pool stands."""
        return self._standing

    def advance(
        self,
        seen: Standing | None,
        then: Standing,
        documents: Mapping[str, str],
        asked: set[int] | None = None,
    ) -> bool:
        """Go from ``seen`` to ``then``, if the pool still stands there."""
        with self._lock:
            if self._standing != seen:
                return False
            if seen is None or seen.epoch != then.epoch:
                self._forget()
                self._documents = {}
            self._documents.update(documents)
            if asked is not None:
                self._asked = set(asked)
            self._standing = then
            return True

    def document(self, name: str) -> str | None:
        """A document of the epoch."""
        return self._documents.get(name)

    def first(self, message: FirstMessage, capacity: int) -> Reply:
        """Take M1 if the epoch counts."""
        with self._lock:
            if not self._stands(message.epoch, Phase.COUNT):
                return Reply.GONE
            known = self._counted.get(message.token)
            if known is not None:
                return Reply.REPEATED if known == message.group else Reply.REFUSED
            if len(self._counted) >= capacity:
                return Reply.FULL
            self._counted[message.token] = message.group
            self._counts[message.group] = self._counts.get(message.group, 0) + 1
            return Reply.ACCEPTED

    def counts(self) -> dict[int, int]:
        """How many tokens each group counted."""
        with self._lock:
            return dict(self._counts)

    def second(self, message: SecondMessage) -> Reply:
        """Take M2 if the group is asked and its token counted for it."""
        with self._lock:
            if not self._stands(message.epoch, Phase.IDENTIFY):
                return Reply.GONE
            if message.group not in self._asked or self._counted.get(message.token) != message.group:
                return Reply.REFUSED
            sealed = self._sealed.setdefault(message.group, {})
            if message.token in sealed:
                return Reply.REPEATED
            sealed[message.token] = message.sealed
            return Reply.ACCEPTED

    def batches(self, least: int) -> dict[int, list[str]]:
        """The sealed records of the groups that have at least ``least`` of them."""
        with self._lock:
            return {
                group: [sealed[token] for token in sorted(sealed)]
                for group, sealed in self._sealed.items()
                if len(sealed) >= least
            }

    def _stands(self, epoch: int, phase: Phase) -> bool:
        return self._standing is not None and (self._standing.epoch, self._standing.phase) == (epoch, phase)
