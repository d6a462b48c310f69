"""Connections to engines, over real sockets: what is an answer, what is not, and what may be used again."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import anyio
import certifi
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.local_server import http_answer, local_server

from tacit import InputError, TacitError
from tacit.web.engines.catalogue import upstream_of
from tacit.web.engines.client import EngineClient, Limits
from tacit.web.engines.interface import Answer, EngineDescription

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LIMITS = Limits(first_pause=0.01, body=100_000, attempts=1)


def rows(title: str) -> str:
    """The body of an answer with one result."""
    return json.dumps({"results": [{"url": "https://a.example/", "title": title}]})


def chunked(title: str) -> bytes:
    """An answer in chunks."""
    body = rows(title).encode()
    parts = [body[:10], body[10:]]
    return CHUNKED + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


class Asked:
    """What was recorded as sent, and what the engine answered."""

    def __init__(self) -> None:
        self.recorded: list[bytes] = []
        self.answers: list[Answer] = []
        self.seconds: list[float] = []

    @property
    def titles(self) -> list[str]:
        return [one.results[0].title if one.results else one.problem for one in self.answers]


def ask(
    *addresses: str,
    limits: Limits = LIMITS,
    proxy: str | None = None,
    local: bool | tuple[bool, ...] = False,
    timeout: float = 3.0,
    pause: Callable[[], None] = lambda: None,
) -> Asked:
    """Ask the engines at some addresses, one after the other, with one client."""
    asked = Asked()
    troubles: list[object] = []

    async def record(_origin: str, wire: bytes) -> None:
        asked.recorded.append(wire)

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: troubles.append(context))
        client = EngineClient(limits, proxy)
        try:
            for place, address in enumerate(addresses):
                may = local if isinstance(local, bool) else local[place]
                engine = EngineDescription(f"engine {place}", "searxng", address, timeout=timeout, local=may)
                upstream = upstream_of(engine)
                request = upstream.request("java")
                begun = time.monotonic()
                asked.answers.append(await client.ask(engine, upstream, request, record))
                asked.seconds.append(time.monotonic() - begun)
                pause()
        finally:
            await client.close()

    anyio.run(run)
    assert troubles == []
    return asked


class Talk:
    """Answers requests by number, and knows on which connection each came."""

    def __init__(self, *said: bytes) -> None:
        self._said = iter(said)
        self.peers: list[int] = []

    def __call__(self, _request: bytes, connection: socket.socket) -> bytes:
        self.peers.append(connection.getpeername()[1])
        return next(self._said)


@pytest.mark.parametrize(
    "first",
    [
        http_answer(rows("1")),
        chunked("1"),
        b"HTTP/1.1 103 Early Hints\r\nContent-Encoding: gzip\r\n\r\n" + http_answer(rows("1")),
        chunked("1")[:-2] + b"Content-Encoding: gzip\r\n\r\n",
    ],
    ids=["length", "chunked", "provisional", "trailers"],
)
def test_a_connection_is_used_again_and_carries_the_bytes_as_recorded(first: bytes) -> None:
    talk = Talk(first, http_answer(rows("2")), http_answer(rows("3")))
    with local_server(talk) as server:
        asked = ask(*[server.address] * 3)
        assert asked.titles == ["1", "2", "3"]
        assert asked.recorded == server.requests
    assert len(set(talk.peers)) == 1


def test_an_answer_in_small_pieces_is_the_same() -> None:
    def drip(_request: bytes, connection: socket.socket) -> bytes:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        said = chunked("1")
        for start in range(0, len(said), 7):
            connection.sendall(said[start : start + 7])
            time.sleep(0.001)
        return b""

    with local_server(drip) as server:
        assert ask(server.address).titles == ["1"]


def test_an_answer_without_length_ends_with_the_connection() -> None:
    def until_the_end(_request: bytes, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + rows("1")[:9].encode())
        time.sleep(0.05)
        connection.sendall(rows("1")[9:].encode())

    with local_server(until_the_end) as server:
        assert ask(*[server.address] * 2).titles == ["1", "1"]


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    ],
)
def test_half_an_answer_is_none(said: bytes) -> None:
    def cut(_request: bytes, connection: socket.socket) -> None:
        connection.sendall(said)

    with local_server(cut) as server:
        assert "closed the connection" in ask(server.address).answers[0].problem


@pytest.mark.parametrize("surplus", [http_answer(rows("not asked for")), b"HTT", b"\x00", b"GARBAGE\r\n\r\n"])
@pytest.mark.parametrize("first", [http_answer(rows("1")), chunked("1")], ids=["length", "chunked"])
def test_what_comes_after_an_answer_is_never_the_next_one(first: bytes, surplus: bytes) -> None:
    limits = Limits(first_pause=0.01, attempts=3)
    with local_server(Talk(first + surplus, *[http_answer(rows("2"))] * 3)) as server:
        asked = ask(*[server.address] * 2, limits=limits)
        assert asked.titles == ["1", "2"]
        assert asked.recorded == server.requests


@pytest.mark.parametrize("surplus", [http_answer(rows("not asked for")), b"HTT", None])
def test_what_comes_while_a_connection_waits_ends_it(surplus: bytes | None) -> None:
    """Also the end of the connection (None)."""
    peers = []

    def later(_request: bytes, connection: socket.socket) -> bytes | None:
        peers.append(connection.getpeername()[1])
        if len(peers) > 1:
            return http_answer(rows("2"))
        connection.sendall(http_answer(rows("1")))
        time.sleep(0.1)
        return surplus

    with local_server(later) as server:
        asked = ask(*[server.address] * 2, pause=lambda: time.sleep(0.3))
        assert asked.titles == ["1", "2"]
        assert len(server.requests) == 2
    assert len(set(peers)) == 2


def test_an_answer_given_up_leaves_no_half_behind() -> None:
    peers: list[int] = []

    def slowly(_request: bytes, connection: socket.socket) -> bytes | None:
        peers.append(connection.getpeername()[1])
        if len(peers) > 1:
            return http_answer(rows("2"))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n1")
        connection.settimeout(5)
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""
        return None

    with local_server(slowly) as server:
        asked = ask(*[server.address] * 2, timeout=0.3)
    assert "0.3 seconds" in asked.titles[0]
    assert asked.titles[1] == "2"
    assert len(set(peers)) == 2


@pytest.mark.parametrize(
    ("begin", "part"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"A: b\r\n"),
        (b"HTTP/1.1 200 OK\r\nA: ", b"x"),
        (b"HTTP/1.1 200 ", b"x"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (CHUNKED, b"3e8\r\n" + b"x" * 1000 + b"\r\n"),
        (CHUNKED, b"1\r\nx\r\n"),
        (CHUNKED + b"1\r\nx\r\n0\r\n", b"A: b\r\n"),
        (CHUNKED + b"1;", b"x"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
    ],
    ids=[
        "headers",
        "header",
        "status",
        "provisional",
        "chunks",
        "small chunks",
        "trailers",
        "extension",
        "body",
    ],
)
def test_an_answer_that_never_ends_is_cut_off(begin: bytes, part: bytes) -> None:
    delivered = 0

    def flood(_request: bytes, connection: socket.socket) -> None:
        nonlocal delivered
        connection.sendall(begin)
        for _ in range(3_000):
            connection.sendall(part * (50_000 // len(part) + 1))
            delivered += 50_000

    with local_server(flood) as server:
        (answer,) = ask(server.address, timeout=20).answers
    assert "larger than 0.1 MB" in answer.problem or "does not speak HTTP" in answer.problem
    assert delivered < 20_000_000


@pytest.mark.parametrize(("size", "fits"), [(LIMITS.body, True), (LIMITS.body + 1, False)])
def test_the_limit_is_of_the_body(size: int, fits: bool) -> None:
    with local_server(Talk(http_answer(rows("1").ljust(size)))) as server:
        assert ask(server.address).titles == ["1" if fits else "its answer is larger than 0.1 MB."]


def test_compression_hidden_in_a_second_header_is_seen() -> None:
    said = http_answer(rows("1"), Content_Encoding="gzip").replace(
        b"\r\n\r\n", b"\r\nContent-Encoding: identity\r\n\r\n"
    )
    with local_server(Talk(said)) as server:
        assert "compresses" in ask(server.address).answers[0].problem


def test_connections_are_not_shared_between_origins() -> None:
    with (
        local_server(lambda *_: http_answer(rows("a"))) as one,
        local_server(lambda *_: http_answer(rows("b"))) as other,
    ):
        addresses = [one.address, other.address, one.address.replace("127.0.0.1", "localhost")] * 2
        assert ask(*addresses).titles == ["a", "b", "a"] * 2
        assert (len(one.requests), len(other.requests)) == (4, 2)


def test_what_cannot_be_recorded_is_not_sent() -> None:
    async def full(_origin: str, _wire: bytes) -> None:
        raise TacitError("the disk is full.")

    async def run(address: str) -> None:
        client, engine = EngineClient(), EngineDescription("engine", "searxng", address)
        upstream = upstream_of(engine)
        try:
            with pytest.raises(TacitError, match="full"):
                await client.ask(engine, upstream, upstream.request("java"), full)
        finally:
            await client.close()

    with local_server(lambda *_: http_answer(rows("a"))) as server:
        anyio.run(run, server.address)
        assert server.requests == []


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names that were looked up; every name is found to be of this machine."""
    names: list[str] = []
    usual = anyio.getaddrinfo

    async def here(host: str, port: int, **options: object) -> object:
        names.append(host)
        return await usual("127.0.0.1", port, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(anyio, "getaddrinfo", here)
    return names


def test_an_engine_that_may_not_be_local_gets_no_connection_of_one_that_may(looked_up: list[str]) -> None:
    with local_server(lambda *_: http_answer(rows("a"))) as server:
        asked = ask(*[f"http://engine.example:{server.port}"] * 2, local=(True, False))
        assert asked.titles[0] == "a"
        assert "local address" in asked.titles[1]
        assert len(server.requests) == 1
    assert looked_up == ["engine.example"] * 2  # once for each connection: what was checked is connected to


def test_an_address_that_nobody_answers_at_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    async def both(_host: str, port: int, **_options: object) -> object:
        return [(socket.AF_INET6, 1, 6, "", ("::1", port)), (socket.AF_INET, 1, 6, "", ("127.0.0.1", port))]

    with local_server(lambda *_: http_answer(rows("a"))) as server:
        monkeypatch.setattr(anyio, "getaddrinfo", both)
        assert ask(f"http://engine.example:{server.port}", local=True).titles == ["a"]


def certificate(folder: Path, name: str) -> tuple[Path, ssl.SSLContext]:
    """A certificate that vouches for itself and a name, as a file, and a server's side of it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "engine")])
    own = x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(1))
        .not_valid_after(now + timedelta(1))
        .add_extension(x509.SubjectAlternativeName([own]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return file, context


@contextmanager
def encrypted_server(context: ssl.SSLContext) -> Iterator[tuple[int, list[bytes]]]:
    """A server that answers one request after the other on each connection, encrypted."""
    listening = socket.create_server(("127.0.0.1", 0))
    requests: list[bytes] = []

    def converse(plain: socket.socket) -> None:
        try:
            with context.wrap_socket(plain, server_side=True) as connection:
                while request := connection.recv(65536):
                    requests.append(request)
                    connection.sendall(http_answer(rows("a")))
        except OSError:
            return

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=converse, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listening.getsockname()[1], requests
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


@pytest.mark.parametrize(
    ("host", "name", "trusted", "works"),
    [
        ("localhost", "localhost", True, True),
        ("127.0.0.1", "127.0.0.1", True, True),
        ("localhost", "other.example", True, False),
        ("127.0.0.1", "localhost", True, False),
        ("localhost", "localhost", False, False),
    ],
    ids=["name", "address", "other name", "name for address", "not trusted"],
)
def test_an_encrypted_engine_must_prove_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, name: str, trusted: bool, works: bool
) -> None:
    file, context = certificate(tmp_path, name)
    if trusted:
        monkeypatch.setattr(certifi, "where", lambda: str(file))
    with encrypted_server(context) as (port, requests):
        asked = ask(*[f"https://{host}:{port}"] * 2)
        assert asked.titles == (["a"] * 2 if works else ["it cannot be reached."] * 2)
        assert asked.recorded == requests
        assert len(requests) == (2 if works else 0)


@contextmanager
def proxy_saying(*said: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A SOCKS proxy that says what it is told, and is the engine itself; gives what it received."""
    listening = socket.create_server(("127.0.0.1", 0))
    received: list[bytes] = []

    def converse() -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            for answer in said:
                received.append(connection.recv(65536))
                connection.sendall(answer)
            connection.recv(1)

    thread = threading.Thread(target=converse, daemon=True)
    thread.start()
    try:
        yield f"socks5://127.0.0.1:{listening.getsockname()[1]}", received
    finally:
        listening.close()
        thread.join(5)


@pytest.mark.parametrize(
    ("host", "place"),
    [("hidden.onion", b"\x03\x0chidden.onion"), ("10.1.2.3", b"\x01\x0a\x01\x02\x03"),
     ("[::1]", b"\x04" + bytes(15) + b"\x01")],
)  # fmt: skip
def test_a_proxy_is_told_the_name_and_nobody_else(looked_up: list[str], host: str, place: bytes) -> None:
    bound = b"\x01" + bytes(6)
    with proxy_saying(b"\x05\x00", b"\x05\x00\x00" + bound, http_answer(rows("a"))) as (proxy, received):
        asked = ask(f"http://{host}:8080/", proxy=proxy)
    assert asked.titles == ["a"]
    assert received == [b"\x05\x01\x00", b"\x05\x01\x00" + place + b"\x1f\x90", *asked.recorded]
    assert looked_up == ["127.0.0.1"]


@pytest.mark.parametrize(
    "said",
    [[b"\x05\xff", b"\x05\x00\x00\x01" + bytes(6), http_answer("a")],
     [b"HT"],
     [b"\x05\x00", b"\x05\x05\x00\x01" + bytes(6), http_answer("a")],
     [b"\x05\x00", b"\x04\x00\x00\x01" + bytes(6), http_answer("a")],
     [b"\x05\x00", b""],
     []],
    ids=["password", "no proxy", "refused", "version", "half", "silent end"],
)  # fmt: skip
def test_a_proxy_that_does_not_connect_gets_no_request(said: list[bytes]) -> None:
    with proxy_saying(*said) as (proxy, received):
        asked = ask("http://hidden.onion/", proxy=proxy, timeout=1.0)
        assert asked.answers[0].problem in {
            "it cannot be reached.",
            "it did not answer within 1 seconds.",
        }
        assert asked.recorded == []
        assert not any(b"HTTP" in one for one in received)


def test_proxies_that_do_not_answer_do_not_use_up_the_connections() -> None:
    """As many tries as there may be connections, and then one that works."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        proxy = f"socks5://127.0.0.1:{silent.getsockname()[1]}"
        limits = Limits(attempts=1)
        asked = ask(*["http://hidden.onion/"] * 120, proxy=proxy, limits=limits, timeout=0.1)
    assert {one.problem for one in asked.answers} == {"it did not answer within 0.1 seconds."}
    assert max(asked.seconds[-5:]) < 1


@pytest.mark.parametrize(
    "proxy",
    [
        "http://127.0.0.1:9050",
        "127.0.0.1:9050",
        "socks5://127.0.0.1",
        "socks5://a:b@127.0.0.1:9",
        "socks5://x:y",
    ],
)
def test_the_address_of_a_proxy_is_checked(proxy: str) -> None:
    with pytest.raises(InputError, match="proxy"):
        EngineClient(proxy=proxy)
