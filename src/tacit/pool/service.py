"""The pool over HTTP: a public table, two kinds of messages, and a broadcast (Starlette).

Nothing is written: no address, message or record in a log. What the store remembers is gone with its epoch.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import math
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.bodies import read_object
from tacit.errors import InputError
from tacit.pool.broadcast import Broadcast, Clock, steady_clock
from tacit.pool.formation import warm_up
from tacit.pool.machine import Pool
from tacit.pool.openapi import description
from tacit.pool.operator_page import operator_page
from tacit.pool.protocol import VERSION, FirstMessage, Reply, SecondMessage
from tacit.pool.statistics import statistics
from tacit.pool.store import MemoryStore

__all__ = ["LARGEST_BODY", "pool_app"]

LARGEST_BODY = 16_384
"""Bytes of a request."""

_STATUS = {
    Reply.ACCEPTED: 200,
    Reply.REPEATED: 200,
    Reply.GONE: 410,
    Reply.REFUSED: 403,
    Reply.FULL: 503,
}
_HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


class _Calm:
    """Refuses more requests at once than can be served well, and what the store cannot take now."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self.app, self.most, self.now = app, most, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == "/v1/events":
            await self.app(scope, receive, send)
            return
        if self.now >= self.most:
            await _busy("too many requests at once")(scope, receive, send)
            return
        self.now += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.now -= 1


def _busy(why: str) -> Response:
    return JSONResponse({"error": why}, 503, {"retry-after": "1", **_HEADERS})


def _error(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status, _HEADERS)


class _Service:
    """The handlers of one worker."""

    def __init__(self, pool: Pool, broadcast: Broadcast) -> None:
        self.pool = pool
        self.broadcast = broadcast
        self.direct = isinstance(pool.store, MemoryStore)
        """The store answers at once; otherwise it is asked from a thread."""
        self.table: tuple[tuple[int, float], bytes, bytes] | None = None

    async def ask(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return work(*arguments) if self.direct else await run_in_threadpool(work, *arguments)

    async def about(self, _request: Request) -> Response:
        rules = self.pool.rules
        return JSONResponse(
            {
                "version": VERSION,
                "rules": rules.as_dict(),
                "overlap_length": rules.overlap_length,
                "open_length": rules.open_length,
                "lifetime": rules.lifetime,
                "template": self.pool.template.as_dict(),
                "template_digest": self.pool.template.digest,
                "relay": getattr(self.pool.relay, "address", None),
            },
            headers=_HEADERS,
        )

    async def show_table(self, request: Request) -> Response:
        public = await self.ask(self.pool.publication)
        if public is None:
            return _busy("the pool has just begun")
        now = await self.ask(self.broadcast.clock)
        left = max(0.0, public.since + self.pool.rules.lifetime - now)
        left = math.floor(2 * left) / 2  # never more than it is, and the same for a while
        if self.table is None or self.table[0] != (public.table.epoch, left):
            head = json.dumps({"expires_in": left, "public_key": public.public_key})[:-1]
            text = f'{head}, "table": {public.table.as_json()}}}'.encode()
            self.table = ((public.table.epoch, left), text, gzip.compress(text, 3))
        headers = {**_HEADERS, "vary": "accept-encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            return Response(self.table[2], media_type="application/json", headers=headers)
        return Response(self.table[1], media_type="application/json", headers=headers)

    async def events(self, _request: Request) -> Response:
        if self.broadcast.listeners >= self.broadcast.most:
            return _busy("too many listeners; ask for the table now and then instead")
        return StreamingResponse(self.broadcast.follow(), media_type="text/event-stream", headers=_HEADERS)

    async def standing(self, _request: Request) -> Response:
        standing = await self.ask(self.pool.store.standing)
        if standing is None:
            return _busy("the pool has just begun")
        asked = await self.ask(self.pool.asked) if standing.phase.value == "identify" else None
        left = max(0.0, standing.until - await self.ask(self.broadcast.clock))
        said = {"epoch": standing.epoch, "phase": standing.phase.value, "ends_in": round(left, 3)}
        return JSONResponse(said if asked is None else said | {"asked": asked}, headers=_HEADERS)

    async def first(self, request: Request) -> Response:
        message = FirstMessage.parse(await read_object(request, LARGEST_BODY))
        return _replied(await self.ask(self.pool.first, message))

    async def second(self, request: Request) -> Response:
        message = SecondMessage.parse(await read_object(request, LARGEST_BODY))
        return _replied(await self.ask(self.pool.second, message))

    async def statistics(self, _request: Request) -> Response:
        found = await run_in_threadpool(lambda: statistics(self.pool, self.broadcast.clock()))
        found["listeners"] = self.broadcast.listeners
        found["store_reachable"] = not self.broadcast.trouble
        found["relay_reachable"] = getattr(self.pool.relay, "reachable", None)
        return JSONResponse(found, headers=_HEADERS)

    async def describe(self, _request: Request) -> Response:
        return JSONResponse(description(), headers=_HEADERS)


def _replied(reply: Reply) -> Response:
    headers = {**_HEADERS, "retry-after": "1"} if reply is Reply.FULL else _HEADERS
    return JSONResponse({"reply": reply.value}, _STATUS[reply], headers)


async def _misshapen(_request: Request, error: Exception) -> Response:
    return _error(422, str(error))


async def _store_away(_request: Request, _error: Exception) -> Response:
    return _busy("the pool's store cannot be reached")


def pool_app(
    pool: Pool, *, clock: Clock | None = None, listeners: int = 20_000, requests_at_once: int = 1_000
) -> Starlette:
    """The ASGI application of one worker.

    Args:
        pool: the pool, over its store.
        clock: the time that all workers share (default the process's own).
        listeners: how many may follow the broadcast.
        requests_at_once: how many requests are served at once; more are told to come again.
    """
    if clock is None:
        clock = getattr(pool.store, "now", None) or steady_clock()
    pool.clock = clock
    broadcast = Broadcast(pool, clock, listeners)
    service = _Service(pool, broadcast)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await run_in_threadpool(warm_up, pool.template)  # the first table must not wait for a compiler
        driving = asyncio.create_task(broadcast.drive())
        try:
            yield
        finally:
            driving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await driving

    from redis.exceptions import RedisError

    return Starlette(
        routes=[
            Route("/v1/pool", service.about),
            Route("/v1/table", service.show_table),
            Route("/v1/standing", service.standing),
            Route("/v1/events", service.events),
            Route("/v1/first", service.first, methods=["POST"]),
            Route("/v1/second", service.second, methods=["POST"]),
            Route("/v1/statistics", service.statistics),
            Route("/openapi.json", service.describe),
            *operator_page(),
        ],
        middleware=[Middleware(_Calm, most=requests_at_once)],
        exception_handlers={InputError: _misshapen, RedisError: _store_away},
        lifespan=lifespan,
    )
