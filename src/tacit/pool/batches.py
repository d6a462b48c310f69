"""Sealed records kept by a party that is not the pool, and handed over only in batches.

A relay keeps the second messages of an epoch. It cannot open them, and the pool does not get them: not before
at least k were sealed for the same announcement, and then all at once, shuffled, without addresses, times or
tokens. So the pool never sees the record of fewer than k people, whoever vanished between the phases.

An **announcement** is what somebody answers: the table of an epoch, a group in it, and the key that the pool
gave for it. Messages are kept by its digest. A pool that hands out different keys or tables, to tell people
apart by them, therefore splits its own batches, and gets none.

**What holds**, whatever agents and the pool do:

1. a batch has at least ``least`` messages with distinct tokens, of one announcement;
2. an announcement is handed over once: the first question closes it, later messages are refused, and a
   repeated question gets the same batch. Two batches that differ by one person never exist;
3. of an announcement with fewer messages nothing is told, not even how many came;
4. nothing is kept for longer than ``hold``, and after a restart nothing is taken for as long: what was
   announced before it is over by then.
"""

from __future__ import annotations

import hashlib
import random
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tacit.errors import InputError, ParameterError
from tacit.pool.admission import AdmissionPass
from tacit.pool.protocol import LONGEST_SEALED, TOKEN, VERSION, Reply

__all__ = ["BatchKeeper", "Handover", "SealedMessage", "announcement_digest", "checked_digest"]

_DIGEST = re.compile(r"[0-9a-f]{64}")
_REMEMBERED = 1_000_000
"""How many announcements that were handed over a keeper remembers."""


def announcement_digest(table_digest: str, group: int, public_key: str) -> str:
    """What messages for one group of one table, sealed for one key, have in common."""
    said = f"tacit pool 1, table {table_digest}, group {group}, key {public_key}"
    return hashlib.sha256(said.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SealedMessage:
    """M2 on its way through a relay.

    The token is a fresh one: with that of M1, a pool that saw M1's address could tell whose record it opens.
    """

    announcement: str
    token: str
    sealed: str
    admission: AdmissionPass | None = None
    """Where the relay wants one: a pass for this token."""

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> SealedMessage:
        """The message, or an error that says what is wrong with its form and repeats nothing of it."""
        if set(given) - {"version", "announcement", "token", "sealed", "pass"} or (
            given.get("version") != VERSION
        ):
            raise InputError(
                f"a sealed message has version {VERSION}, announcement, token, sealed, and perhaps a pass."
            )
        checked_digest(given.get("announcement"))
        if not isinstance(given.get("token"), str) or not TOKEN.fullmatch(given["token"]):
            raise InputError("a message's token must be 32 hexadecimal digits.")
        if not isinstance(given.get("sealed"), str) or not 0 < len(given["sealed"]) <= LONGEST_SEALED:
            raise InputError(f"a message's sealed record must have 1 to {LONGEST_SEALED} characters.")
        shown = given.get("pass")
        admission = None if shown is None else AdmissionPass.parse(shown, given["token"])
        return cls(given["announcement"], given["token"], given["sealed"], admission)

    def as_dict(self) -> dict[str, Any]:
        """As it is sent."""
        said: dict[str, Any] = {
            "version": VERSION,
            "announcement": self.announcement,
            "token": self.token,
            "sealed": self.sealed,
        }
        return said if self.admission is None else said | {"pass": self.admission.as_dict()}


def checked_digest(given: object) -> str:
    """The digest of an announcement, or an error that repeats nothing of what was given."""
    if not isinstance(given, str) or not _DIGEST.fullmatch(given):
        raise InputError("an announcement is named by 64 hexadecimal digits.")
    return given


class Handover(Protocol):
    """How a pool gets what a relay kept."""

    def hand_over(self, announcements: Sequence[str]) -> dict[str, list[str]]:
        """The batches of those announcements that have one; none where the relay cannot be reached."""


class BatchKeeper:
    """What a relay keeps, without clock or network: time is passed in.

    Args:
        least: the fewest messages of a batch. It is the relay's own promise, not the pool's word.
        began: when this relay began.
        hold: for how long messages are kept, in seconds; at least as long as the pool takes them.
        capacity: how many characters of sealed records are kept at once.
    """

    def __init__(self, least: int, began: float, *, hold: float = 60.0, capacity: int = 256_000_000) -> None:
        if type(least) is not int or least < 2:
            raise ParameterError.outside("k", least, "a whole number of at least 2")
        if not 0 < hold < float("inf"):
            raise ParameterError.outside("hold", hold, "above 0 seconds")
        if capacity < least * LONGEST_SEALED:
            raise ParameterError.outside(
                "capacity", capacity, f"enough for a batch, {least * LONGEST_SEALED}"
            )
        self.least, self.hold, self.capacity = least, hold, capacity
        self._takes_from = began + hold
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, dict[str, str]]] = {}
        """By announcement, in the order in which they began: since when, and the sealed records by token."""
        self._size = 0
        self._over: dict[str, tuple[float, list[str]]] = {}
        """By announcement, in the order in which they were handed over: when, and what."""
        self._full: list[str] = []
        """Those of them whose batch is still there to be repeated, in the same order."""

    def take(self, message: SealedMessage, now: float) -> Reply:
        """Keep a message; the first of a token stays."""
        with self._lock:
            self._forget(now)
            if now < self._takes_from or message.announcement in self._over:
                return Reply.GONE
            _, kept = self._kept.get(message.announcement, (now, {}))
            if message.token in kept:
                return Reply.REPEATED
            if self._size + len(message.sealed) > self.capacity:
                return Reply.FULL
            kept[message.token] = message.sealed
            self._kept.setdefault(message.announcement, (now, kept))
            self._size += len(message.sealed)
            return Reply.ACCEPTED

    def hand_over(self, announcements: Sequence[str], now: float) -> dict[str, list[str]]:
        """Close the announcements; the batches of those that have enough messages, shuffled."""
        with self._lock:
            self._forget(now)
            for announcement in announcements:
                if announcement not in self._over:
                    self._close(announcement, now)
            found = {announcement: self._over[announcement][1] for announcement in announcements}
            return {announcement: list(batch) for announcement, batch in found.items() if batch}

    def _close(self, announcement: str, now: float) -> None:
        _, kept = self._kept.pop(announcement, (now, {}))
        self._size -= sum(map(len, kept.values()))
        batch = list(kept.values()) if len(kept) >= self.least else []
        random.SystemRandom().shuffle(batch)
        self._over[announcement] = (now, batch)
        if batch:
            self._full.append(announcement)
        if len(self._over) > _REMEMBERED:
            del self._over[next(iter(self._over))]

    def _forget(self, now: float) -> None:
        """Drop what was kept for too long, unread, and batches that were handed over long ago."""
        while self._kept:
            announcement = next(iter(self._kept))
            since, kept = self._kept[announcement]
            if now - since < self.hold:
                break
            del self._kept[announcement]
            self._size -= sum(map(len, kept.values()))
        while self._full and now - self._over.get(self._full[0], (float("-inf"), []))[0] >= self.hold:
            announcement = self._full.pop(0)
            if announcement in self._over:
                self._over[announcement] = (now, [])
