"""A relay of Oblivious HTTP (RFC 9458, section 6.2) between people and a pool that somebody else runs.

It passes sealed requests on over its own connections, and hands out the parties' keys, from **one copy for
everybody**: a key of a person's own would reach only the relay.
"""

import asyncio
import fcntl
import os
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.pool.channel import oblivious
from tacit.pool.channel.join import PARTIES, JoinFile
from tacit.pool.server.front import HEADERS, sealed_body, server

LARGEST_MESSAGE = 1 << 20
_LARGEST_KEYS = 4 << 20
_SECONDS = 30.0
_KEYS_SECONDS = 5.0
KEPT = 5.0
"""Seconds for which the copy of a party's keys is good; an older one is handed out while the party is
away."""


class KeyCopies:
    """The one copy of each party's keys, in a folder that all workers of a relay share."""

    def __init__(self, join: JoinFile, client: httpx.AsyncClient) -> None:
        addresses = {"pool": join.pool, "gateway": join.gateway, "issuer": join.issuer}
        self._addresses = {party: address for party, address in addresses.items() if address is not None}
        self._client = client
        self.folder = Path()
        self._turns = {party: asyncio.Lock() for party in self._addresses}
        self._failed = dict.fromkeys(self._addresses, float("-inf"))

    async def copy(self, party: str) -> bytes | None:
        """The keys of a party; None if it never answered or is none of this pool."""
        if party not in self._addresses:
            return None
        path = self.folder / party
        async with self._turns[party]:
            # A party that hangs is not waited for by one after another, nor by who asks for another's keys.
            if not _fresh(path) and time.monotonic() - self._failed[party] >= 1.0:
                handle = os.open(self.folder / f"{party}.lock", os.O_RDWR | os.O_CREAT, 0o600)
                try:
                    await asyncio.to_thread(fcntl.flock, handle, fcntl.LOCK_EX)
                    if not _fresh(path) and not await self._fetch(party, path):  # another may have been first
                        self._failed[party] = time.monotonic()
                finally:
                    os.close(handle)
        return path.read_bytes() if path.exists() else None

    async def _fetch(self, party: str, path: Path) -> bool:
        try:
            answer = await self._client.get(f"{self._addresses[party]}/keys", timeout=_KEYS_SECONDS)
        except httpx.HTTPError:
            return False
        if good := answer.status_code == 200 and len(answer.content) <= _LARGEST_KEYS:
            temporary = path.with_suffix(f".{os.getpid()}")
            temporary.write_bytes(answer.content)
            temporary.replace(path)
        return good


def _fresh(path: Path) -> bool:
    return path.exists() and abs(time.time() - path.stat().st_mtime) < KEPT


def relay_app(
    join: JoinFile, *, folder: Path | None = None, transport: httpx.AsyncBaseTransport | None = None
) -> Starlette:
    """Make a relay for a pool; all its workers share the ``folder`` with the copies of keys."""
    limits = httpx.Limits(max_connections=200, max_keepalive_connections=50)
    client = oblivious.http_client(transport, _SECONDS, limits=limits)
    copies = KeyCopies(join, client)

    async def keys(request: Request) -> Response:
        """The keys of a party (pool, gateway or issuer), signed by it: the same copy for everybody."""
        found = await copies.copy(request.path_params["party"])
        if found is None:
            return JSONResponse({"error": f"no keys; ask for one of {', '.join(PARTIES)}"}, 404, HEADERS)
        return Response(found, 200, HEADERS, "application/json")

    async def to_pool(request: Request) -> Response:
        """A sealed request for the pool, passed on as it is."""
        return await _forward(client, join.pool, request)

    async def to_issuer(request: Request) -> Response:
        """A sealed request for the issuer, passed on as it is."""
        if join.issuer is None:
            return JSONResponse({"error": "this pool has no issuer"}, 404, HEADERS)
        return await _forward(client, join.issuer, request)

    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        with tempfile.TemporaryDirectory(prefix="tacit-relay-") as own:
            copies.folder = folder or Path(own)
            async with client:
                yield

    routes = [
        Route("/", to_pool, methods=["POST"]),
        Route("/issuer", to_issuer, methods=["POST"]),
        Route("/keys/{party}", keys, methods=["GET"]),
    ]
    return server("Tacit relay", routes, lifespan=lifespan)


async def _forward(client: httpx.AsyncClient, gateway: str, request: Request) -> Response:
    body = await sealed_body(request, LARGEST_MESSAGE)
    if isinstance(body, Response):
        return body
    headers = {"content-type": oblivious.REQUEST_TYPE, "user-agent": "tacit-relay"}
    try:
        answer = await client.post(f"{gateway}/", content=body, headers=headers)
    except httpx.HTTPError:
        return JSONResponse({"error": "the gateway cannot be reached"}, 502, HEADERS)
    if answer.status_code != 200 or oblivious.media_type(answer.headers) != oblivious.RESPONSE_TYPE:
        status = answer.status_code if 400 <= answer.status_code < 500 else 502
        return JSONResponse({"error": "the gateway refused"}, status, HEADERS)
    return Response(answer.content, 200, HEADERS, oblivious.RESPONSE_TYPE)
