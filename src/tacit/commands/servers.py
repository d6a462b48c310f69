"""Servers that commands run: opened, announced once they answer, and served until Ctrl-C."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tacit.terminal import emit


@dataclass(frozen=True)
class Listening:
    """A socket that was opened, and the address under which it can be reached."""

    socket: socket.socket
    address: str


def listen(host: str, port: int) -> Listening:
    """Open a port; 0 takes a free one."""
    from tacit.web.server import bound_socket

    opened = bound_socket(host, port)
    shown = f"[{host}]" if ":" in host else host
    return Listening(opened, f"http://{shown}:{opened.getsockname()[1]}")


def run(
    make: Callable[[], Any],
    server: Listening,
    title: str,
    result: Mapping[str, Any],
    says: Sequence[str] = (),
    workers: int = 1,
    beside: Sequence[Callable[[], None]] = (),
) -> None:
    """Serve what ``make`` makes until Ctrl-C, in so many processes; with several, others run ``beside``.

    When the server answers, its address (``{}`` in the title) and what it does are said, a line each.
    """
    from tacit.web.server import serve

    def started() -> None:
        said = f"{title.format(server.address)} (stop with Ctrl-C)"
        emit({"address": server.address, **result}, said, *says)

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # a thousand idle connections must not fill it
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if workers == 1:
        serve(make(), server.socket, started)
        return
    server.socket.listen(2048)
    _run_workers([*beside, *[lambda: serve(make(), server.socket)] * workers], started)


_PAUSE = 0.5
"""Seconds before a worker that died is replaced."""


def _run_workers(works: Sequence[Callable[[], None]], started: Callable[[], None]) -> None:
    """Do each work in a process of its own until Ctrl-C or SIGTERM; ``started`` is called once they run."""
    ending = False
    children: dict[int, Callable[[], None]] = {}

    def end(_signal: int, _frame: Any) -> None:
        nonlocal ending
        ending = True
        for child in list(children):
            with suppress(ProcessLookupError):  # it ended by itself a moment ago
                os.kill(child, signal.SIGTERM)

    def begin(work: Callable[[], None]) -> None:
        # A signal waits until the child is noted here, and until it has handlers of its own there.
        signal.pthread_sigmask(signal.SIG_BLOCK, usual)
        try:
            if not ending:
                children[_fork(work, usual)] = work
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, usual)

    usual = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)}
    for name in usual:
        signal.signal(name, end)
    try:
        for work in works:
            begin(work)
        started()
        while children:
            try:
                child, _ = os.wait()
            except ChildProcessError:
                break
            died = children.pop(child, None)  # before anything else: a signal may come at any moment
            if died is not None:
                time.sleep(0 if ending else _PAUSE)
                begin(died)
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
        signal.pthread_sigmask(signal.SIG_UNBLOCK, usual)
        work()
        status = 0
    except KeyboardInterrupt:
        status = 0
    finally:
        sys.stdout.flush()
        os._exit(status)
