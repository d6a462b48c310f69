"""The client for engines: every request is recorded before it leaves, every answer limited in time and size.

HTTP, TLS and SOCKS are httpcore's. Its network backend is wrapped here in one that resolves a name once and
connects to the very addresses that it checked, and whose streams record a request before they write it: what
the person is shown as sent is what was written to the socket. Every transmission is recorded, retries
included: a request that is sent twice was seen twice. A redirect is followed only to the same host, since any
other would learn the query without an entry in the exposure ledger.
"""

from __future__ import annotations

import ipaddress
import json
import random
import socket
import ssl
import time
import zlib
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urljoin, urlsplit

import anyio
import httpcore
import socksio

from tacit.errors import InputError
from tacit.validation import socks
from tacit.web.engines.interface import (
    Answer,
    EngineDescription,
    Outgoing,
    Upstream,
    outgoing_request,
    plain_text,
)

Recorder = Callable[[str, bytes], Awaitable[None]]
"""Given an origin and the bytes that are about to be written there; if it raises, they are not written."""

_LONGEST_HEAD = 100_000
"""Bytes of an answer beside its body: headers, provisional answers, what chunks are wrapped in."""
_CONNECTIONS = 100
_IDLE = 30.0
"""Seconds for which a connection is kept for the next request."""
_TRIED = 4
_RETRIED = {429, 502, 503, 504}
_PORTS = {"http": 80, "https": 443}
_PROXY_ERRORS = (httpcore.ProxyError, socksio.SOCKSError, AssertionError)
"""A proxy that refuses, or that says what SOCKS does not; for some of it httpcore has only an assertion."""


@dataclass(frozen=True)
class Limits:
    """What one answer may take."""

    body: int = 4_000_000
    attempts: int = 3
    redirects: int = 3
    first_pause: float = 0.2
    """Seconds before the second attempt; each further pause is twice as long, with random jitter."""
    rest: float = 30.0
    """Seconds for which an engine that failed :attr:`failures` times in a row is not asked."""
    failures: int = 3


class _RefusedError(Exception):
    """There is no usable answer; says why and what to do."""

    def __init__(self, problem: str, remedy: str = "", *, again: bool = False, pause: float = 0.0) -> None:
        super().__init__(problem)
        self.problem, self.remedy, self.again, self.pause = problem, remedy, again, pause


@dataclass
class _Health:
    failures: int = 0
    until: float = 0.0


