"""Small real HTTP servers on 127.0.0.1, whose answers and whose received bytes a test decides and sees."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

__all__ = ["LocalServer", "http_answer", "local_server", "running"]

Handler = Callable[[bytes, socket.socket], bytes | None]
"""Given the bytes of one request and the socket, the bytes to answer; None: the handler did it itself."""


def http_answer(body: bytes | str, status: str = "200 OK", **headers: str) -> bytes:
    """The bytes of an HTTP answer."""
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


@dataclass
class LocalServer:
    """A running server and every request it got, byte for byte."""

    port: int
    requests: list[bytes] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Its address without a path."""
        return f"http://127.0.0.1:{self.port}"


def _read_request(connection: socket.socket, pending: bytes) -> tuple[bytes, bytes]:
    """One whole request and what came after it; empty at the end of the connection."""
    while b"\r\n\r\n" not in pending:
        part = connection.recv(65536)
        if not part:
            return b"", b""
        pending += part
    head, _, rest = pending.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
    while len(rest) < length:
        rest += connection.recv(65536)
    return head + b"\r\n\r\n" + rest[:length], rest[length:]


@contextmanager
def local_server(handler: Handler) -> Iterator[LocalServer]:
    """Serve with ``handler`` while the block runs; connections are kept alive."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = LocalServer(listening.getsockname()[1])
    lock = threading.Lock()
    open_connections: list[socket.socket] = []

    def converse(connection: socket.socket) -> None:
        pending = b""
        try:
            while True:
                request, pending = _read_request(connection, pending)
                if not request:
                    return
                with lock:
                    server.requests.append(request)
                answer = handler(request, connection)
                if answer is None:
                    return
                connection.sendall(answer)
        except OSError:
            return
        finally:
            connection.close()

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            open_connections.append(connection)
            threading.Thread(target=converse, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for connection in open_connections:
            connection.close()


@contextmanager
def running(application: Any, listening: socket.socket | None = None) -> Iterator[str]:
    """Serve an ASGI application on a free port while the block runs; gives its address."""
    opened = listening or socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(application, log_level="critical", access_log=False, lifespan="on")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        thread.join(0.01)
    try:
        yield f"http://127.0.0.1:{opened.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        opened.close()
