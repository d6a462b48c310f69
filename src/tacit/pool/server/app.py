"""The pool over HTTP (Starlette): a public table, two kinds of messages, a broadcast, the operator's page.

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
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
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
from tacit.errors import InputError, ParameterError
from tacit.pool.channel.secret_files import read_secret
from tacit.pool.protocol import messages
from tacit.pool.protocol.table import losses
from tacit.pool.protocol.template import Template, named_template
from tacit.pool.server.machine import PoolMachine, warm_up
from tacit.pool.server.store import MemoryStore, RedisStore, Standing

Clock = Callable[[], float]

_EVERY = 0.05
"""Seconds between two looks at the clock."""

_HEARTBEAT = 15.0
"""Seconds of silence after which a comment keeps a connection open."""


def steady_clock() -> Clock:
    """Seconds since 1970 as they were when the process began, and running evenly from then on."""
    begun = time.time() - time.monotonic()
    return lambda: begun + time.monotonic()


def _store_is_away(error: Exception) -> bool:
    return isinstance(error, OSError) or type(error).__module__.startswith("redis")


def statistics(pool: PoolMachine, now: float) -> dict[str, Any]:
    """Return the groups of the present table with their sizes and losses, and the pool's phase."""
    standing, public = pool.store.standing(), pool.publication()
    template, groups = pool.template, []
    if public is not None:
        found = losses(public.table.regions, template)
        measured = zip(public.table.sizes.tolist(), *(each.tolist() for each in found), strict=True)
        for number, (size, loss, penalty) in enumerate(measured):
            region = public.table.region(number)
            shape = {"low": region.low, "high": region.high, "words": template.words(region)}
            groups.append(
                {"group": number, "people": size, "information_loss": loss, "width_share": penalty, **shape}
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


_REPLIES = {
    "200": "Accepted, or repeated: the same message came before and counts once.",
    "403": "No such group, or a second message without its first.",
    "410": "Another epoch or phase.",
    "422": "Not a message.",
    "503": "Full or busy; try again.",
}


def description() -> dict[str, Any]:
    """The OpenAPI 3.1 document, made from the routes, their handlers' docstrings and the messages' fields."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tacit pool",
            "version": __version__,
            "description": "Personal data is coarsened until k people online share it.",
        },
        "paths": {
            path: _operation(getattr(_Service, name), message)
            for path, (name, message) in _ROUTES.items()
            if path.startswith("/v1/")
        },
    }


def _operation(handler: Callable[..., Any], message: type[Any] | None) -> dict[str, Any]:
    """One path: a GET, or a POST of a message."""
    said = {"summary": (handler.__doc__ or "").strip()}
    if message is None:
        kind = "text/event-stream" if handler is _Service.events else "application/json"
        schema: dict[str, Any] = {"type": "string" if handler is _Service.events else "object"}
        answer = {"description": said["summary"], "content": {kind: {"schema": schema}}}
        return {"get": {**said, "responses": {"200": answer, "503": {"description": _REPLIES["503"]}}}}
    names = [field.name for field in fields(message)]
    schema = {
        "type": "object",
        "properties": {"version": {"const": messages.VERSION}}
        | {name: messages.FORMS[name][0] for name in names},
        "required": names,
        "additionalProperties": False,
    }
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    responses = {status: {"description": text} for status, text in _REPLIES.items()}
    return {"post": {**said, "requestBody": body, "responses": responses}}


_PAGE = {"/": "text/html", "/operator.js": "text/javascript", "/operator.css": "text/css"}
_PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


async def _page(request: Request) -> Response:
    """The operator's live page and its files: groups as rectangles over two attributes, and no person."""
    path = request.url.path
    text = (files("tacit.pool") / "pages" / (path.strip("/") or "operator.html")).read_text("utf-8")
    return Response(text, media_type=_PAGE[path], headers=_PAGE_HEADERS)


LARGEST_BODY = 16_384
"""Bytes of a request."""

_STATUS = {
    messages.Reply.ACCEPTED: 200,
    messages.Reply.REPEATED: 200,
    messages.Reply.GONE: 410,
    messages.Reply.REFUSED: 403,
    messages.Reply.FULL: 503,
}
_HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


class _Limit:
    """Refuses more requests at once than can be served well."""

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


class _Service:
    """One worker: it drives the pool, and lets people ask it and any number of listeners follow.

    Args:
        pool: the pool.
        clock: the time that all workers share.
        most: how many may listen at once.
    """

    def __init__(self, pool: PoolMachine, clock: Clock, most: int) -> None:
        self.pool, self.clock, self.most = pool, clock, most
        self.listeners = 0
        self.trouble = False
        """The store cannot be reached."""
        self.direct = isinstance(pool.store, MemoryStore)
        """The store answers at once; otherwise it is asked from a thread."""
        self.table: tuple[tuple[int, float], bytes, bytes] | None = None
        self._said = b""
        self._standing: Standing | None = None
        self._changed = asyncio.Event()

    async def drive(self) -> None:
        """Poll the clock until cancelled."""
        while True:
            try:
                standing = await asyncio.to_thread(lambda: self.pool.tick(self.clock()))
                if standing != self._standing:
                    said = await asyncio.to_thread(self._standing_now, standing)
                    text = json.dumps(said, separators=(",", ":"))
                    self._said = f"event: {standing.phase.value}\ndata: {text}\n\n".encode()
                    self._standing = standing
                    self._changed.set()
                    self._changed = asyncio.Event()
                self.trouble = False
            except Exception as error:  # whatever the store's client raises: it may come back
                if not _store_is_away(error):
                    raise
                self.trouble = True
            await asyncio.sleep(_EVERY)

    def _standing_now(self, standing: Standing) -> dict[str, Any]:
        said: dict[str, Any] = {"epoch": standing.epoch, "phase": standing.phase.value}
        return said | {"asked": self.pool.asked()} if standing.phase is messages.Phase.IDENTIFY else said

    async def follow(self) -> AsyncIterator[bytes]:
        """Yield epoch and phase now and at each change, as server-sent events."""
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
                    yield b": keep-alive\n\n"
        finally:
            self.listeners -= 1

    async def ask(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return work(*arguments) if self.direct else await run_in_threadpool(work, *arguments)

    async def about(self, _request: Request) -> Response:
        """Rules and template."""
        rules = self.pool.rules
        return JSONResponse(
            {
                "version": messages.VERSION,
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
        """The table of regions, the key to seal records for, and for how long they may be used."""
        public = await self.ask(self.pool.publication)
        if public is None:
            return _busy("the pool is starting")
        left = self.pool.expires_in(await self.ask(self.clock))
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
        """Epoch and phase as they change, as server-sent events."""
        if self.listeners >= self.most:
            return _busy("too many listeners; poll the table instead")
        return StreamingResponse(self.follow(), media_type="text/event-stream", headers=_HEADERS)

    async def standing(self, _request: Request) -> Response:
        """Epoch and phase, for clients that cannot follow events."""
        standing = await self.ask(self.pool.store.standing)
        if standing is None:
            return _busy("the pool is starting")
        said = await self.ask(self._standing_now, standing)
        left = max(0.0, standing.until - await self.ask(self.clock))
        return JSONResponse(said | {"ends_in": round(left, 3)}, headers=_HEADERS)

    async def first(self, request: Request) -> Response:
        """M1: somebody of this group sent a query in the overlap."""
        message = messages.FirstMessage.parse(await read_object(request, LARGEST_BODY))
        return _replied(await self.ask(self.pool.first, message))

    async def second(self, request: Request) -> Response:
        """M2: the sealed record of a sender of M1."""
        message = messages.SecondMessage.parse(await read_object(request, LARGEST_BODY))
        return _replied(await self.ask(self.pool.second, message))

    async def statistics(self, _request: Request) -> Response:
        """Groups and numbers of people, for the operator."""
        found = await run_in_threadpool(lambda: statistics(self.pool, self.clock()))
        found["listeners"] = self.listeners
        found["store_reachable"] = not self.trouble
        found["relay_reachable"] = getattr(self.pool.relay, "reachable", None)
        return JSONResponse(found, headers=_HEADERS)

    async def describe(self, _request: Request) -> Response:
        """This document."""
        return JSONResponse(description(), headers=_HEADERS)


_ROUTES: dict[str, tuple[str, type[Any] | None]] = {
    "/v1/pool": ("about", None),
    "/v1/table": ("show_table", None),
    "/v1/standing": ("standing", None),
    "/v1/events": ("events", None),
    "/v1/first": ("first", messages.FirstMessage),
    "/v1/second": ("second", messages.SecondMessage),
    "/v1/statistics": ("statistics", None),
    "/openapi.json": ("describe", None),
}
"""Path to the handler, and to the message that is posted to it."""


def _replied(reply: messages.Reply) -> Response:
    headers = {**_HEADERS, "retry-after": "1"} if reply is messages.Reply.FULL else _HEADERS
    return JSONResponse({"reply": reply.value}, _STATUS[reply], headers)


async def _malformed(_request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 422, _HEADERS)


async def _store_away(_request: Request, _error: Exception) -> Response:
    return _busy("the pool's store cannot be reached")


def pool_app(
    pool: PoolMachine, *, clock: Clock | None = None, listeners: int = 20_000, requests_at_once: int = 1_000
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
    service = _Service(pool, clock, listeners)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await run_in_threadpool(warm_up, pool.template)  # the first table must not wait for a compiler
        driving = asyncio.create_task(service.drive())
        try:
            yield
        finally:
            driving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await driving

    from redis.exceptions import RedisError

    return Starlette(
        routes=[
            *(
                Route(path, getattr(service, name), methods=["GET" if message is None else "POST"])
                for path, (name, message) in _ROUTES.items()
            ),
            *(Route(path, _page) for path in _PAGE),
        ],
        middleware=[Middleware(_Limit, most=requests_at_once)],
        exception_handlers={InputError: _malformed, RedisError: _store_away},
        lifespan=lifespan,
    )


_RETRY = 0.1


class RelayHandover:
    """The pool's view of a relay; see :class:`tacit.pool.protocol.batches.Handover`.

    Args:
        address: the relay's.
        secret: what the relay wants to be shown.
        patience: for how many seconds a relay that does not answer is asked again.
    """

    def __init__(self, address: str, secret: str, patience: float) -> None:
        self.address = address.rstrip("/")
        self.reachable = True
        self._secret, self._patience = secret, patience

    def hand_over(self, announcements: Sequence[str]) -> dict[str, list[str]]:
        """The batches of those announcements that have one; none where the relay cannot be reached."""
        import httpx

        headers = {"authorization": f"Bearer {self._secret}", "user-agent": "tacit-pool"}
        asked = {"version": messages.VERSION, "announcements": list(announcements)}
        until = time.monotonic() + self._patience
        while True:
            try:
                with httpx.Client(timeout=max(self._patience, 0.5), trust_env=False) as http:
                    answer = http.post(self.address + "/v1/batches", json=asked, headers=headers)
                given = answer.raise_for_status().json()["batches"]
                found = {each: list(map(str, given[each])) for each in announcements if each in given}
                self.reachable = True
                return found
            except (httpx.HTTPError, ValueError, KeyError, TypeError, AttributeError):
                self.reachable = False
            if time.monotonic() + _RETRY >= until:
                return {}
            time.sleep(_RETRY)


class Pool:
    """A pool: people's records are coarsened until at least k people online share them.

    ::

        pool = tacit.Pool(k=30, window=120, template="template.toml")
        uvicorn.run(pool.app(), port=8460)

    Args:
        k: how many people share a region, at least.
        window: w, how far apart in time their queries may lie, in seconds.
        template: what a record looks like: a TOML file, ``adult`` (the bundled one), or a
            :class:`~tacit.pool.Template`.
        overlap: the share of the usable time in which a query counts for the next table, at most 0.5.
        count: seconds to count who is online.
        identify: seconds to take sealed records.
        form: seconds to form the next table.
        skew: twice the seconds by which a table may be late.
        redis: keep the epoch in this Redis (``redis://HOST:PORT/0``) instead of in memory.
        relay: take sealed records only in batches, from the relay at this address.
        relay_secret: with ``relay``, the file with the secret that the relay requires.
        workers: how many processes will serve the pool; more than one needs ``redis``.
    """

    def __init__(
        self,
        k: int = 30,
        window: float = 120.0,
        template: str | Path | Template = "adult",
        *,
        overlap: float = 0.5,
        count: float = 4.0,
        identify: float = 4.0,
        form: float = 2.0,
        skew: float = 2.0,
        redis: str | None = None,
        relay: str | None = None,
        relay_secret: str | Path | None = None,
        workers: int = 1,
    ) -> None:
        if workers > 1 and redis is None:
            raise ParameterError(
                f"{workers} workers need a Redis that they share.", "Give `redis=redis://HOST:PORT/0`."
            )
        if (relay is None) != (relay_secret is None):
            raise ParameterError("`relay` and `relay_secret` belong together.", "Give both, or neither.")
        self.rules = messages.Rules(k, window, overlap, count, identify, form, skew)
        self.template = template if isinstance(template, Template) else named_template(template)
        self.relay, self.workers = relay, workers
        self._secret = None if relay_secret is None else read_secret(Path(relay_secret))
        self._redis = redis

    def __repr__(self) -> str:
        kept = "in memory" if self._redis is None else "in Redis"
        names = ", ".join(self.template.names)
        return f"Pool(k={self.rules.k}, window={self.rules.window:g} s, records of {names}, {kept})"

    def as_dict(self) -> dict[str, Any]:
        """The rules, the lengths that follow from them, and who keeps sealed records."""
        return {
            "rules": self.rules.as_dict(),
            "overlap_length": self.rules.overlap_length,
            "open_length": self.rules.open_length,
            "template_digest": self.template.digest,
            "workers": self.workers,
            "relay": self.relay,
        }

    def app(self) -> Starlette:
        """Make the ASGI application of one worker."""
        if self._redis is None:
            store: MemoryStore | RedisStore = MemoryStore()
        else:
            store = RedisStore(self._redis, lifetime=3 * self.rules.window)
        relay = None
        if self.relay is not None and self._secret is not None:
            relay = RelayHandover(self.relay, self._secret, self.rules.form)
        return pool_app(PoolMachine(self.rules, self.template, store, relay=relay))


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
