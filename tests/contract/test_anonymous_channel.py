"""Channels, each with its real parties on loopback: who sees the address, and who sees the content."""

import asyncio
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.errors import InputError, ParameterError
from tacit.pool.channel import channel_transport, who_sees_what
from tacit.pool.channel.oblivious import (
    REQUEST_TYPE,
    BinaryRequest,
    GatewayKey,
    ObliviousTransport,
    read_request,
    read_response,
    seal_request,
)
from tacit.pool.server.relay import gateway_app, relay_app

SECRET = "canary-5d21"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="critical", lifespan="on")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.should_exit = True
        thread.join(10)


class Watched:
    """An application, with everything that comes in and the address it comes from."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.bytes = b""
        self.ports: set[int] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.ports.add(scope["client"][1])
            self.bytes += repr((scope["path"], scope["query_string"], scope["headers"])).encode()

        async def watching() -> Message:
            message = await receive()
            self.bytes += message.get("body", b"")
            return message

        await self.app(scope, watching, send)


async def echo(request: Request) -> JSONResponse:
    body = (await request.body()).decode()
    seen = {"path": request.url.path, "body": body, "headers": dict(request.headers)}
    return JSONResponse(seen, 201)


def ask(transport: httpx.AsyncBaseTransport, times: int = 1) -> list[httpx.Response]:
    async def asking() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=transport, base_url="http://pool.example") as client:
            headers = {"cookie": SECRET, "content-type": "application/json"}
            return [await client.post(f"/v1/{SECRET}", content=SECRET, headers=headers) for _ in range(times)]

    return asyncio.run(asking())


def test_no_party_of_oblivious_http_sees_both_address_and_content() -> None:
    target = Starlette(routes=[Route("/{rest:path}", echo, methods=["GET", "POST"])])
    gateway = Watched(gateway_app(GatewayKey(), "http://inner", app=target))
    with served(gateway) as gateway_address:
        relay = Watched(relay_app(gateway_address))
        with served(relay) as relay_address:
            transport = channel_transport(f"ohttp:{relay_address}")
            assert isinstance(transport, ObliviousTransport)
            answers = ask(transport, times=3)
    for answer in answers:
        assert answer.status_code == 201
        seen = answer.json()
        assert (seen["path"], seen["body"]) == (f"/v1/{SECRET}", SECRET)
        assert SECRET not in str(seen["headers"])  # cookies do not go through
        assert "content-encoding" not in answer.headers
    assert SECRET.encode() not in relay.bytes
    assert SECRET.encode() not in gateway.bytes  # sealed on the wire
    assert not relay.ports & gateway.ports  # the gateway meets only the relay's own connections
    assert b"forwarded" not in gateway.bytes and b"x-real-ip" not in gateway.bytes


def test_a_gateway_refuses_repeats_strangers_and_other_types() -> None:
    async def asking() -> list[int]:
        key = GatewayKey()
        app = gateway_app(key, "http://inner", app=Starlette(routes=[Route("/", echo, methods=["GET"])]))
        sealed = seal_request(key.configuration, BinaryRequest(b"GET", b"http", b"x", b"/").to_bytes())
        other = seal_request(GatewayKey().configuration, b"")
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://g") as client:
            headers = {"content-type": REQUEST_TYPE}
            sent = [
                (sealed.data, headers),
                (sealed.data, headers),
                (other.data, headers),
                (b"", headers),
                (bytes(2 << 20), headers),
                (sealed.data, {"content-type": "text/plain"}),
            ]
            return [(await client.post("/", content=body, headers=kind)).status_code for body, kind in sent]

    assert asyncio.run(asking()) == [200, 400, 400, 400, 413, 415]


def test_requests_are_padded_and_never_alike() -> None:
    key = GatewayKey().configuration
    short = [seal_request(key, BinaryRequest(b"GET", b"http", b"x", b"/a").to_bytes(512)) for _ in range(2)]
    longer = seal_request(key, BinaryRequest(b"GET", b"http", b"x", b"/a" * 100).to_bytes(512))
    assert len({len(sealed.data) for sealed in (*short, longer)}) == 1
    assert short[0].data[7:] != short[1].data[7:]
    with pytest.raises(InputError, match="not sealed for this request"):
        short[0].open_response(bytes(64))


def test_a_relay_whose_gateway_is_gone_says_so() -> None:
    gone = f"http://127.0.0.1:{free_port()}/"
    with served(relay_app(gone)) as relay, pytest.raises(httpx.TransportError, match="502"):
        ask(channel_transport(f"ohttp:{relay}", keys=GatewayKey().configurations()))


@pytest.mark.skipif(shutil.which("microsocks") is None, reason="needs Debian's microsocks")
def test_a_socks_proxy_stands_between() -> None:
    port = free_port()
    target = Watched(Starlette(routes=[Route("/{rest:path}", echo, methods=["GET", "POST"])]))
    proxy = subprocess.Popen(["microsocks", "-i", "127.0.0.1", "-p", str(port)], stderr=subprocess.PIPE)
    try:
        with served(target) as address:
            transport = channel_transport(f"socks5://127.0.0.1:{port}")

            async def asking() -> httpx.Response:
                async with httpx.AsyncClient(transport=transport) as client:
                    for _ in range(100):
                        try:
                            return await client.get(f"{address}hello")
                        except httpx.TransportError:
                            await asyncio.sleep(0.05)
                raise AssertionError("the proxy did not answer")

            assert asyncio.run(asking()).json()["path"] == "/hello"
        assert target.ports
    finally:
        proxy.terminate()
        said = proxy.communicate(timeout=10)[1].decode()
    assert "connected to" in said  # the proxy made the connection


@pytest.mark.parametrize("text", ["", "tor", "ohttp:", "ohttp:relay.example", "http://proxy"])
def test_other_channels_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="direct, socks5"):
        channel_transport(text)


def test_each_channel_says_who_sees_what() -> None:
    assert "sees your address" in who_sees_what("direct")
    assert "proxy" in who_sees_what("socks5://127.0.0.1:9050")
    assert "no address" in who_sees_what("ohttp:https://relay.example/")


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (read_request, read_response):
        try:
            found = read(data)
        except InputError:
            continue
        assert read(found.to_bytes()) == found


tokens = st.binary(min_size=1, max_size=20)
names = st.from_regex(rb"\A[a-z][a-z0-9-]{0,10}\Z").filter(
    lambda name: name not in (b"te", b"upgrade", b"connection")
)


@given(
    tokens, tokens, st.lists(st.tuples(names, st.binary(max_size=70)), max_size=4), st.binary(max_size=300)
)
def test_requests_come_back_as_they_were(
    method: bytes, path: bytes, fields: list[tuple[bytes, bytes]], content: bytes
) -> None:
    request = BinaryRequest(method, b"https", b"a.example", path, tuple(fields), content)
    assert read_request(request.to_bytes()) == request
    assert read_request(request.to_bytes(64)) == request
    assert len(request.to_bytes(64)) % 64 == 0


def test_the_environment_does_not_choose_the_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "ALL_PROXY", "socks5://127.0.0.1:1")
    target = Starlette(routes=[Route("/{rest:path}", echo, methods=["GET", "POST"])])
    with served(target) as address:

        async def asking() -> int:
            async with httpx.AsyncClient(transport=channel_transport("direct")) as client:
                return (await client.get(address)).status_code

        assert asyncio.run(asking()) == 201
