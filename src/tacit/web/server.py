"""Run a server until Ctrl-C: on one address, within limits, without a log of what was searched."""

from __future__ import annotations

import atexit
import gc
import shutil
import signal
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import platformdirs
import uvicorn
from threadpoolctl import threadpool_limits
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tacit.errors import InputError

LONGEST_HEAD_OF_REQUEST = 64_000
"""Bytes that may arrive while a request's headers, or what follows its body, are not complete."""
MOST_WAITING = 16
"""Requests of one connection that may wait for the answer to one before them. Browsers send none ahead."""


class BoundedHeadProtocol(HttpToolsProtocol):
    """Refuses requests whose headers do not end or that come without end, and headers from behind a body."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self._unfinished = 0
        self._went_on = self._head_complete = False
        super().__init__(*given, **named)

    def data_received(self, data: bytes) -> None:
        """Some bytes have arrived."""
        self._went_on = False
        super().data_received(data)
        self._unfinished = 0 if self._went_on else self._unfinished + len(data)
        if self._unfinished > LONGEST_HEAD_OF_REQUEST and not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.send_400_response("The headers are too long.")
            self.transport.close()
        elif len(self.pipeline) > MOST_WAITING:  # each answer makes the protocol read on, and keep more
            self.transport.close()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._head_complete = False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; one behind the body could not be examined before the request is answered."""
        if not self._head_complete:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The request can be answered."""
        self._went_on = self._head_complete = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._went_on = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request has ended."""
        self._went_on = True
        super().on_message_complete()


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


def opening_page(address: str, folder: Path) -> Path:
    """A file in ``folder`` that leads to the address."""
    path = folder / "open-tacit.html"
    path.touch(mode=0o600)
    path.write_text(
        "<!doctype html><meta charset=utf-8><title>Tacit</title>"
        f'<meta http-equiv="refresh" content="0; url={escape(address, quote=True)}">'
        f'<p><a href="{escape(address, quote=True)}">Open Tacit</a></p>\n',
        encoding="utf-8",
    )
    return path


def open_browser(address: str) -> bool:
    """Open the address in the person's browser; False where there is none."""
    folder = Path(tempfile.mkdtemp(prefix="tacit-open-"))  # readable by its owner only
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        return webbrowser.open(opening_page(address, folder).as_uri())
    except (webbrowser.Error, OSError):
        return False


def profile_place() -> Path:
    """``tacit.profile`` in the person's data folder, which is made, for its owner only, if there is none."""
    folder = Path(platformdirs.user_data_dir("tacit", appauthor=False))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder / "tacit.profile"
