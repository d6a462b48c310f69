"""Requests through a SOCKS proxy: by way of the proxy, or not at all."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest
from tests.local_server import http_answer, local_server

from tacit.web.engines.catalogue import upstream_of
from tacit.web.engines.client import EngineClient, Limits
from tacit.web.engines.interface import Answer, EngineDescription

GOOD = json.dumps({"results": [{"url": "https://a.example/", "title": "A", "content": "text"}]})

pytestmark = pytest.mark.skipif(shutil.which("microsocks") is None, reason="needs Debian's microsocks")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextmanager
def socks_proxy(port: int) -> Iterator[list[str]]:
    """A proxy at a port; what it said is in the list once the block has ended."""
    proxy = subprocess.Popen(["microsocks", "-i", "127.0.0.1", "-p", str(port)], stderr=subprocess.PIPE)
    said: list[str] = []
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield said
    finally:
        proxy.terminate()
        said.append(proxy.communicate(timeout=10)[1].decode())


def ask(address: str, port: int) -> tuple[Answer, int]:
    """What an engine answers through the proxy at a port, and how many requests are said to have left."""
    engine = EngineDescription("engine", "searxng", address, timeout=5.0, local=True)
    upstream = upstream_of(engine)
    left = 0

    async def record(_origin: str, _wire: bytes) -> None:
        nonlocal left
        left += 1

    async def run() -> Answer:
        client = EngineClient(Limits(first_pause=0.01), proxy=f"socks5://127.0.0.1:{port}")
        try:
            return await client.ask(engine, upstream, upstream.request("java"), record)
        finally:
            await client.close()

    return anyio.run(run), left


def test_the_proxy_makes_the_connection() -> None:
    port = free_port()
    with local_server(lambda _request, _socket: http_answer(GOOD)) as server, socks_proxy(port) as said:
        answer, left = ask(server.address, port)
    assert [result.title for result in answer.results] == ["A"]
    assert left == len(server.requests) == 1
    assert "connected to" in said[0]


def test_without_the_proxy_nothing_goes_out_directly() -> None:
    with local_server(lambda _request, _socket: http_answer(GOOD)) as server:
        answer, left = ask(server.address, free_port())
    assert not answer.results
    assert answer.problem
    assert left == 0
    assert server.requests == []
