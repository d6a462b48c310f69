"""An application on a real port, in a thread, for as long as a test needs it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from tacit.web.server import bound_socket

__all__ = ["served_app"]


@contextmanager
def served_app(app: Any, port: int = 0) -> Iterator[httpx.Client]:
    """A client of ``app``, which is served on 127.0.0.1."""
    opened = bound_socket("127.0.0.1", port)
    server = uvicorn.Server(
        uvicorn.Config(
            app, log_level="critical", access_log=False, lifespan="on", timeout_graceful_shutdown=1
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        address = f"http://127.0.0.1:{opened.getsockname()[1]}"
        with httpx.Client(base_url=address, trust_env=False, timeout=20.0) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(10)
        opened.close()
