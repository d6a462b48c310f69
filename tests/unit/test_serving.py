"""The sockets that pages and engines are served on, and what a client may send there."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest

from tacit import InputError
from tacit.web.server import bound_socket


def test_answers_do_not_wait_for_more_to_send() -> None:
    """Otherwise an answer in two parts is held back for 40 ms on a connection that is used again."""

    async def accepted() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            found.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        opened = bound_socket("127.0.0.1", 0)
        async with await asyncio.start_server(answer, sock=opened):
            _, writer = await asyncio.open_connection(*opened.getsockname())
            try:
                return await asyncio.wait_for(found, 10)
            finally:
                writer.close()

    assert asyncio.run(accepted()) != 0


def test_a_port_in_use_is_told_with_a_remedy() -> None:
    with bound_socket("127.0.0.1", 0) as opened:
        opened.listen()
        with pytest.raises(InputError, match="Choose another"):
            bound_socket("127.0.0.1", opened.getsockname()[1])


SERVER = """
import json
from tacit.web.server import bound_socket, serve

async def application(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    names = [name.decode() for name, _ in scope["headers"]]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps([size, names]).encode()})

opened = bound_socket("127.0.0.1", 0)
serve(application, opened, lambda: print(opened.getsockname()[1], flush=True))
"""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server as commands run it, which answers how large a body was and what headers there were."""
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        yield int(running.stdout.readline())
        running.terminate()


def flood(port: int, begin: bytes, part: bytes) -> tuple[int, bytes]:
    """How many bytes of a request that never ends are taken, and what is answered."""
    taken, answer = 0, b""
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        with suppress(ConnectionError):
            client.sendall(begin)
            while taken < 50_000_000:
                client.sendall(part * (10_000 // len(part)))
                taken += 10_000
        with suppress(ConnectionError):
            answer = client.recv(65536)
    return taken, answer


@pytest.mark.parametrize(
    ("begin", "part"),
    [
        (b"GET / HTTP/1.1\r\n", b"A: b\r\n"),
        (b"GET / HTTP/1.1\r\nA: ", b"x"),
        (b"GET /", b"x"),
        (b"", b"\r\n"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", b"A: b\r\n"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nxGET / HTTP/1.1\r\nA: ", b"x"),
    ],
    ids=["headers", "one header", "address", "empty lines", "trailers", "extension", "second request"],
)
def test_a_request_whose_headers_never_end_is_refused(port: int, begin: bytes, part: bytes) -> None:
    taken, _ = flood(port, begin, part)
    assert taken < 20_000_000
    assert httpx.get(f"http://127.0.0.1:{port}", trust_env=False).status_code == 200


def test_long_headers_and_a_large_body_are_taken(port: int) -> None:
    """The limit is for what has no end, not for what is large."""

    def parts() -> Iterator[bytes]:
        for _ in range(20_000):
            yield b"x" * 100

    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
        for content in (b"x" * 3_000_000, parts()):
            answer = client.post("/", content=content, headers={"A": "x" * 60_000})
            assert answer.status_code == 200
            assert answer.json()[0] in {2_000_000, 3_000_000}


def test_too_long_a_head_is_said_to_be(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        client.sendall(b"GET / HTTP/1.1\r\nA: " + b"x" * 64_000)
        answer = b"".join(iter(lambda: client.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 400 ")


def test_every_request_of_a_connection_has_headers_of_its_own(port: int) -> None:
    first = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        client.sendall(first + b"GET / HTTP/1.1\r\nHost: a\r\nCookie: c=d\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    assert answer.count(b'[0, ["host", "transfer-encoding"]]') == 1
    assert answer.count(b'[0, ["host", "cookie", "connection"]]') == 1


def test_requests_sent_ahead_are_answered_in_turn(port: int) -> None:
    last = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    answers = b""
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 99 + last)
        while part := client.recv(65536):
            answers += part
    assert answers.count(b"HTTP/1.1 200 OK") == 100


def test_a_client_that_never_reads_cannot_fill_the_memory(port: int) -> None:
    taken = 0
    with socket.create_connection(("127.0.0.1", port), 2) as client, suppress(ConnectionError, TimeoutError):
        while taken < 100_000_000:
            taken += client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 1000)
    assert taken < 50_000_000


def test_headers_behind_a_body_are_not_taken_for_headers(port: int) -> None:
    """They could carry what the guard at the door has already looked for."""
    wire = (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nCookie: a=b\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        client.sendall(wire)
        answer = client.recv(65536)
        while b"]]" not in answer:
            answer += client.recv(65536)
    assert json.loads(answer[answer.index(b"[") : answer.index(b"]]") + 2]) == [
        1,
        ["host", "transfer-encoding"],
    ]
