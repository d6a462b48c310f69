"""Writing a moment later, many rows at once, so that no search waits for it.

Only what may be lost with a crash goes this way. What an engine is told is in the exposure ledger, on the
disk, before it is sent; the bytes of the request follow here within a moment.
"""

from __future__ import annotations

import threading
import time

from tacit.errors import TacitError
from tacit.web.state import PageState

__all__ = ["WriteBehind"]

_DELAY = 0.05
"""Seconds for which rows are gathered."""


class WriteBehind:
    """Gathers changes and writes them in one transaction, from a thread of its own."""

    def __init__(self, state: PageState) -> None:
        self._state = state
        self._waiting: list[tuple[str, tuple[object, ...]]] = []
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="tacit-write-behind", daemon=True)
        self._thread.start()

    def add(self, statement: str, *parameters: object) -> None:
        """Have a change made soon."""
        with self._changed:
            self._waiting.append((statement, parameters))
            self._changed.notify()

    def flush(self) -> None:
        """Make all changes that wait now. Reading what they concern begins with this."""
        with self._writing:
            with self._changed:
                batch, self._waiting = self._waiting, []
            if not batch:
                return
            try:
                with self._state.transaction() as connection:
                    for statement, parameters in batch:
                        connection.execute(statement, parameters)
            except TacitError:
                with self._changed:
                    self._waiting = batch + self._waiting
                raise

    def discard(self) -> None:
        """Forget the changes that wait: what they concern is being erased."""
        with self._writing, self._changed:
            self._waiting.clear()

    def close(self) -> None:
        """Write what waits, and stop."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()
        self.flush()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
            time.sleep(_DELAY)
            try:
                self.flush()
                self._state.shorten_journal()
            except TacitError:  # a full disk; the rows wait, and whoever reads them is told
                time.sleep(1.0)
