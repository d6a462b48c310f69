"""All parties of a pool in one process, over a network that shows what each of them received."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit import Agent, Pool
from tacit.pool.channel.join import Identity, JoinFile
from tacit.pool.protocol.counting import Rules
from tacit.pool.protocol.template import parse_template
from tacit.pool.protocol.tree import Tree, grow_tree
from tacit.pool.server.gateway import Gateway
from tacit.pool.server.issuer import Issuer, IssuerFile
from tacit.pool.server.relay import relay_app

__all__ = ["SMALL", "Network", "Parties", "make_join", "parties", "present", "small_tree"]

SMALL = parse_template(
    {
        "attribute": [
            {"name": "age", "low": 20, "high": 59},
            {
                "name": "place",
                "part": "query",
                "taxonomy": {"Washington": ["Redmond", "Seattle"], "Oregon": ["Salem", "Eugene"]},
            },
        ]
    }
)


def small_tree(k: int, people: float = 40.0) -> Tree:
    ages, places = np.meshgrid(np.arange(40), np.arange(4))
    records = np.stack([ages.ravel(), places.ravel()], axis=1).astype(np.uint16)
    return grow_tree(records, SMALL, k, people)


def make_join(
    folder: Path, *, k: int = 3, window: float = 20.0, issuer: bool = False, **more: Any
) -> JoinFile:
    """A join file in ``folder``, with the identities of all parties beside it."""
    names = ["pool", "gateway", *(["issuer"] if issuer else [])]
    identities = {name: Identity.kept(folder / f"{name}.secret", make=True).public for name in names}
    found = JoinFile(
        Rules(k, window, more.pop("period", 0.0)),
        more.pop("tree", None) or small_tree(k),
        40,
        more.pop("relay", "http://relay.test"),
        more.pop("pool", "http://pool.test"),
        more.pop("gateway", "http://gateway.test"),
        identities,
        "http://issuer.test" if issuer else None,
        **more,
    )
    found.write(folder / "pool.join", Identity.kept(folder / "pool.secret"), force=True)
    return found


@dataclass
class Seen:
    """A request as a party received it."""

    address: str
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def again(self) -> dict[str, Any]:
        """What sends the same once more."""
        return {"content": self.body, "headers": self.headers}


class Network(httpx.AsyncBaseTransport):
    """Leads to applications by their host name, as whoever sends from ``address``."""

    def __init__(
        self, apps: dict[str, Starlette], seen: dict[str, list[Seen]], address: str, away: set[str]
    ) -> None:
        self.apps, self.seen, self.address, self.away = apps, seen, address, away

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        if host in self.away:
            raise httpx.ConnectError("away")
        body = await request.aread()
        entry = Seen(self.address, request.method, request.url.path, dict(request.headers), body)
        self.seen.setdefault(host, []).append(entry)
        transport = httpx.ASGITransport(self.apps[host], client=(self.address, 1), raise_app_exceptions=True)
        again = httpx.Request(request.method, request.url, headers=request.headers, content=body)
        answer = await transport.handle_async_request(again)
        return httpx.Response(answer.status_code, headers=answer.headers, content=await answer.aread())


@dataclass
class Parties:
    """The parties, what each received, and ways to take part."""

    join: JoinFile
    folder: Path
    apps: dict[str, Starlette]
    seen: dict[str, list[Seen]] = field(default_factory=dict)
    away: set[str] = field(default_factory=set)
    asked: list[dict[str, Any]] = field(default_factory=list)
    """What the engine was asked."""

    def network(self, address: str) -> Network:
        return Network(self.apps, self.seen, address, self.away)

    def agent(self, number: int, record: Mapping[str, object], **options: Any) -> Agent:
        options = {"delay": 0.0, "patience": 25.0} | options
        memory = self.folder / f"memory-{number}.json"
        return Agent(self.join, record, memory=memory, transport=self.network(f"10.0.0.{number}"), **options)

    async def ask_together(
        self, records: list[dict[str, object]], query: str = "tea", **options: Any
    ) -> list[Any]:
        """Everybody asks once, each from their own address."""

        async def one(number: int, record: dict[str, object]) -> Any:
            async with self.agent(number, record, **options) as agent:
                return await agent.search(f"{query} {number}")

        asking = [one(number, record) for number, record in enumerate(records, 1)]
        return await asyncio.gather(*asking, return_exceptions=True)


async def present(agent: Agent) -> int:
    """The present period, as soon as there is one."""
    while (period := (await agent.standing())["period"]) is None:
        await asyncio.sleep(0.05)
    return int(period)


@asynccontextmanager
async def parties(folder: Path, **options: Any) -> AsyncIterator[Parties]:
    """All parties, served until the block ends."""
    ahead = options.pop("ahead", 60.0)
    parts = options.pop("parts", {})
    join = make_join(folder, **options)
    apps: dict[str, Starlette] = {}
    found = Parties(join, folder, apps)

    async def engine(request: Request) -> Response:
        found.asked.append(json.loads(await request.body()))
        return JSONResponse(
            {"results": [{"url": "http://found.test", "title": "found", "content": "x" * 300}]}
        )

    async with AsyncExitStack() as running:
        apps["engine.test"] = Starlette(routes=[Route("/search", engine, methods=["POST"])])
        gateway = Gateway(
            join,
            Identity.kept(folder / "gateway.secret"),
            "http://engine.test/search",
            transport=found.network("gateway"),
        )
        apps["gateway.test"] = gateway.app()
        if join.issuer is not None:
            file = IssuerFile(folder / "accounts.db")
            issuer = Issuer(join, Identity.kept(folder / "issuer.secret"), file, ahead=ahead)
            apps["issuer.test"] = issuer.app()
        pool = Pool(join, folder / "pool.secret")
        apps["pool.test"] = pool.app(transport=found.network("pool"), **parts)
        apps["relay.test"] = relay_app(join, transport=found.network("relay"))
        for app in apps.values():
            await running.enter_async_context(app.router.lifespan_context(app))
        yield found
