"""Connections to engines that wait for the next request.

They are kept by origin, so that no request can meet a connection to another. An engine that ends a waiting
connection ends it here at once, since the event loop says so: no search has to look at all that wait.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from typing import NamedTuple
from urllib.parse import urlsplit

import certifi

from tacit.web.engines.addresses import NotReachedError, connected_socket, found_addresses
from tacit.web.engines.connection import EngineConnection
from tacit.web.engines.socks import SocksProxy

_IDLE = 30.0
"""Seconds for which a connection waits for the next request."""
_AT_ONCE = 100
"""Requests that are under way at once; further ones wait."""
_PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """Who is at the other end of a connection."""

    scheme: str
    host: str
    port: int
    may_be_local: bool
    """Whether the name was allowed to lead to a local address. An engine for which that was not allowed
    may not use the connection of another for which it was, though both have the same name."""


def origin_of(url: str, *, may_be_local: bool) -> Origin:
    """The origin of an address.

    Raises:
        NotReachedError: the address leads nowhere.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError) as error:
        problem = "its address leads nowhere."
        raise NotReachedError(problem, "It is http or https, with a port if need be.", final=True) from error
    return Origin(parts.scheme, parts.hostname or "", port, may_be_local)


class EngineConnections:
    """Opens connections, and keeps those that can be used again.

    Args:
        proxy: a SOCKS proxy that makes all connections, such as ``socks5://127.0.0.1:9050``.
    """

    def __init__(self, proxy: str | None = None) -> None:
        self._proxy = None if proxy is None else SocksProxy(proxy)
        self._idle: dict[Origin, list[EngineConnection]] = {}
        """The last used at the end of each list: it is taken first."""
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._cleaning: asyncio.TimerHandle | None = None
        self._closed = False

    @asynccontextmanager
    async def one_to(self, origin: Origin) -> AsyncIterator[EngineConnection]:
        """A connection for one request; kept for the next if it can be used again.

        Raises:
            NotReachedError: there is none.
        """
        async with self._turn:
            connection = self._waiting(origin) or await self._opened(origin)
            try:
                yield connection
            except BaseException:  # refused or cancelled: the rest of the answer must meet nobody
                connection.abandon()
                raise
            self._keep(origin, connection)

    async def close(self) -> None:
        """Close the connections that wait; those in use close when their answers are read."""
        self._closed = True
        if self._cleaning is not None:
            self._cleaning.cancel()
        for connections in self._idle.values():
            for connection in connections:
                connection.abandon()
        self._idle.clear()
        await asyncio.sleep(0)  # the event loop closes the sockets in its next turn

    def _waiting(self, origin: Origin) -> EngineConnection | None:
        connections = self._idle.get(origin, [])
        while connections:
            connection = connections.pop()
            if connection.usable:
                return connection
            connection.abandon()
        return None

    def _keep(self, origin: Origin, connection: EngineConnection) -> None:
        if self._closed or not connection.usable:
            connection.abandon()
            return
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._idle.setdefault(origin, []).append(connection)
        if self._cleaning is None:
            self._cleaning = loop.call_later(_IDLE, self._clean)

    def _clean(self) -> None:
        """Close what has waited for too long, and come again when the next will have."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._cleaning = None
        for origin, connections in list(self._idle.items()):
            kept = [one for one in connections if one.usable and now - one.idle_since < _IDLE]
            for connection in connections:
                if connection not in kept:
                    connection.abandon()
            self._idle[origin] = kept
            if not kept:
                del self._idle[origin]
        if self._idle:
            oldest = min(connections[0].idle_since for connections in self._idle.values())
            self._cleaning = loop.call_at(oldest + _IDLE, self._clean)

    async def _opened(self, origin: Origin) -> EngineConnection:
        """A new connection. Nothing has been sent on it, but what encryption or a proxy need."""
        if self._proxy is None:
            addresses = await found_addresses(origin.host, origin.port, may_be_local=origin.may_be_local)
            opened = await connected_socket(addresses)
        else:
            opened = await self._proxy.connect(origin.host, origin.port)
        connection = EngineConnection(opened)
        secure = origin.scheme == "https"
        try:
            await asyncio.get_running_loop().create_connection(
                lambda: connection,
                sock=opened,
                ssl=self._certificates if secure else None,
                server_hostname=origin.host if secure else None,
            )
        except (OSError, ValueError) as error:
            opened.close()
            raise NotReachedError from error
        except BaseException:  # cancelled: the socket is the event loop's by now, which closes it at its end
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)
            raise
        return connection

    @cached_property
    def _certificates(self) -> ssl.SSLContext:
        """How an engine proves who it is: by a certificate for its name from an authority that is trusted."""
        context = ssl.create_default_context()
        context.load_verify_locations(certifi.where())
        context.set_alpn_protocols(["http/1.1"])
        return context
