"""Work that takes longer than a page: one import at a time, with its progress."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from tacit.errors import TacitError

__all__ = ["Job", "Jobs"]


@dataclass
class Job:
    """A piece of work under way, or done."""

    what: str
    done: int = 0
    new: int = 0
    finished: bool = False
    problem: str = ""

    def advance(self, steps: int) -> None:
        """So many more pages were dealt with."""
        self.done += steps


class Jobs:
    """Runs one job at a time in a thread of its own."""

    def __init__(self) -> None:
        self.latest: Job | None = None
        self._lock = threading.Lock()

    def start(self, what: str, work: Callable[[Job], int], after: Callable[[], None]) -> Job | None:
        """Start ``work``, which gives how many pages were new; None where another job runs still.

        Args:
            what: the work, in words.
            work: the work itself.
            after: always called at the end, for cleaning up.
        """
        with self._lock:
            if self.latest is not None and not self.latest.finished:
                return None
            self.latest = job = Job(what)

        def run() -> None:
            try:
                job.new = work(job)
            except TacitError as error:
                job.problem = str(error)
            except Exception as error:  # whatever a foreign file provokes; its content must not be told
                job.problem = f"the file could not be read ({type(error).__name__})."
            finally:
                after()
                job.finished = True

        threading.Thread(target=run, name="tacit-import", daemon=True).start()
        return job
