"""Connections to engines, over real sockets: what is an answer, what is not, and what may be used again."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TypeVar

import anyio
import certifi
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.local_server import LocalServer, http_answer, local_server

from tacit.errors import InputError
from tacit.web.engines import addresses
from tacit.web.engines import connections as pool
from tacit.web.engines.addresses import NotReachedError
from tacit.web.engines.connection import AnswerRefusedError, BrokenOffError, EngineConnection, EngineResponse
from tacit.web.engines.connections import EngineConnections, origin_of

WIRE = b"GET /search?q=java HTTP/1.1\r\nHost: engine.example\r\n\r\n"
LIMIT = 100_000
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
Result = TypeVar("Result")


async def ask(connections: EngineConnections, address: str, *, local: bool = False) -> EngineResponse:
    async with connections.one_to(origin_of(address, may_be_local=local)) as connection:
        return await connection.exchange(WIRE, LIMIT)


def run(
    work: Callable[[EngineConnections], Awaitable[Result]], proxy: str | None = None, seconds: float = 10.0
) -> Result:
    """What ``work`` gives; no connection outlives it, and the event loop has nothing to complain of."""

    troubles: list[object] = []

    async def all_of_it() -> Result:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: troubles.append(context))
        connections = EngineConnections(proxy)
        try:
            async with asyncio.timeout(seconds):
                return await work(connections)
        finally:
            await connections.close()

    try:
        return asyncio.run(all_of_it())
    finally:
        assert troubles == []


def answers(server: LocalServer, count: int, pause: float = 0.0) -> list[bytes]:
    """The bodies of so many answers, one after the other on whatever connections can be used."""

    async def work(connections: EngineConnections) -> list[bytes]:
        found = []
        for _ in range(count):
            found.append((await ask(connections, server.address)).body)
            await asyncio.sleep(pause)
        return found

    return run(work)


class Talk:
    """Answers requests by number, and knows on which connection each came."""

    def __init__(self, *said: bytes) -> None:
        self._said = iter(said)
        self.peers: list[int] = []

    def __call__(self, _request: bytes, connection: socket.socket) -> bytes:
        self.peers.append(connection.getpeername()[1])
        return next(self._said)


def test_a_connection_is_used_again_and_carries_the_bytes_as_given() -> None:
    talk = Talk(*(http_answer(f"{n}") for n in range(3)))
    with local_server(talk) as server:
        assert answers(server, 3) == [b"0", b"1", b"2"]
        assert server.requests == [WIRE] * 3
    assert len(set(talk.peers)) == 1


@pytest.mark.parametrize(
    ("said", "body"),
    [
        (CHUNKED + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", b"abcde"),
        (CHUNKED + b"2\r\nab\r\n0\r\nContent-Encoding: gzip\r\n\r\n", b"ab"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + http_answer("abc"), b"abc"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
    ids=["chunked", "trailers", "provisional", "empty"],
)  # fmt: skip
def test_answers_of_every_form_leave_the_connection_usable(said: bytes, body: bytes) -> None:
    talk = Talk(said, http_answer("next"))
    with local_server(talk) as server:
        assert answers(server, 2) == [body, b"next"]
    assert len(set(talk.peers)) == 1


def test_headers_of_provisional_answers_are_not_those_of_the_answer() -> None:
    said = b"HTTP/1.1 103 Early Hints\r\nContent-Encoding: gzip\r\n\r\n" + http_answer(
        "abc", Content_Type="x"
    )
    with local_server(Talk(said)) as server:
        answer = run(lambda connections: ask(connections, server.address))
    assert answer == EngineResponse(200, {"content-length": "3", "content-type": "x"}, b"abc")


def test_headers_behind_the_body_are_not_those_of_the_answer() -> None:
    with local_server(Talk(CHUNKED + b"1\r\na\r\n0\r\nLocation: /\r\nContent-Type: x\r\n\r\n")) as server:
        answer = run(lambda connections: ask(connections, server.address))
    assert answer == EngineResponse(200, {"transfer-encoding": "chunked"}, b"a")


@pytest.mark.parametrize("piece", [1, 7])
def test_an_answer_in_small_pieces_is_the_same(piece: int) -> None:
    said = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"

    def drip(_request: bytes, connection: socket.socket) -> bytes:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start in range(0, len(said), piece):
            connection.sendall(said[start : start + piece])
            time.sleep(0.001)
        return b""

    with local_server(drip) as server:
        answer = run(lambda connections: ask(connections, server.address))
    assert (answer.headers["content-type"], answer.body) == ("a/b", b"abc")


def test_an_answer_without_length_ends_with_the_connection() -> None:
    def until_the_end(_request: bytes, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nabc")
        time.sleep(0.05)
        connection.sendall(b"def")

    with local_server(until_the_end) as server:
        assert answers(server, 2) == [b"abcdef"] * 2


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\nContent-Length: 3\r\n\r\nabc" + http_answer("x"),
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\t\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    ],
)
def test_half_an_answer_is_none(said: bytes) -> None:
    def cut(_request: bytes, connection: socket.socket) -> None:
        connection.sendall(said)

    with local_server(cut) as server, pytest.raises(BrokenOffError):
        answers(server, 1)


SURPLUS = [http_answer("not asked for"), b"HTT", b"\x00", b"GARBAGE\r\n\r\n"]


@pytest.mark.parametrize("surplus", SURPLUS)
@pytest.mark.parametrize(
    "first", [http_answer("1"), b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n"]
)
def test_what_comes_behind_an_answer_is_never_the_next_one(first: bytes, surplus: bytes) -> None:
    talk = Talk(first + surplus, http_answer("2"))
    with local_server(talk) as server:
        assert answers(server, 2) == [b"1", b"2"]
    assert len(set(talk.peers)) == 2


@pytest.mark.parametrize("told", [True, False], ids=["event loop told", "event loop busy"])
@pytest.mark.parametrize("surplus", [*SURPLUS, None])
def test_what_comes_while_a_connection_waits_ends_it(surplus: bytes | None, told: bool) -> None:
    """Also the end of the connection (None); and though the event loop has had no turn to say so."""
    peers = []

    def later(_request: bytes, connection: socket.socket) -> bytes | None:
        peers.append(connection.getpeername()[1])
        if len(peers) > 1:
            return http_answer("2")
        connection.sendall(http_answer("1"))
        time.sleep(0.1)
        return surplus

    async def work(connections: EngineConnections) -> list[bytes]:
        first = await ask(connections, server.address)
        if told:
            await asyncio.sleep(0.3)
        else:
            time.sleep(0.3)
        return [first.body, (await ask(connections, server.address)).body]

    with local_server(later) as server:
        assert run(work) == [b"1", b"2"]
        assert len(server.requests) == 2
    assert len(set(peers)) == 2


def test_an_engine_that_says_it_will_close_is_believed() -> None:
    talk = Talk(http_answer("1", Connection="close"), http_answer("2"))
    with local_server(talk) as server:
        assert answers(server, 2) == [b"1", b"2"]
    assert len(set(talk.peers)) == 2


def test_a_cancelled_request_leaves_no_half_answer_behind() -> None:
    ended = threading.Event()
    peers: list[int] = []

    def slowly(_request: bytes, connection: socket.socket) -> bytes | None:
        peers.append(connection.getpeername()[1])
        if len(peers) > 1:
            return http_answer("2")
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n1")
        connection.settimeout(5)
        try:
            if connection.recv(1) == b"":
                ended.set()
        except ConnectionResetError:
            ended.set()
        return None

    async def work(connections: EngineConnections) -> bytes:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await ask(connections, server.address)
        return (await ask(connections, server.address)).body

    with local_server(slowly) as server:
        assert run(work) == b"2"
        assert ended.wait(5)
    assert len(set(peers)) == 2


def flooded(begin: bytes, part: bytes) -> tuple[Exception, int]:
    """How an answer that never ends is refused, and how many bytes of it could be delivered."""
    delivered = 0

    def flood(_request: bytes, connection: socket.socket) -> None:
        nonlocal delivered
        connection.sendall(begin)
        for _ in range(3_000):
            connection.sendall(part * (50_000 // len(part) + 1))
            delivered += 50_000

    with local_server(flood) as server, pytest.raises((BrokenOffError, AnswerRefusedError)) as refused:
        answers(server, 1)
    return refused.value, delivered


@pytest.mark.parametrize(
    ("begin", "part", "refusal"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", BrokenOffError),
        (b"HTTP/1.1 200 OK\r\nA: ", b"x", BrokenOffError),
        (b"HTTP/1.1 200 ", b"x", BrokenOffError),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", BrokenOffError),
        (CHUNKED, b"3e8\r\n" + b"x" * 1000 + b"\r\n", AnswerRefusedError),
        (CHUNKED + b"1\r\nx\r\n0\r\n", b"A: b\r\n", AnswerRefusedError),
        (CHUNKED + b"1;", b"x", AnswerRefusedError),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"x", AnswerRefusedError),
    ],
    ids=["headers", "one header", "status", "provisional", "chunks", "trailers", "extension", "no length"],
)
def test_an_answer_that_never_ends_is_cut_off(begin: bytes, part: bytes, refusal: type[Exception]) -> None:
    error, delivered = flooded(begin, part)
    assert isinstance(error, refusal)
    assert delivered < 20_000_000


def test_headers_that_are_too_long_are_refused_though_they_come_at_once() -> None:
    with local_server(Talk(http_answer("1", A="x" * 63_000), http_answer("2", A="x" * 65_000))) as server:
        assert answers(server, 1) == [b"1"]
        with pytest.raises(BrokenOffError):
            answers(server, 1)


@pytest.mark.parametrize(("size", "fits"), [(LIMIT, True), (LIMIT + 1, False)])
def test_the_limit_is_of_the_body(size: int, fits: bool) -> None:
    with local_server(Talk(http_answer(b"x" * size))) as server:
        if fits:
            assert answers(server, 1) == [b"x" * size]
        else:
            with pytest.raises(AnswerRefusedError, match=r"larger than 0\.1 MB"):
                answers(server, 1)


@pytest.mark.parametrize(
    "said",
    [CHUNKED.replace(b"chunked", b"chunked ") + b"3\r\nabc\r\n0\r\n\r\n",
     http_answer("abc", Content_Encoding="identity ")],
    ids=["form", "compression"],
)  # fmt: skip
def test_spaces_behind_a_header_are_no_part_of_it(said: bytes) -> None:
    with local_server(Talk(said)) as server:
        assert answers(server, 1) == [b"abc"]


def test_compression_hidden_in_a_second_header_is_seen() -> None:
    said = http_answer("1", Content_Encoding="gzip").replace(
        b"\r\n\r\n", b"\r\nContent-Encoding: identity\r\n\r\n"
    )
    with local_server(Talk(said)) as server, pytest.raises(AnswerRefusedError, match="compresses"):
        answers(server, 1)


def test_connections_are_not_shared_between_origins() -> None:
    with local_server(lambda *_: http_answer("a")) as one, local_server(lambda *_: http_answer("b")) as other:

        async def work(connections: EngineConnections) -> list[bytes]:
            addresses = [one.address, other.address, one.address.replace("127.0.0.1", "localhost")] * 2
            return [(await ask(connections, address)).body for address in addresses]

        assert run(work) == [b"a", b"b", b"a"] * 2
        assert (len(one.requests), len(other.requests)) == (4, 2)


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
    with local_server(lambda *_: http_answer("a")) as server:
        address = f"http://engine.example:{server.port}"

        async def work(connections: EngineConnections) -> None:
            assert (await ask(connections, address, local=True)).body == b"a"
            with pytest.raises(NotReachedError, match="local address"):
                await ask(connections, address, local=False)

        run(work)
        assert len(server.requests) == 1
    assert looked_up == ["engine.example"] * 2  # once for each connection: what was checked is connected to


def test_an_address_of_a_kind_that_this_machine_does_not_have_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual, refused = socket.socket, []

    def without_ipv6(family: int = -1, *given: int, **named: int) -> socket.socket:
        if family == socket.AF_INET6:
            refused.append(family)
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        return usual(family, *given, **named)

    async def both(_host: str, port: int, **_options: object) -> object:
        return [(socket.AF_INET6, 1, 6, "", ("::1", port)), (socket.AF_INET, 1, 6, "", ("127.0.0.1", port))]

    with local_server(lambda *_: http_answer("a")) as server:
        monkeypatch.setattr(anyio, "getaddrinfo", both)
        monkeypatch.setattr(addresses.socket, "socket", without_ipv6)
        address = f"http://engine.example:{server.port}"
        answer = run(lambda connections: ask(connections, address, local=True))
    assert answer.body == b"a"
    assert refused


def test_a_connection_that_waits_too_long_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_IDLE", 0.1)
    ended = threading.Event()

    def wait(_request: bytes, connection: socket.socket) -> None:
        connection.sendall(http_answer("1"))
        if connection.recv(1) == b"":
            ended.set()

    async def work(connections: EngineConnections) -> None:
        await ask(connections, server.address)
        assert not ended.is_set()
        await asyncio.sleep(0.5)
        assert ended.is_set()

    with local_server(wait) as server:
        run(work)


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
                    connection.sendall(http_answer("a"))
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
        address = f"https://{host}:{port}"

        async def work(connections: EngineConnections) -> list[bytes]:
            return [(await ask(connections, address)).body for _ in range(2)]

        if works:
            assert run(work) == [b"a", b"a"]
            assert requests == [WIRE, WIRE]
        else:
            with pytest.raises(NotReachedError):
                run(work)
            assert requests == []


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
@pytest.mark.parametrize("bound", [b"\x01" + bytes(6), b"\x04" + bytes(18), b"\x03\x02ab\x00\x00"])
def test_a_proxy_is_told_the_name_and_nobody_else(
    looked_up: list[str], host: str, place: bytes, bound: bytes
) -> None:
    with proxy_saying(b"\x05\x00", b"\x05\x00\x00" + bound, http_answer("a")) as (proxy, received):
        answer = run(lambda connections: ask(connections, f"http://{host}:8080/"), proxy)
    assert answer.body == b"a"
    assert received == [b"\x05\x01\x00", b"\x05\x01\x00" + place + b"\x1f\x90", WIRE]
    assert looked_up == ["127.0.0.1"]


@pytest.mark.parametrize(
    "said",
    [[b"\x05\xff", b"\x05\x00\x00\x01" + bytes(6), http_answer("a")],
     [b"HT"],
     [b"\x05\x00", b"\x05\x05\x00\x01" + bytes(6), http_answer("a")],
     [b"\x05\x00", b"\x04\x00\x00\x01" + bytes(6), http_answer("a")],
     []],
    ids=["password", "no proxy", "refused", "version", "silent end"],
)  # fmt: skip
def test_a_proxy_that_does_not_connect_gets_no_request(said: list[bytes]) -> None:
    with proxy_saying(*said) as (proxy, received):
        with pytest.raises(NotReachedError):
            run(lambda connections: ask(connections, "http://hidden.onion/"), proxy)
        assert WIRE not in received


def test_a_proxy_that_nothing_may_be_opened_to_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more(*_given: object) -> socket.socket:
        raise OSError(errno.EMFILE, "Too many open files")

    async def work(connections: EngineConnections) -> None:
        with monkeypatch.context() as changed:
            changed.setattr(addresses.socket, "socket", no_more)
            with pytest.raises(NotReachedError):
                await ask(connections, "http://hidden.onion/")

    run(work, "socks5://127.0.0.1:9")


def test_a_name_that_is_too_long_for_a_proxy_is_not_asked_for() -> None:
    with proxy_saying(b"\x05\x00") as (proxy, received):
        with pytest.raises(NotReachedError):
            run(lambda connections: ask(connections, f"http://{'a.' * 150}onion/"), proxy)
        assert received == [b"\x05\x01\x00"]


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
        EngineConnections(proxy)


def test_an_answer_before_any_question_ends_the_connection() -> None:
    async def unasked() -> bool:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        connection = EngineConnection(ours)
        transport, _ = await asyncio.get_running_loop().create_connection(lambda: connection, sock=ours)
        theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await asyncio.sleep(0.05)
        theirs.close()
        return transport.is_closing() and not connection.usable

    assert asyncio.run(unasked())
