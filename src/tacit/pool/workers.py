"""Several workers on one address: each a process of its own; who dies is replaced."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["run_workers"]

_PAUSE = 0.5
"""Seconds before a worker that died is replaced."""


def run_workers(number: int, work: Callable[[], None], started: Callable[[], None]) -> None:
    """Run ``work`` in ``number`` processes until Ctrl-C or SIGTERM; ``started`` is called once they run."""
    ending = False
    children: set[int] = set()

    def end(_signal: int, _frame: Any) -> None:
        nonlocal ending
        ending = True
        for child in children:
            os.kill(child, signal.SIGTERM)

    usual = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)}
    for name in usual:
        signal.signal(name, end)
    try:
        for _ in range(number):
            children.add(_fork(work, usual))
        started()
        while children:
            try:
                child, _ = os.wait()
            except ChildProcessError:
                break
            children.discard(child)
            if not ending:
                time.sleep(_PAUSE)
                children.add(_fork(work, usual))
    finally:
        for name, handler in usual.items():
            signal.signal(name, handler)


def _fork(work: Callable[[], None], usual: dict[signal.Signals, Any]) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        for name, handler in usual.items():
            signal.signal(name, handler)
        work()
        status = 0
    except KeyboardInterrupt:
        status = 0
    finally:
        sys.stdout.flush()
        os._exit(status)
