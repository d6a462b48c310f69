"""Engines that are slow, huge, malformed, dead or sly do no harm, and everything sent to them is recorded."""

from __future__ import annotations

import gzip
import json
import socket
import time
import tracemalloc

import anyio
import pytest
from tests.local_server import http_answer, local_server

from tacit.web.engines.catalogue import upstream_of
from tacit.web.engines.client import EngineClient, Limits, is_local, names_local_address
from tacit.web.engines.interface import Answer, EngineDescription

GOOD = json.dumps({"results": [{"url": "https://a.example/", "title": "A", "content": "text"}]})
QUICK = Limits(first_pause=0.01, body=100_000)


class Record:
    """What the client recorded before it was written."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    async def __call__(self, _origin: str, wire: bytes) -> None:
        self.sent.append(wire)


def ask(
    address: str, *, timeout: float = 3.0, times: int = 1, record: Record | None = None, local: bool = False
) -> Answer:
    engine = EngineDescription("engine", "searxng", address, timeout=timeout, local=local)
    upstream = upstream_of(engine)

    async def run() -> Answer:
        client = EngineClient(QUICK)
        try:
            for _ in range(times):
                answer = await client.ask(
                    engine, upstream, upstream.request("what I asked"), record or Record()
                )
            return answer
        finally:
            await client.close()

    return anyio.run(run)


def test_a_good_engine_is_heard_and_the_bytes_recorded_are_the_bytes_received() -> None:
    record = Record()
    with local_server(lambda _request, _socket: http_answer(GOOD)) as server:
        answer = ask(server.address, times=3, record=record)
    assert [result.title for result in answer.results] == ["A"]
    assert answer.problem == ""
    assert server.requests == record.sent
    assert len(record.sent) == 3


def test_a_slow_engine_is_given_up_in_time() -> None:
    def drip(_request: bytes, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(600):
            time.sleep(0.05)
            connection.sendall(b" ")

    with local_server(drip) as server:
        begun = time.monotonic()
        answer = ask(server.address, timeout=0.5)
        assert time.monotonic() - begun < 15  # of the 30 seconds that the answer takes
    assert answer.results == ()
    assert "0.5 seconds" in answer.problem


@pytest.mark.parametrize("declared", [True, False])
def test_a_huge_answer_is_cut_off(declared: bool) -> None:
    delivered = 0

    def flood(_request: bytes, connection: socket.socket) -> None:
        nonlocal delivered
        length = "Content-Length: 1000000000" if declared else "Connection: close"
        connection.sendall(f"HTTP/1.1 200 OK\r\n{length}\r\n\r\n".encode())
        for _ in range(1000):
            connection.sendall(b"x" * 1_000_000)
            delivered += 1

    with local_server(flood) as server:
        answer = ask(server.address)
    assert "larger than" in answer.problem
    assert delivered < 50


def test_a_compressed_answer_is_unpacked_no_further_than_its_limit() -> None:
    with local_server(
        lambda *_: http_answer(gzip.compress(GOOD.encode()), Content_Encoding="gzip")
    ) as server:
        assert len(ask(server.address).results) == 1
        assert b"\r\nAccept-Encoding: gzip\r\n" in server.requests[0]
    bomb = gzip.compress(b" " * 50_000_000)
    with local_server(lambda *_: http_answer(bomb, Content_Encoding="gzip")) as server:
        tracemalloc.start()
        answer = ask(server.address)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert "larger than" in answer.problem
        assert most < 10_000_000


@pytest.mark.parametrize("coding", ["br", "deflate", "gzip, gzip", "zstd"])
def test_an_answer_packed_otherwise_or_damaged_is_refused(coding: str) -> None:
    with local_server(lambda *_: http_answer(GOOD, Content_Encoding=coding)) as server:
        assert "not asked for" in ask(server.address).problem
    with local_server(lambda *_: http_answer(GOOD, Content_Encoding="gzip")) as server:
        assert "damaged" in ask(server.address).problem


@pytest.mark.parametrize(
    "body",
    [b"", b"no json", b"\xff\xfe", b"[]", b"null", b'{"results": 7}', b'{"results": {"0": 1}}', b"[" * 90_000,
     b"<html><script>alert(1)</script>"],
    ids=["empty", "words", "bytes", "list", "null", "number", "object", "nested", "page"],
)  # fmt: skip
def test_a_malformed_answer_is_said_to_be_one(body: bytes) -> None:
    with local_server(lambda *_: http_answer(body)) as server:
        answer = ask(server.address)
    assert answer.results == ()
    assert "form" in answer.problem
    assert "what I asked" not in answer.problem + answer.remedy


def test_an_engine_that_is_no_http_server_is_said_to_be_none() -> None:
    with local_server(lambda *_: b"SSH-2.0-OpenSSH_9.2\r\n\r\n") as server:
        assert "HTTP" in ask(server.address).problem


def test_a_bad_result_among_good_ones_is_left_out() -> None:
    rows = [
        {"url": "javascript:alert(1)", "title": "script"},
        {"url": "data:text/html,<script>alert(1)</script>", "title": "data"},
        {"url": "file:///etc/passwd", "title": "file"},
        {"url": "https://a.example:port/", "title": "port"},
        {"url": "https://a.example/\nSet-Cookie: x", "title": "line"},
        {"url": ["https://a.example/"], "title": "list"},
        {"title": "none"},
        "text",
        {"url": "https://good.example/", "title": "<b>bold</b> &amp; \u202egnp.exe", "content": {"a": 1}},
    ]
    with local_server(lambda *_: http_answer(json.dumps({"results": rows}))) as server:
        answer = ask(server.address)
    assert [(r.url, r.title, r.snippet) for r in answer.results] == [
        ("https://good.example/", "bold & gnp.exe", "")
    ]


def test_a_redirect_to_another_name_is_not_followed_though_its_port_is_the_same() -> None:
    def redirect(request: bytes, _connection: socket.socket) -> bytes:
        if b"Host: 127.0.0.1" in request:
            port = request.partition(b"Host: 127.0.0.1:")[2].partition(b"\r")[0].decode()
            return http_answer("", "302 Found", Location=f"http://localhost:{port}/found?q=x")
        return http_answer(GOOD)

    with local_server(redirect) as server:
        answer = ask(server.address)
        assert len(server.requests) == 1
    assert "another host" in answer.problem


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_a_local_address_is_not_followed(status: int) -> None:
    with local_server(lambda *_: http_answer("secret")) as inner:

        def redirect(_request: bytes, _connection: socket.socket) -> bytes:
            return http_answer("", f"{status} Moved", Location=f"{inner.address}/admin?delete=all")

        with local_server(redirect) as server:
            record = Record()
            answer = ask(server.address, record=record)
            assert record.sent == server.requests
        assert inner.requests == []
    assert "another host" in answer.problem


def test_a_redirect_on_the_same_host_is_followed_and_recorded() -> None:
    record = Record()

    def redirect(request: bytes, _connection: socket.socket) -> bytes:
        if request.startswith(b"GET /search?"):
            return http_answer("", "302 Found", Location="/found?q=x")
        return http_answer(GOOD)

    with local_server(redirect) as server:
        answer = ask(server.address, record=record)
    assert len(answer.results) == 1
    assert server.requests == record.sent
    assert server.requests[1].startswith(b"GET /found?q=x HTTP/1.1\r\nHost: 127.0.0.1:")


def test_circles_end() -> None:
    with local_server(lambda *_: http_answer("", "302 Found", Location="/search?again")) as server:
        assert "circles" in ask(server.address).problem
        assert len(server.requests) == 4


def test_a_failing_engine_is_asked_again_with_pauses_and_then_left_alone() -> None:
    record = Record()
    with local_server(lambda *_: http_answer("", "503 Out of order")) as server:
        first = ask(server.address, record=record)
        assert len(server.requests) == 3
        assert server.requests == record.sent
        resting = ask(server.address, times=4)
        assert len(server.requests) == 3 + 9
    assert "503" in first.problem
    assert "not asked for a while" in resting.problem


@pytest.mark.parametrize(
    "location", [b"/caf\xe9", b"/a b", b"/a\r\nLocation: /b", b"http://[::1/", b"http://127.0.0.1:99999/"]
)
def test_a_redirect_to_no_address_fails_that_engine_alone(location: bytes) -> None:
    """Raised, it would end the search of all engines."""
    said = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location + b"\r\n\r\n"
    with local_server(lambda _request, _socket: said) as server:
        assert ask(server.address).problem == "it redirects to no address."
        assert len(server.requests) == 1


def test_an_engine_that_recovers_within_the_attempts_is_heard() -> None:
    answers = iter([http_answer("", "502 Bad"), http_answer(GOOD)])
    with local_server(lambda *_: next(answers)) as server:
        assert len(ask(server.address).results) == 1


def test_a_connection_that_ends_on_the_next_request_makes_another_transmission_which_is_recorded() -> None:
    record, peers = Record(), []

    def once_each(_request: bytes, connection: socket.socket) -> bytes | None:
        peers.append(connection.getpeername())
        return None if peers.count(peers[-1]) > 1 else http_answer(GOOD)

    with local_server(once_each) as server:
        answer = ask(server.address, times=2, record=record)
        assert server.requests == record.sent
    assert len(answer.results) == 1
    assert len(record.sent) == 3  # the second question left twice
    assert len(set(peers)) == 2


def test_a_request_given_up_while_connecting_is_not_recorded_as_sent() -> None:
    record = Record()
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        waiting = [socket.socket() for _ in range(3)]
        try:
            for one in waiting:  # the queue is full: no further connection comes about
                one.setblocking(False)
                one.connect_ex(full.getsockname())
            time.sleep(0.1)
            answer = ask(f"http://127.0.0.1:{full.getsockname()[1]}", timeout=0.5, record=record)
        finally:
            for one in waiting:
                one.close()
    assert "0.5 seconds" in answer.problem
    assert record.sent == []


def test_what_never_left_is_not_recorded_as_sent() -> None:
    record = Record()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    answer = ask(f"http://127.0.0.1:{port}", record=record)
    assert "reached" in answer.problem
    assert record.sent == []


def test_a_name_that_leads_to_a_local_address_is_refused_unless_marked_as_local(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with local_server(lambda *_: http_answer(GOOD)) as server:
        usual = anyio.getaddrinfo

        async def rebound(host: str, port: int, **options: object) -> object:
            return await usual("127.0.0.1" if host == "engine.example" else host, port, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(anyio, "getaddrinfo", rebound)
        address = f"http://engine.example:{server.port}"
        assert "local address" in ask(address).problem
        assert server.requests == []
        assert len(ask(address, local=True).results) == 1


@pytest.mark.parametrize(
    ("address", "local"),
    [("127.0.0.1", True), ("10.1.2.3", True), ("192.168.0.1", True), ("169.254.169.254", True), ("::1", True),
     ("fe80::1%eth0", True), ("::ffff:127.0.0.1", True), ("0.0.0.0", True), ("100.64.0.1", True),
     ("8.8.8.8", False), ("2606:4700::1111", False)],
)  # fmt: skip
def test_local_addresses_are_known(address: str, local: bool) -> None:
    assert is_local(address) is local


def test_only_addresses_count_as_meant_to_be_local() -> None:
    assert names_local_address("localhost")
    assert names_local_address("192.168.1.5")
    assert not names_local_address("searx.example")
