"""An agent as a small server on the person's own machine: searches pass through it and get their region.

It takes searches as a Tacit search server does (``GET /search?q=…``, ``POST /search`` with a query and
perhaps topics that the device guard let out), adds ``person``, the region in words, and passes them on.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.bodies import read_object
from tacit.errors import InputError, TacitError
from tacit.pool.agent.machine import Without
from tacit.pool.agent.runner import Companion, PassClient, RelayClient
from tacit.pool.channel.choice import channel_transport
from tacit.pool.protocol.template import divide, generalised_query

_LARGEST_BODY = 200_000
_HEADERS = {"cache-control": "no-store"}


def read_record(path: Path) -> dict[str, object]:
    """A person's values from a JSON file."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"the record {path} is not JSON.") from error
    if not isinstance(values, dict):
        raise InputError(f"the record {path} must be a JSON object of attributes and values.")
    return values


@dataclass(frozen=True)
class _Membership:
    """Whom a person joins, as whom, and by whom the sealed record is kept."""

    pool: str
    record: Mapping[str, object]
    without: Without
    streaming: bool
    relay: str | None
    issuer: str | None
    account: str

    async def join(self, pool_http: Any, relay_http: Any, issuer_http: Any) -> Companion:
        return await Companion.join(
            self.pool,
            self.record,
            pool_http,
            without=self.without,
            streaming=self.streaming,
            relay=None if self.relay is None else RelayClient(self.relay, relay_http),
            passes=None if self.issuer is None else PassClient(self.issuer, self.account, issuer_http),
        )


class _AgentService:
    def __init__(self, engine: str | None, wait: float) -> None:
        self.engine, self.wait = engine, wait
        self.companion: Companion | None = None
        self.http: Any = None
        self.trouble = "the agent is joining the pool"

    async def run(self, membership: _Membership, *clients: Any) -> None:
        """Join the pool, however long that takes, and stay in it."""
        pause = 0.2
        while self.companion is None:
            try:
                self.companion = await membership.join(*clients)
            except TacitError as error:
                self.trouble = str(error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, 5.0)
        await self.companion.run()

    async def region(self, _request: Request) -> Response:
        """Where the agent stands, and what would be sent now; it is not counted as a query."""
        companion = self.companion
        if companion is None:
            return JSONResponse({"error": self.trouble}, 503, _HEADERS)
        agent = companion.agent
        return JSONResponse(
            {
                "state": agent.state.value,
                "guarded": agent.guarded,
                "epoch": agent.epoch,
                "pool_reachable": companion.reachable,
                "trouble": "" if companion.passes is None else companion.passes.trouble,
                "person": companion.words(agent.region),
            },
            headers=_HEADERS,
        )

    async def search(self, request: Request) -> Response:
        """Attach the region and pass the search on; hold it back while there is none."""
        if self.engine is None:
            return JSONResponse({"error": "no search server was named; say --engine"}, 404, _HEADERS)
        if self.companion is None:
            return JSONResponse({"error": self.trouble}, 503, _HEADERS)
        asked = await _question(request)
        companion = self.companion
        region = await companion.region(self.wait)
        if region is None:
            why = f"held back for {self.wait:g} s: no region of enough people guards you yet"
            return JSONResponse({"error": why}, 503, {**_HEADERS, "retry-after": "5"})
        template = companion.terms.template
        query = divide(template, str(asked.get("query", "")))
        if query.public:  # Definition 4: what the query names is generalised along with the record
            sent = generalised_query(template, region, query)
            named = " ".join(sent.public[name] for name in query.public)
            asked["query"] = f"{sent.private} {named}".strip()
        asked["person"] = companion.words(region)
        return await self._forward(asked)

    async def _forward(self, asked: dict[str, Any]) -> Response:
        import httpx

        try:
            answer = await self.http.post(self.engine, json=asked)
        except httpx.HTTPError as error:
            why = f"the search server does not answer ({type(error).__name__})"
            return JSONResponse({"error": why}, 502, _HEADERS)
        kind = answer.headers.get("content-type", "application/json")
        return Response(answer.content, answer.status_code, {**_HEADERS, "content-type": kind})


async def _question(request: Request) -> dict[str, Any]:
    if request.method == "GET":
        return {"query": request.query_params.get("q", "")}
    asked = await read_object(request, _LARGEST_BODY)
    asked.pop("person", None)  # only the pool says what may be known of the person
    return asked


async def _wrong(_request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400, _HEADERS)


def agent_app(
    pool: str,
    record: Mapping[str, object],
    *,
    engine: str | None = None,
    without: Without = "hold",
    wait: float = 60.0,
    channel: str = "direct",
    engine_channel: str = "direct",
    keys: bytes | None = None,
    relay: str | None = None,
    relay_channel: str = "direct",
    relay_keys: bytes | None = None,
    issuer: str | None = None,
    account: str = "",
) -> Starlette:
    """The agent's application.

    Args:
        pool: the pool's address.
        record: the person's values.
        engine: the search server that searches are passed on to.
        without: what to do while no region guards the person.
        wait: how long a query is held back, in seconds.
        channel, engine_channel: how pool and search server are reached (:mod:`tacit.pool.channel.choice`).
        keys: with Oblivious HTTP, the gateway's key configurations, if they came from elsewhere.
        relay: the relay that keeps sealed records for the pool, if it has one.
        relay_channel, relay_keys: how it is reached.
        issuer, account: who gives passes for it, if it wants some, and the secret of the person's account.
    """
    service = _AgentService(engine, wait)
    membership = _Membership(pool, record, without, not channel.startswith("ohttp:"), relay, issuer, account)
    transports = (
        channel_transport(channel, keys=keys),
        channel_transport(relay_channel, keys=relay_keys),
        None,
        channel_transport(engine_channel),
    )
    return Starlette(
        routes=[
            Route("/region", service.region),
            Route("/search", service.search, methods=["GET", "POST"]),
        ],
        exception_handlers={InputError: _wrong},
        lifespan=_lifespan(service, membership, transports),
    )


def _lifespan(
    service: _AgentService, membership: _Membership, transports: tuple[Any, Any, Any, Any]
) -> Callable[[Starlette], contextlib.AbstractAsyncContextManager[None]]:
    """Connections to pool, relay, issuer and search server, and the agent that runs while they are open."""

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        import httpx

        async with contextlib.AsyncExitStack() as opened:
            clients = [
                await opened.enter_async_context(
                    httpx.AsyncClient(transport=transport, trust_env=False, timeout=10.0)
                )
                for transport in transports
            ]
            *others, service.http = clients
            running = asyncio.create_task(service.run(membership, *others))
            try:
                yield
            finally:
                running.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await running

    return lifespan
