"""Servers that commands run: opened, announced once they answer, and served until Ctrl-C."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

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


def announcement(
    title: str, server: Listening, result: Mapping[str, Any], says: Sequence[str], as_json: bool
) -> Callable[[], None]:
    """What is to be said when the server answers: its address, and what it does, a line each."""

    def render(console: Console) -> None:
        console.print(f"{title} (stop with Ctrl-C)", markup=False, soft_wrap=True)
        for line in says:
            console.print(line, markup=False)

    return lambda: emit({"address": server.address, **result}, as_json=as_json, render=render)


def run(app: Any, server: Listening, started: Callable[[], None]) -> None:
    """Serve until Ctrl-C."""
    from tacit.web.server import serve

    serve(app, server.socket, started)
