"""Run a server until Ctrl-C: on one address, within limits, without a log of what was searched."""

import atexit
import gc
import shutil
import signal
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import platformdirs
import uvicorn
from threadpoolctl import threadpool_limits

from tacit.errors import InputError

_LONGEST_HEAD = 64_000
"""Bytes of a request's headers, or of anything else in it that must be complete to be understood."""


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket bound to an address, so that its port is known before the server runs."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named TCP, or asyncio leaves its connections waiting for more to send: 40 ms for every answer.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        problem = f"port {port} of {host} cannot be used: {error.strerror}."
        raise InputError(problem, "Choose another with `port`; 0 takes a free one.") from error
    return opened


def _configuration(application: Any) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        access_log=False,
        proxy_headers=False,
        log_level="critical",
        lifespan="on",
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=3,
        http="h11",
        h11_max_incomplete_event_size=_LONGEST_HEAD,
        ws="none",
    )


def serve(application: Any, opened: socket.socket, started: Callable[[], None] = lambda: None) -> None:
    """Serve until Ctrl-C or SIGTERM. No request is logged: addresses hold queries."""

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                started()

    server = Server(_configuration(application))

    def stop(*_: object) -> None:
        """End even before uvicorn listens; it raises a signal once more after it has shut down in order."""
        server.should_exit = True

    usual = {name: signal.signal(name, stop) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        gc.collect()
        gc.freeze()  # what is loaded by now stays: looking through it for garbage takes a tenth of a second
        with threadpool_limits(1, user_api="blas"):  # two threads wait for each other: 43 ms a search, not 10
            server.run(sockets=[opened])
    finally:
        gc.unfreeze()
        for name, handler in usual.items():
            signal.signal(name, handler)


@contextmanager
def served_beside(application: Any, opened: socket.socket) -> Iterator[None]:
    """Serve in a thread of this process while the block runs."""
    server = uvicorn.Server(_configuration(application))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(5)


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
