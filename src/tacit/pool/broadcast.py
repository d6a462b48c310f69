"""What a worker tells everybody at once: where the pool stands. Never a word to one person alone."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable

from tacit.pool.machine import Pool
from tacit.pool.protocol import Phase
from tacit.pool.store import Standing

__all__ = ["Broadcast", "Clock", "steady_clock"]

Clock = Callable[[], float]

_EVERY = 0.05
"""Seconds between two looks at the clock."""

_HEARTBEAT = 15.0
"""Seconds of silence after which a comment keeps a connection open."""


def steady_clock() -> Clock:
    """Seconds since 1970 as they were when the process began, and running evenly from then on."""
    begun = time.time() - time.monotonic()
    return lambda: begun + time.monotonic()


class Broadcast:
    """Drives the pool of one worker, and lets any number of listeners follow.

    Args:
        pool: the pool.
        clock: the time that all workers share.
        most: how many may listen at once.
    """

    def __init__(self, pool: Pool, clock: Clock, most: int) -> None:
        self.pool = pool
        self.clock = clock
        self.most = most
        self.listeners = 0
        self.trouble = False
        """The store cannot be reached."""
        self._said = b""
        self._standing: Standing | None = None
        self._changed = asyncio.Event()
        self._stop = threading.Event()

    async def drive(self) -> None:
        """Look at the clock again and again, until cancelled."""
        while True:
            try:
                standing = await asyncio.to_thread(self._look)
                self.trouble = False
            except Exception as error:  # whatever the store's client raises: it may come back
                if not _store_is_away(error):
                    raise
                self.trouble = True
                standing = None
            if standing is not None and standing != self._standing:
                self._standing = standing
                asked = self.pool.asked() if standing.phase is Phase.IDENTIFY else None
                self._say(standing, asked)
            await asyncio.sleep(_EVERY)

    def _look(self) -> Standing:
        return self.pool.tick(self.clock())

    def _say(self, standing: Standing, asked: list[int] | None) -> None:
        said: dict[str, object] = {"epoch": standing.epoch, "phase": standing.phase.value}
        if asked is not None:
            said["asked"] = asked
        text = json.dumps(said, separators=(",", ":"))
        self._said = f"event: {standing.phase.value}\ndata: {text}\n\n".encode()
        self._changed.set()
        self._changed = asyncio.Event()

    async def follow(self) -> AsyncIterator[bytes]:
        """Where the pool stands now, and each change from now on, as server-sent events."""
        self.listeners += 1
        try:
            if self._said:
                yield self._said
            while True:
                changed = self._changed
                try:
                    await asyncio.wait_for(changed.wait(), _HEARTBEAT)
                    yield self._said
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self.listeners -= 1


def _store_is_away(error: Exception) -> bool:
    return isinstance(error, OSError) or type(error).__module__.startswith("redis")