class EngineClient:
    """Asks engines over HTTP, keeps connections for the next request, and rests engines that fail.

    Args:
        limits: what one answer may take.
        proxy: a SOCKS proxy that makes all connections and looks up all names, such as
            ``socks5://127.0.0.1:9050``; without a password.

    Raises:
        InputError: the address of the proxy is not of that form.
    """

    def __init__(self, limits: Limits | None = None, proxy: str | None = None) -> None:
        self.limits = limits or Limits()
        self._proxy = None if proxy is None else socks("proxy", proxy)
        self._pools: dict[tuple[str, bool], httpcore.AsyncConnectionPool] = {}
        self._health: dict[str, _Health] = {}

    async def close(self) -> None:
        for pool in self._pools.values():
            await pool.aclose()

    async def ask(
        self, engine: EngineDescription, upstream: Upstream, request: Outgoing, record: Recorder
    ) -> Answer:
        """The engine's answer; one that says what is wrong where there is none.

        Raises:
            TacitError: only what ``record`` raises; then the request was not sent.
        """
        health = self._health.setdefault(engine.name, _Health())
        begun = time.monotonic()
        if begun < health.until:
            return Answer(
                engine.name,
                problem=f"it failed {health.failures} times in a row and is not asked for a while.",
                remedy=f"It is asked again in {health.until - begun:.0f} seconds.",
            )
        refusal = _RefusedError("")
        try:
            body = await self._attempts(engine, request, record, begun + engine.timeout)
            results, aside = await anyio.to_thread.run_sync(lambda: upstream.read(json.loads(body)))
        except (TimeoutError, httpcore.TimeoutException):
            problem = f"it did not answer within {engine.timeout:g} seconds."
            refusal = _RefusedError(problem, "Try again, or turn it off.")
        except _RefusedError as error:
            refusal = error
        except (ValueError, RecursionError):
            problem = "its answer is not of the expected form."
            refusal = _RefusedError(problem, "Check its kind, its address and its settings.")
        else:
            health.failures = 0
            return Answer(engine.name, tuple(results), aside=aside)
        health.failures += engine.kind != "pool"  # too few people asked: the next query may find them
        if health.failures >= self.limits.failures:
            health.until = time.monotonic() + self.limits.rest
        return Answer(engine.name, (), refusal.problem, refusal.remedy)

    async def fetch(self, request: Outgoing, *, local: bool, record: Recorder, seconds: float) -> bytes:
        """The body that an address answers with, once; for pictures and completions.

        Raises:
            InputError: there is none that may be used.
        """
        engine = EngineDescription("", "", request.origin, local=local)
        try:
            return await self._followed(engine, request, record, time.monotonic() + seconds)
        except (TimeoutError, httpcore.TimeoutException, _RefusedError) as error:
            raise InputError("it could not be fetched.") from error

    async def _attempts(
        self, engine: EngineDescription, request: Outgoing, record: Recorder, deadline: float
    ) -> bytes:
        pause = self.limits.first_pause
        for attempt in range(1, self.limits.attempts + 1):
            try:
                return await self._followed(engine, request, record, deadline)
            except _RefusedError as error:
                if not error.again or attempt == self.limits.attempts:
                    raise
                pausing = max(error.pause, pause * random.uniform(0.5, 1.5))
                if time.monotonic() + pausing >= deadline:
                    raise
                await anyio.sleep(pausing)
                pause *= 2
        raise AssertionError("unreachable")

    async def _followed(
        self, engine: EngineDescription, request: Outgoing, record: Recorder, deadline: float
    ) -> bytes:
        for _ in range(self.limits.redirects + 1):
            status, headers, body = await self._once(engine, request, record, deadline)
            if status not in {301, 302, 303, 307, 308}:
                if engine.kind == "pool" and status != 200:
                    raise _RefusedError(_told(body), again=False)
                return _usable(status, headers, body)
            request = _redirected(request, headers.get("location", ""), status)
        raise _RefusedError("it redirects in circles.", "Check its address.")

    async def _once(
        self, engine: EngineDescription, request: Outgoing, record: Recorder, deadline: float
    ) -> tuple[int, dict[str, str], bytes]:
        """Make one transmission: recorded, sent, and its answer read up to the limit."""
        parts = urlsplit(request.url)
        port = parts.port or _PORTS[parts.scheme]
        url = httpcore.URL(scheme=parts.scheme, host=parts.hostname or "", port=port, target=request.target)
        sending = _Transmission(lambda wire: record(request.origin, wire), deadline, self.limits.body)
        leaving = httpcore.Request(
            request.method,
            url,
            headers=list(request.headers),
            content=request.body,
            extensions={"trace": sending.trace, "timeout": {"pool": sending.remaining()}},
        )
        token = _SENDING.set(sending)
        try:
            response = await self._pool(request, engine.local).handle_async_request(leaving)
            try:
                if not sending.left:  # surplus bytes after the answer before: they answer nothing
                    raise httpcore.RemoteProtocolError("an answer before the request")
                return response.status, *await self._read(response)
            finally:
                with anyio.CancelScope(shield=True):
                    await response.aclose()
        except httpcore.TimeoutException:
            raise
        except (httpcore.NetworkError, httpcore.ProtocolError, *_PROXY_ERRORS) as error:
            if not sending.begun:
                raise _RefusedError("it cannot be reached.", "Check that it runs.", again=True) from error
            problem = "it closed the connection, or does not speak HTTP."
            raise _RefusedError(problem, "Check its address.", again=True) from error
        finally:
            _SENDING.reset(token)
            if not sending.begun and sending.stream is not None:
                with anyio.CancelScope(shield=True):
                    await sending.stream.aclose()  # half-way to the engine, which httpcore leaves open

    async def _read(self, response: httpcore.Response) -> tuple[dict[str, str], bytes]:
        headers: dict[str, str] = {}
        for name, value in response.headers:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
            headers[key] = f"{headers[key]}, {text}" if key in headers else text
        coding = headers.get("content-encoding", "identity").lower()
        if coding not in {"identity", "gzip"}:
            raise _RefusedError("it compresses its answer in a way that was not asked for.")
        unpacked = zlib.decompressobj(zlib.MAX_WBITS | 16) if coding == "gzip" else None
        body = bytearray()
        try:
            async for part in response.aiter_stream():
                room = self.limits.body - len(body) + 1
                body += part if unpacked is None else unpacked.decompress(part, room)
                if len(body) > self.limits.body:
                    raise _too_large(self.limits.body)
        except zlib.error as error:
            raise _RefusedError("its answer is damaged.", "Try again.") from error
        return headers, bytes(body)

    def _pool(self, request: Outgoing, may_be_local: bool) -> httpcore.AsyncConnectionPool:
        """The connections for a request.

        An engine whose name may not resolve to a local address does not use the connection of one whose name
        may, though both have the same name.
        """
        key = urlsplit(request.url).scheme, may_be_local
        if key not in self._pools:
            options: dict[str, Any] = {
                "ssl_context": httpcore.default_ssl_context() if key[0] == "https" else None,
                "max_connections": _CONNECTIONS,
                "keepalive_expiry": _IDLE,
                "network_backend": _RecordingBackend(may_be_local=may_be_local or self._proxy is not None),
            }
            if self._proxy is None:
                self._pools[key] = httpcore.AsyncConnectionPool(**options)
            else:
                self._pools[key] = httpcore.AsyncSOCKSProxy(self._proxy, **options)
        return self._pools[key]


