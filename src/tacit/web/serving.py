"""Running a server until Ctrl-C: on one address, without a log of what was asked."""

from __future__ import annotations

import gc
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from threadpoolctl import threadpool_limits

from tacit.errors import InputError
from tacit.web.bounded_heads import BoundedHeadProtocol

__all__ = ["bound_socket", "serve"]

_ALLOCATIONS = 5_000
"""So many new objects may gather before Python looks for garbage among them."""
_TURN = 0.0005
"""Seconds for which a thread computes before another may; Python's own 5 ms are felt by whoever waits."""


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket bound to an address, so that its port is known before the server runs.

    Raises:
        InputError: the port is taken, or the address is not of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named TCP, or asyncio leaves its connections waiting for more to send: 40 ms for every answer.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        raise InputError(
            f"port {port} of {host} cannot be used: {error.strerror}.",
            "Choose another with `port`; 0 takes a free one.",
        ) from error
    return opened


def serve(application: Any, opened: socket.socket, started: Callable[[], None] = lambda: None) -> None:
    """Serve until Ctrl-C or SIGTERM. No request is logged: addresses hold queries."""
    configuration = uvicorn.Config(
        application,
        access_log=False,
        proxy_headers=False,
        log_level="critical",
        lifespan="on",
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=3,
        http=BoundedHeadProtocol,
        ws="none",
    )

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                started()

    usual = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        with _prompt():
            Server(configuration).run(sockets=[opened])
    except KeyboardInterrupt:
        pass  # Ctrl-C is how a server ends: uvicorn raises the signal again once it has shut down in order
    finally:
        for name, handler in usual.items():
            signal.signal(name, handler)


@contextmanager
def _prompt() -> Iterator[None]:
    """Set Python up for many who each wait for a short answer, as long as the block lasts."""
    turn, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(_TURN)
    # What is loaded by now stays. Looking through all of it for garbage takes a tenth of a second each time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS, *thresholds[1:])
    try:
        # Requests are answered beside each other already: products that split themselves over all cores
        # would only wait for one another.
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        sys.setswitchinterval(turn)
