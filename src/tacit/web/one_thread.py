"""One thread for one kind of work, done in the order in which it is asked for.

All that searches ask of the guard waits for one lock. Twenty threads that wait for it wake each other up, and
take turns at the interpreter while they do; one thread with a queue does the same work in less time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar, TypeVarTuple

__all__ = ["OneThread"]

_Given = TypeVarTuple("_Given")
_Made = TypeVar("_Made")


class OneThread:
    """Does work for coroutines, one piece after the other.

    Args:
        name: of the thread.
    """

    def __init__(self, name: str) -> None:
        self._waiting: SimpleQueue[tuple[asyncio.Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def do(self, work: Callable[[*_Given], _Made], *given: *_Given) -> _Made:
        """What ``work`` gives, or raises. Work that nobody waits for any more is not begun."""
        future: asyncio.Future[_Made] = asyncio.get_running_loop().create_future()
        self._waiting.put((future, lambda: work(*given)))
        return await future

    def close(self) -> None:
        """Stop after the work that waits."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (asked := self._waiting.get()) is not None:
            future, work = asked
            if future.cancelled():
                continue
            try:
                made = work()
            except BaseException as error:  # a panic of compiled code is no Exception; the next work goes on
                _tell(future, future.set_exception, _raisable(error))
            else:
                _tell(future, future.set_result, made)


def _raisable(error: BaseException) -> BaseException:
    """The error itself, but for the one that a future does not take."""
    if not isinstance(error, StopIteration):
        return error
    other = RuntimeError("the work raised StopIteration")
    other.__cause__ = error
    return other


def _tell(future: asyncio.Future[Any], settle: Callable[[Any], None], outcome: Any) -> None:
    """Settle a future in its own loop, unless it was given up or the loop is gone."""

    def told() -> None:
        if not future.done():
            settle(outcome)

    with suppress(RuntimeError):  # the loop is closed
        future.get_loop().call_soon_threadsafe(told)