def _told(body: bytes) -> str:
    """Report what this device's agent in a pool says became of a query."""
    with suppress(ValueError, RecursionError, AttributeError):
        return plain_text(json.loads(body).get("error"), 300) or "it does not answer."
    return "it does not answer."


def _usable(status: int, headers: dict[str, str], body: bytes) -> bytes:
    if status == 200:
        return body
    if status in _RETRIED:
        wait = headers.get("retry-after", "0")
        pause = float(wait) if wait.isdigit() else 0.0
        if status == 429:
            remedy = "Wait a little; if it is your SearXNG, put your address on its limiter’s pass list."
            raise _RefusedError("it asks for fewer requests (429).", remedy, again=False)
        problem = f"it is out of order ({status})."
        raise _RefusedError(problem, "Wait a little.", again=pause < 2, pause=pause)
    if status in {401, 403}:
        remedy = "SearXNG: allow the format json in its settings."
        raise _RefusedError(f"it refuses the request ({status}).", remedy)
    raise _RefusedError(f"it answers with the status {status}.", "Check its address.")


def _redirected(request: Outgoing, location: str, status: int) -> Outgoing:
    """The request after a redirect, if it leads to the same host."""
    try:
        url = urljoin(request.url, location)
        old, new = urlsplit(request.url), urlsplit(url)
        ports = [part.port or _PORTS.get(part.scheme) for part in (old, new)]
    except ValueError as error:
        raise _RefusedError("it redirects to no address.", "Check its address.") from error
    upgraded = (old.scheme, new.scheme) == ("http", "https") and ports == [80, 443]
    same = old.scheme == new.scheme and ports[0] == ports[1]
    if not location or old.hostname != new.hostname or not (same or upgraded):
        problem = "it redirects to another host, which was not followed: that host would learn your query."
        raise _RefusedError(problem, "If it has moved, change its address.")
    try:
        moved = outgoing_request("GET", url)
    except InputError as error:  # spaces, or letters that no address has
        raise _RefusedError("it redirects to no address.", "Check its address.") from error
    if status in {307, 308} or request.method == "GET":
        return replace(request, url=moved.url, headers=(moved.headers[0], *request.headers[1:]))
    return moved


