"""An agent on the person's own machine: it keeps them in a pool and attaches their region to searches.

As a server it takes searches as a Tacit search server does (``GET /search?q=…``, ``POST /search`` with a
query and perhaps topics that the device guard let out), adds ``person``, the region in words, and passes them
on.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.bodies import read_object
from tacit.errors import InputError, ParameterError, TacitError
from tacit.pool.agent.machine import Without
from tacit.pool.agent.runner import AgentRunner, PartyUnreachableError, PassClient, RelayClient
from tacit.pool.channel import channel_transport, who_sees_what
from tacit.pool.channel.secret_files import read_secret
from tacit.pool.protocol.template import Region, generalise_query

_LARGEST_BODY = 200_000
_HEADERS = {"cache-control": "no-store"}
_LONGEST_PAUSE = 5.0


class Agent:
    """A person's member of a pool.

    ::

        async with tacit.Agent("https://pool.example", {"age": 34, "place": "Burnaby"}) as agent:
            region = await agent.region()       # None: hold the query back
            print(agent.describe(region))       # {"age": "25 to 40", "place": "British Columbia"}

    Use it as an asynchronous context manager, which joins the pool in the background and stays in it, or
    serve :meth:`app`.

    Args:
        pool: the pool's address.
        record: the person's values, one for each attribute of the pool's template, or a JSON file of them.
        engine: the address of the search server that :meth:`app` passes searches on to.
        without: what to do with a query while no region guards the person: ``hold`` it back, or send it
            with the whole domain d* (``general``), unprotected.
        wait: how long a query is held back, in seconds.
        channel: how the pool is reached: ``direct``, ``socks5://HOST:PORT`` or ``ohttp:RELAY_ADDRESS``.
        engine_channel: how the search server is reached, in the same words.
        keys: with ``ohttp:``, the gateway's public keys or a file of them, got from elsewhere than the relay.
        relay: the relay that keeps sealed records for the pool; the pool must name the same.
        relay_channel: how that relay is reached.
        relay_keys: with ``ohttp:``, the public keys of the gateway in front of that relay.
        issuer: who gives the person passes, if the relay requires them.
        account: with `issuer`, the file with the secret of the person's account.
    """

    def __init__(
        self,
        pool: str,
        record: Mapping[str, object] | str | Path,
        *,
        engine: str | None = None,
        without: Without = "hold",
        wait: float = 60.0,
        channel: str = "direct",
        engine_channel: str = "direct",
        keys: bytes | str | Path | None = None,
        relay: str | None = None,
        relay_channel: str = "direct",
        relay_keys: bytes | str | Path | None = None,
        issuer: str | None = None,
        account: str | Path | None = None,
    ) -> None:
        if (issuer is None) != (account is None):
            raise ParameterError("`issuer` and `account` belong together.", "Give both, or neither.")
        if without not in ("hold", "general"):
            raise ParameterError.outside("without", repr(without), "hold or general")
        self.pool, self.engine, self.without, self.wait = pool, engine, without, wait
        self.relay, self.issuer = relay, issuer
        self._record = read_record(record) if isinstance(record, str | Path) else dict(record)
        self._account = "" if account is None else read_secret(Path(account))
        self._channel = channel
        self._channels = {"pool": channel} | ({} if relay is None else {"relay": relay_channel})
        self._transports = (
            channel_transport(channel, keys=_content(keys)),
            channel_transport(relay_channel, keys=_content(relay_keys)),
            None,
            channel_transport(engine_channel),
        )
        self._runner: AgentRunner | None = None
        self._trouble = "the agent is joining the pool"
        self._engine_http: httpx.AsyncClient
        self._open = contextlib.AsyncExitStack()

    def __repr__(self) -> str:
        state = "not joined" if self._runner is None else self._runner.agent.state.value
        return f"Agent({self.pool!r}, {state}, {self._channel.partition(':')[0]} channel)"

    @property
    def channels(self) -> list[str]:
        """Who sees what on the way to the pool, and to the relay where there is one."""
        return [f"{party}: {who_sees_what(channel)}" for party, channel in self._channels.items()]

    async def __aenter__(self) -> Agent:
        clients = [
            await self._open.enter_async_context(
                httpx.AsyncClient(transport=transport, trust_env=False, timeout=10.0)
            )
            for transport in self._transports
        ]
        *others, self._engine_http = clients
        running = asyncio.create_task(self._run(*others))
        self._open.push_async_callback(_cancel, running)
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._open.aclose()

    async def _run(
        self, pool_http: httpx.AsyncClient, relay_http: httpx.AsyncClient, issuer_http: httpx.AsyncClient
    ) -> None:
        """Join the pool, however long that takes, and stay in it."""
        relay = None if self.relay is None else RelayClient(self.relay, relay_http)
        passes = None if self.issuer is None else PassClient(self.issuer, self._account, issuer_http)
        pause = 0.2
        while self._runner is None:
            try:
                self._runner = await AgentRunner.join(
                    self.pool,
                    self._record,
                    pool_http,
                    without=self.without,
                    streaming=not self._channel.startswith("ohttp:"),
                    relay=relay,
                    passes=passes,
                )
            except TacitError as error:
                self._trouble = str(error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        await self._runner.run()

    def _joined(self) -> AgentRunner:
        if self._runner is None:
            raise PartyUnreachableError(self._trouble)
        return self._runner

    async def region(self, timeout: float | None = None) -> Region | None:
        """What to attach to a query that is sent now: d', or d*, or None to hold the query back.

        Args:
            timeout: how many seconds to wait for a region (``wait`` unless given).

        Raises:
            PartyUnreachableError: the pool was not joined in that time; the message says why.
        """
        until = time.monotonic() + (self.wait if timeout is None else timeout)
        while self._runner is None and time.monotonic() < until:
            await asyncio.sleep(0.05)
        return await self._joined().region(max(0.0, until - time.monotonic()))

    def describe(self, region: Region) -> dict[str, str]:
        """The region in words, by attribute, without attributes about which it says nothing."""
        return self._joined().words(region)

    def status(self) -> dict[str, Any]:
        """The agent's state, and what would be attached to a query now; this is not counted as a query."""
        runner = self._joined()
        return {
            "state": runner.agent.state.value,
            "guarded": runner.agent.guarded,
            "epoch": runner.agent.epoch,
            "pool_reachable": runner.reachable,
            "trouble": "" if runner.passes is None else runner.passes.trouble,
            "person": runner.words(runner.agent.region),
        }

    def app(self) -> Starlette:
        """The agent as an ASGI application with ``/region`` and ``/search``; it joins while it is served."""

        @contextlib.asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            async with self:
                yield

        return Starlette(
            routes=[
                Route("/region", self._show_region),
                Route("/search", self._search, methods=["GET", "POST"]),
            ],
            exception_handlers={InputError: _wrong, PartyUnreachableError: _away},
            lifespan=lifespan,
        )

    async def _show_region(self, _request: Request) -> Response:
        return JSONResponse(self.status(), headers=_HEADERS)

    async def _search(self, request: Request) -> Response:
        """Attach the region and pass the search on; hold it back while there is none."""
        if self.engine is None:
            return JSONResponse(
                {"error": "no search server was given; start the agent with --engine"}, 404, _HEADERS
            )
        template = self._joined().terms.template
        if request.method == "GET":
            asked: dict[str, Any] = {"query": request.query_params.get("q", "")}
        else:
            asked = await read_object(request, _LARGEST_BODY)
        region = await self.region()
        if region is None:
            why = f"held back for {self.wait:g} s: no region shared by enough people yet"
            return JSONResponse({"error": why}, 503, {**_HEADERS, "retry-after": "5"})
        asked["query"] = generalise_query(template, region, str(asked.get("query", "")))
        asked["person"] = self.describe(region)  # whatever came: only the pool says what may be known
        try:
            answer = await self._engine_http.post(self.engine, json=asked)
        except httpx.HTTPError as error:
            why = f"the search server does not answer ({type(error).__name__})"
            return JSONResponse({"error": why}, 502, _HEADERS)
        kind = answer.headers.get("content-type", "application/json")
        return Response(answer.content, answer.status_code, {**_HEADERS, "content-type": kind})


def read_record(path: str | Path) -> dict[str, object]:
    """Read a person's values from a JSON file."""
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"the record {path} is not JSON.") from error
    if not isinstance(values, dict):
        raise InputError(f"the record {path} must be a JSON object of attributes and values.")
    return values


def _content(keys: bytes | str | Path | None) -> bytes | None:
    return keys if keys is None or isinstance(keys, bytes) else Path(keys).read_bytes()


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def _wrong(_request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400, _HEADERS)


async def _away(_request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 503, _HEADERS)
