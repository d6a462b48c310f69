"""The pool over HTTP (Starlette): a public table, two kinds of messages, a broadcast, and the operator's
page.

Nothing is logged: no address, message or record. What the store remembers is gone with its epoch. Everybody
gets the same broadcast; nothing is ever sent to one person alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tacit import __version__
from tacit.bodies import read_object
from tacit.errors import InputError
from tacit.pool.protocol.messages import VERSION, FirstMessage, Phase, Reply, SecondMessage
from tacit.pool.protocol.template import information_loss, width_share
from tacit.pool.server.machine import Pool, warm_up
from tacit.pool.server.store import MemoryStore, Standing

Clock = Callable[[], float]

_EVERY = 0.05
"""Seconds between two looks at the clock."""

_HEARTBEAT = 15.0
"""Seconds of silence after which a comment keeps a connection open."""


def steady_clock() -> Clock:
    """Seconds since 1970 as they were when the process began, and running evenly from then on."""
    begun = time.time() - time.monotonic()
    return lambda: begun + time.monotonic()


class Broadcast:
    """Drives the pool of one worker, and lets any number of listeners follow.

    Args:
        pool: the pool.
        clock: the time that all workers share.
        most: how many may listen at once.
    """

    def __init__(self, pool: Pool, clock: Clock, most: int) -> None:
        self.pool = pool
        self.clock = clock
        self.most = most
        self.listeners = 0
        self.trouble = False
        """The store cannot be reached."""
        self._said = b""
        self._standing: Standing | None = None
        self._changed = asyncio.Event()
        self._stop = threading.Event()

    async def drive(self) -> None:
        """Look at the clock again and again, until cancelled."""
        while True:
            try:
                standing = await asyncio.to_thread(self._look)
                self.trouble = False
            except Exception as error:  # whatever the store's client raises: it may come back
                if not _store_is_away(error):
                    raise
                self.trouble = True
                standing = None
            if standing is not None and standing != self._standing:
                self._standing = standing
                asked = self.pool.asked() if standing.phase is Phase.IDENTIFY else None
                self._say(standing, asked)
            await asyncio.sleep(_EVERY)

    def _look(self) -> Standing:
        return self.pool.tick(self.clock())

    def _say(self, standing: Standing, asked: list[int] | None) -> None:
        said: dict[str, object] = {"epoch": standing.epoch, "phase": standing.phase.value}
        if asked is not None:
            said["asked"] = asked
        text = json.dumps(said, separators=(",", ":"))
        self._said = f"event: {standing.phase.value}\ndata: {text}\n\n".encode()
        self._changed.set()
        self._changed = asyncio.Event()

    async def follow(self) -> AsyncIterator[bytes]:
        """Where the pool stands now, and each change from now on, as server-sent events."""
        self.listeners += 1
        try:
            if self._said:
                yield self._said
            while True:
                changed = self._changed
                try:
                    await asyncio.wait_for(changed.wait(), _HEARTBEAT)
                    yield self._said
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self.listeners -= 1


def _store_is_away(error: Exception) -> bool:
    return isinstance(error, OSError) or type(error).__module__.startswith("redis")


def statistics(pool: Pool, now: float) -> dict[str, Any]:
    """The groups of the present table with their sizes and losses, and how the pool stands."""
    standing, public = pool.store.standing(), pool.publication()
    template, domain = pool.template, pool.template.domain
    groups: list[dict[str, Any]] = []
    if public is not None:
        for number, size in enumerate(public.table.sizes.tolist()):
            region = public.table.region(number)
            groups.append(
                {
                    "group": number,
                    "people": size,
                    "words": template.words(region),
                    "low": region.low,
                    "high": region.high,
                    "information_loss": float(information_loss(region, domain)),
                    "width_share": width_share(region, domain),
                }
            )
    people = sum(group["people"] for group in groups)
    surviving = 0 if public is None else len(public.table.surviving)
    return {
        "epoch": None if standing is None else standing.epoch,
        "phase": None if standing is None else standing.phase.value,
        "phase_ends_in": 0.0 if standing is None else max(0.0, standing.until - now),
        "expires_in": pool.expires_in(now),
        "k": pool.rules.k,
        "window": pool.rules.window,
        "people": people,
        "everyone": public is not None and public.table.everyone,
        "surviving": surviving,
        "expired": max(0, pool.groups_before() - surviving),
        "relay": getattr(pool.relay, "address", None),
        "information_loss": _mean(groups, "information_loss", people),
        "width_share": _mean(groups, "width_share", people),
        "attributes": [
            {"name": a.name, "size": len(a), "first": a.labels[0], "last": a.labels[-1]}
            for a in template.attributes
        ],
        "groups": groups,
    }


def _mean(groups: list[dict[str, Any]], name: str, people: int) -> float | None:
    """The mean over people; None where there are none."""
    return sum(group["people"] * group[name] for group in groups) / people if people else None


_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
_WHOLE = {"type": "integer"}
_REGION = {
    "type": "array",
    "description": "Lower and upper corner, both included, a code an attribute.",
    "minItems": 2,
    "maxItems": 2,
    "items": {"type": "array", "items": {"type": "integer", "minimum": 0}},
}


def _message(sealed: bool) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "version": {"const": VERSION},
        "epoch": _WHOLE | {"description": "The epoch of the table that was used."},
        "group": _WHOLE | {"description": "The group; -1 asked with d*, -2 holds a query back."},
        "token": {"type": "string", "pattern": "^[0-9a-f]{32}$", "description": "Drawn anew each epoch."},
    }
    if sealed:
        properties["sealed"] = {
            "type": "string",
            "minLength": 1,
            "maxLength": 4096,
            "description": "The record, sealed for the epoch's key (HPKE), in base64.",
        }
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name != "version"],
        "additionalProperties": False,
    }


def _answer(words: str, schema: dict[str, Any], kind: str = "application/json") -> dict[str, Any]:
    return {"description": words, "content": {kind: {"schema": schema}}}


def _replies() -> dict[str, Any]:
    reply = {"type": "object", "properties": {"reply": {"type": "string"}}, "required": ["reply"]}
    return {
        "200": _answer("Accepted, or repeated: the same message came before and counts once.", reply),
        "403": _answer("No such group, or a second message without its first.", reply),
        "410": _answer("Another epoch or phase.", reply),
        "422": _answer("Not a message.", _ERROR),
        "503": _answer("Full or busy; come again.", {"type": "object"}),
    }


def _get(summary: str, answer: dict[str, Any]) -> dict[str, Any]:
    busy = _answer("Not ready, or busy; come again.", _ERROR)
    return {"get": {"summary": summary, "responses": {"200": answer, "503": busy}}}


def _post(summary: str, sealed: bool) -> dict[str, Any]:
    body = {"required": True, "content": {"application/json": {"schema": _message(sealed)}}}
    return {"post": {"summary": summary, "requestBody": body, "responses": _replies()}}


def description() -> dict[str, Any]:
    """The OpenAPI 3.1 document."""
    table = {
        "type": "object",
        "required": ["version", "epoch", "regions", "sizes", "surviving", "everyone", "primed"],
        "properties": {
            "version": {"const": VERSION},
            "epoch": _WHOLE,
            "regions": {"type": "array", "items": _REGION},
            "sizes": {"type": "array", "items": _WHOLE},
            "surviving": {"type": "array", "items": _REGION},
            "everyone": {"type": "boolean"},
            "primed": {"type": "array", "items": _WHOLE},
        },
    }
    standing = {
        "type": "object",
        "required": ["epoch", "phase"],
        "properties": {
            "epoch": _WHOLE,
            "phase": {"enum": ["open", "count", "identify", "form"]},
            "asked": {"type": "array", "items": _WHOLE},
            "ends_in": {"type": "number", "minimum": 0, "description": "Seconds, of the phase."},
        },
    }
    shown = _answer(
        "The table, the key to seal records for, and for how many seconds it may be used.",
        {
            "type": "object",
            "required": ["table", "public_key", "expires_in"],
            "properties": {
                "table": table,
                "public_key": {"type": "string"},
                "expires_in": {"type": "number", "minimum": 0},
            },
        },
    )
    stream = _answer("Server-sent events named after the phases.", {"type": "string"}, "text/event-stream")
    anything = {"type": "object"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tacit pool",
            "version": __version__,
            "description": "Personal data is coarsened until k people online share it.",
        },
        "paths": {
            "/v1/pool": _get("Rules and template.", _answer("Rules and template.", anything)),
            "/v1/table": _get("The table of regions, from which an agent finds its own.", shown),
            "/v1/standing": _get("Epoch and phase, for who cannot follow.", _answer("Standing.", standing)),
            "/v1/events": _get("Epoch and phase as they change.", stream),
            "/v1/first": _post("M1: somebody of this group asked in the overlap.", False),
            "/v1/second": _post("M2: the sealed record of a sender of M1.", True),
            "/v1/statistics": _get("What the operator sees.", _answer("Groups and numbers.", anything)),
        },
    }


_FILES = {
    "/": ("operator.html", "text/html"),
    "/operator.js": ("operator.js", "text/javascript"),
    "/operator.css": ("operator.css", "text/css"),
}
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def operator_page() -> list[Route]:
    """The routes of the page and its two files."""

    def route(path: str, name: str, kind: str) -> Route:
        text = (files("tacit.pool") / "pages" / name).read_text("utf-8")

        async def show(_request: Request) -> Response:
            return Response(text, media_type=kind, headers=_HEADERS)

        return Route(path, show)

    return [route(path, name, kind) for path, (name, kind) in _FILES.items()]


LARGEST_BODY = 16_384
"""Bytes of a request."""

_STATUS = {
    Reply.ACCEPTED: 200,
    Reply.REPEATED: 200,
    Reply.GONE: 410,
    Reply.REFUSED: 403,
    Reply.FULL: 503,
}
_HEADERS_SERVICE = {
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
    return JSONResponse({"error": why}, 503, {"retry-after": "1", **_HEADERS_SERVICE})


def _error(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status, _HEADERS_SERVICE)


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
            headers=_HEADERS_SERVICE,
        )

    async def show_table(self, request: Request) -> Response:
        public = await self.ask(self.pool.publication)
        if public is None:
            return _busy("the pool has just begun")
        left = self.pool.expires_in(await self.ask(self.broadcast.clock))
        left = math.floor(2 * left) / 2  # never more than it is, and the same for a while
        if self.table is None or self.table[0] != (public.table.epoch, left):
            head = json.dumps({"expires_in": left, "public_key": public.public_key})[:-1]
            text = f'{head}, "table": {public.table.as_json()}}}'.encode()
            self.table = ((public.table.epoch, left), text, gzip.compress(text, 3))
        headers = {**_HEADERS_SERVICE, "vary": "accept-encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            return Response(self.table[2], media_type="application/json", headers=headers)
        return Response(self.table[1], media_type="application/json", headers=headers)

    async def events(self, _request: Request) -> Response:
        if self.broadcast.listeners >= self.broadcast.most:
            return _busy("too many listeners; ask for the table now and then instead")
        return StreamingResponse(
            self.broadcast.follow(), media_type="text/event-stream", headers=_HEADERS_SERVICE
        )

    async def standing(self, _request: Request) -> Response:
        standing = await self.ask(self.pool.store.standing)
        if standing is None:
            return _busy("the pool has just begun")
        asked = await self.ask(self.pool.asked) if standing.phase.value == "identify" else None
        left = max(0.0, standing.until - await self.ask(self.broadcast.clock))
        said = {"epoch": standing.epoch, "phase": standing.phase.value, "ends_in": round(left, 3)}
        return JSONResponse(said if asked is None else said | {"asked": asked}, headers=_HEADERS_SERVICE)

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
        return JSONResponse(found, headers=_HEADERS_SERVICE)

    async def describe(self, _request: Request) -> Response:
        return JSONResponse(description(), headers=_HEADERS_SERVICE)


def _replied(reply: Reply) -> Response:
    headers = {**_HEADERS_SERVICE, "retry-after": "1"} if reply is Reply.FULL else _HEADERS_SERVICE
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


_PAUSE = 0.5
"""Seconds before a worker that died is replaced."""


def run_workers(number: int, work: Callable[[], None], started: Callable[[], None]) -> None:
    """Run ``work`` in ``number`` processes until Ctrl-C or SIGTERM; ``started`` is called once they run."""
    ending = False
    children: set[int] = set()

    def end(_signal: int, _frame: Any) -> None:
        nonlocal ending
        ending = True
        for child in children:
            os.kill(child, signal.SIGTERM)

    usual = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)}
    for name in usual:
        signal.signal(name, end)
    try:
        for _ in range(number):
            children.add(_fork(work, usual))
        started()
        while children:
            try:
                child, _ = os.wait()
            except ChildProcessError:
                break
            children.discard(child)
            if not ending:
                time.sleep(_PAUSE)
                children.add(_fork(work, usual))
    finally:
        for name, handler in usual.items():
            signal.signal(name, handler)


def _fork(work: Callable[[], None], usual: dict[signal.Signals, Any]) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        for name, handler in usual.items():
            signal.signal(name, handler)
        work()
        status = 0
    except KeyboardInterrupt:
        status = 0
    finally:
        sys.stdout.flush()
        os._exit(status)
