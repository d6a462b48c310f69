"""The service gateway's rule of logging: a batch is logged whole or not at all, at one time, once.

1. A batch says until when it may be logged; later, nothing of it is.
2. The gateway's clock never goes back within a **session**; where the machine's is set back, or the gateway
   starts anew, a session begins. A batch that counts on entries of another session is refused.
3. A batch that comes again, since an answer was lost, is answered with the time of the first, and not logged
   again. Numbers are remembered until the batch could only be late.
4. Every item is opened before anything is logged. If some cannot be read, nothing is.

No clock and no file: time is passed in, and ``write`` is called with the time to log under.
"""

import heapq
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

STEP_BACK = 1.0
"""Seconds by which a clock may be corrected backwards; the log's clock waits for it. More: a new session."""

FURTHEST = 86_400.0
"""Seconds that a deadline may lie ahead unless the window is longer, which bounds what must be remembered."""


@dataclass(frozen=True)
class _Said:
    session: str
    time: float


class Logged(_Said):
    """The whole batch stands in the log, under this time (for a repeat, the first time)."""


class Late(_Said):
    """Nothing was logged: the batch's deadline was over at this time (or lies too far ahead)."""


class Elsewhere(_Said):
    """Nothing was logged: the batch counts on entries of another session than the present one."""


@dataclass(frozen=True)
class Unreadable(_Said):
    """Nothing was logged: the items at these places of the batch cannot be opened."""

    places: tuple[int, ...]


Answer = Logged | Late | Elsewhere | Unreadable


class GatewayLog:
    """The gateway's memory: its session, its latest time, and the batches that may come again.

    ``draw`` makes a session's name, which nobody may be able to foretell; ``window`` is the pool's.
    """

    def __init__(self, draw: Callable[[], str] = lambda: secrets.token_hex(16), *, window: float = 0) -> None:
        self._draw = draw
        self._furthest = max(FURTHEST, 2 * window)
        self._begin(float("-inf"))

    def _begin(self, now: float) -> None:
        self.session = self._draw()
        self._latest = now
        self._logged: dict[str, float] = {}
        self._until: list[tuple[float, str]] = []

    def time(self, now: float) -> float:
        """The log's time when the machine's clock shows ``now``; begins a session if that was set back."""
        if now < self._latest - STEP_BACK:
            self._begin(now)
        self._latest = max(self._latest, now)
        while self._until and self._until[0][0] < self._latest:
            del self._logged[heapq.heappop(self._until)[1]]
        return self._latest

    def remembers(self, batch: str) -> bool:
        """Return whether the batch was logged and may come again."""
        return batch in self._logged

    def take(
        self,
        batch: str,
        session: str,
        deadline: float,
        unreadable: Sequence[int],
        now: float,
        write: Callable[[float], None],
    ) -> Answer:
        """Log a batch by its number, or say why not.

        It counts on entries of ``session``; the items at the places ``unreadable`` could not be opened.
        ``write`` writes all entries under the time it is given, or raises; then nothing was logged.
        """
        time = self.time(now)
        if session != self.session:
            return Elsewhere(self.session, time)
        if batch in self._logged:
            return Logged(self.session, self._logged[batch])
        if unreadable:
            return Unreadable(self.session, time, tuple(unreadable))
        if not time <= deadline <= time + self._furthest:  # also refuses a deadline that is no number
            return Late(self.session, time)
        write(time)
        self._logged[batch] = time
        heapq.heappush(self._until, (deadline, batch))
        return Logged(self.session, time)