# -- the network below httpcore: names are checked, requests recorded ------------------------------------


def _too_large(most: int) -> _RefusedError:
    return _RefusedError(f"its answer is larger than {most / 1e6:g} MB.")


@dataclass
class _Transmission:
    """One request on its way."""

    record: Callable[[bytes], Awaitable[None]]
    deadline: float
    """By the monotonic clock. Kept here and not by cancelling: httpcore's SOCKS proxy forgets to release the
    place of a connection that is cancelled half-way."""
    most: int
    """Bytes of its body; with its head and what wraps it, twice as many may be received."""
    received: int = 0
    stream: _RecordingStream | None = None
    begun: bool = False
    """Whether the connection stands: what is written from now on is the request itself."""
    left: bool = False
    """Whether the request was recorded and written."""

    def remaining(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    async def trace(self, event: str, _info: object) -> None:
        self.begun |= event == "http11.send_request_headers.started"


_SENDING: ContextVar[_Transmission] = ContextVar("sending")
"""The transmission of the running task: httpcore reads and writes in the task that asks."""


class _RecordingStream(httpcore.AsyncNetworkStream):
    """Gathers what is written until the answer is read; then records it, and writes it in one piece.

    So a request is recorded whole, before its first byte leaves.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._pending = b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        del timeout
        self._pending += buffer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        del timeout
        sending = _SENDING.get()
        if self._pending:
            pending, self._pending = self._pending, b""
            if sending.begun:
                await sending.record(pending)
                sending.left = True
            await self._stream.write(pending, sending.remaining())
        found = await self._stream.read(max_bytes, sending.remaining())
        sending.received += len(found)
        if sending.received > _LONGEST_HEAD + 2 * sending.most:
            raise _too_large(sending.most)
        return found

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        del timeout
        remaining = _SENDING.get().remaining()
        return _RecordingStream(await self._stream.start_tls(ssl_context, server_hostname, remaining))

    async def aclose(self) -> None:
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _RecordingBackend(httpcore.AsyncNetworkBackend):
    """Connects to addresses that were checked.

    A name is looked up once and the connection is made to the very address that was checked, so that a name
    server cannot answer differently a moment later.
    """

    def __init__(self, *, may_be_local: bool) -> None:
        self._may_be_local = may_be_local
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        del timeout
        sending = _SENDING.get()
        with anyio.fail_after(sending.remaining()):
            addresses = await _resolved(host, port, may_be_local=self._may_be_local)
        problem = httpcore.ConnectError("no address")
        for address in addresses[:_TRIED]:
            try:
                stream = await self._backend.connect_tcp(
                    address, port, sending.remaining(), local_address, socket_options
                )
            except httpcore.ConnectError as error:  # this machine has no IPv6, say, though the name has
                problem = error
            else:
                sending.stream = _RecordingStream(stream)
                return sending.stream
        raise problem


def is_local(address: str) -> bool:
    """Whether an IP address is of this machine, its network, or otherwise not of the public internet."""
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    return not found.is_global or found.is_multicast or (mapped is not None and not mapped.is_global)


def names_local_address(host: str) -> bool:
    """Whether the person wrote a local address itself: then it is meant."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return is_local(host.strip("[]"))
    except ValueError:
        return False


async def _resolved(host: str, port: int, *, may_be_local: bool) -> list[str]:
    """The addresses of a name, if it may resolve to every one of them."""
    try:
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise _RefusedError("its name is not known.", "Check that it runs.", again=True) from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not (may_be_local or names_local_address(host)) and any(map(is_local, addresses)):
        remedy = 'Mark it as local ("local": true) if it is yours.'
        raise _RefusedError("its name resolves to a local address.", remedy)
    return addresses
