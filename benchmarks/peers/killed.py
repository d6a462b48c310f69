"""What becomes of noise when an executor is killed after it was drawn: two draws, of which one is kept.

Used inside Spark's workers, in whatever environment a peer has: it needs the standard library alone.
"""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["drawn_twice", "killing"]


def killing(folder: str) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Note all that a task has drawn, by attempt; the first task that has rows loses its executor, once."""

    def work(rows: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        drawn = list(rows)
        place = f"{task.partitionId()}"
        earlier = list(Path(folder).glob(f"{place}-*"))
        (Path(folder) / f"{place}-{len(earlier)}-{os.getpid()}").write_bytes(pickle.dumps(drawn))
        if not earlier and sum(map(len, drawn)) and not (Path(folder) / "killed").exists():
            (Path(folder) / "killed").touch()
            started = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
            os.kill(int(started[1]), signal.SIGKILL)  # the executor, which started who started us
            time.sleep(60)
        yield from drawn

    return work


def drawn_twice(folder: str, pairs: Callable[[Any], Iterable[tuple[Any, Any]]]) -> tuple[int, int]:
    """Of the keys in tasks that were computed again: how many, and how many of them differ in two attempts.

    ``pairs`` gives the keys of what a task noted, each with its number. A key that is there once differs.
    """
    attempts: dict[str, list[dict[Any, Any]]] = {}
    for file in sorted(Path(folder).glob("*-*")):
        rows = pickle.loads(file.read_bytes())
        attempts.setdefault(file.name.split("-")[0], []).append(
            dict(pair for row in rows for pair in pairs(row))
        )
    keys = differing = 0
    for first, *others in attempts.values():
        for other in others:
            both = first.keys() | other.keys()
            keys += len(both)
            differing += sum(first.get(key) != other.get(key) for key in both)
    return keys, differing
