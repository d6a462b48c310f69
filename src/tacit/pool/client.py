"""Speaking to a pool over HTTP, through whatever channel the given client uses.

The client is an ``httpx.AsyncClient``: a direct one, one with a SOCKS proxy, or one with a transport of its
own. No cookie, no name and nothing that lasts is sent: two requests of one person look like those of two.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tacit.errors import InputError, TacitError
from tacit.pool.protocol import VERSION, FirstMessage, Reply, Rules, SecondMessage
from tacit.pool.table import Table
from tacit.pool.template import Template, parse_template

if TYPE_CHECKING:
    import httpx

__all__ = ["Announcement", "PoolClient", "PoolUnreachableError", "Terms"]

_HEADERS = {"user-agent": "tacit-pool-agent", "accept": "application/json"}


class PoolUnreachableError(TacitError):
    """The pool does not answer, or not as a pool does."""


@dataclass(frozen=True)
class Terms:
    """What a pool promises, and the template it means."""

    rules: Rules
    template: Template
    relay: str | None = None
    """The relay that takes second messages; where there is none, the pool does itself."""


@dataclass(frozen=True)
class Announcement:
    """Where the pool stands, as it is broadcast."""

    epoch: int
    phase: str
    asked: tuple[int, ...] = ()
    ends_in: float = field(default=math.inf, compare=False)
    """Seconds until the phase ends, as far as the agent was told."""


class PoolClient:
    """One agent's view of a pool's HTTP API.

    Args:
        address: the pool's, such as ``https://pool.example``.
        http: how to reach it.
        streaming: the channel carries server-sent events; otherwise the standing is asked for now and then.
        every: seconds between two such questions, at most.
    """

    def __init__(
        self, address: str, http: httpx.AsyncClient, *, streaming: bool = True, every: float = 1.0
    ) -> None:
        self._address = address.rstrip("/")
        self._http = http
        self._streaming = streaming
        self.every = every

    async def _get(self, path: str) -> httpx.Response:
        import httpx

        try:
            answer = await self._http.get(self._address + path, headers=_HEADERS)
        except httpx.HTTPError as error:
            raise PoolUnreachableError(f"the pool does not answer ({type(error).__name__}).") from error
        if answer.status_code != 200:
            raise PoolUnreachableError(f"the pool answered {answer.status_code}.")
        return answer

    async def terms(self) -> Terms:
        """The pool's rules and template."""
        given = (await self._get("/v1/pool")).json()
        try:
            if given["version"] != VERSION:
                raise InputError(f"the pool speaks version {given['version']}; this agent speaks {VERSION}.")
            relay = given.get("relay")
            rules = Rules(**given["rules"])
            self.every = min(self.every, rules.count / 4, rules.identify / 4)
            return Terms(
                rules,
                parse_template(given["template"]),
                None if relay is None else str(relay).rstrip("/"),
            )
        except (KeyError, TypeError) as error:
            raise InputError("the pool's terms cannot be read.") from error

    async def table(self, template: Template) -> tuple[Table, str, float, float]:
        """The table, the key to seal for, how long it lasts, and when it was asked for (monotonic)."""
        begun = time.monotonic()
        answer = await self._get("/v1/table")
        try:
            given = answer.json()
            table = Table.parse(given["table"], template)
            return table, str(given["public_key"]), float(given["expires_in"]), begun
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("the pool's table cannot be read.") from error

    async def send(self, message: FirstMessage | SecondMessage) -> Reply | None:
        """Send a message; what the pool does with it, or None if it is busy or does not answer."""
        import httpx

        path = "/v1/first" if isinstance(message, FirstMessage) else "/v1/second"
        try:
            answer = await self._http.post(self._address + path, json=message.as_dict(), headers=_HEADERS)
            return Reply(answer.json()["reply"])
        except (httpx.HTTPError, ValueError, KeyError):
            return None

    async def follow(self) -> AsyncGenerator[Announcement, None]:
        """Where the pool stands, now and whenever it changes; ends when the pool is gone."""
        if self._streaming:
            async for announcement in self._stream():
                yield announcement
            return
        last = None
        while True:
            given = (await self._get("/v1/standing")).json()
            announcement = _announcement(given)
            if announcement != last:
                last = announcement
                yield announcement
            await asyncio.sleep(self.every * random.uniform(0.7, 1.3))

    async def _stream(self) -> AsyncGenerator[Announcement, None]:
        import httpx

        timeout = httpx.Timeout(10.0, read=40.0)
        try:
            async with self._http.stream(
                "GET", self._address + "/v1/events", headers=_HEADERS, timeout=timeout
            ) as answer:
                if answer.status_code != 200:
                    raise PoolUnreachableError(f"the pool answered {answer.status_code}.")
                async for line in answer.aiter_lines():
                    if line.startswith("data: "):
                        yield _announcement(json.loads(line[6:]))
        except (httpx.HTTPError, ValueError) as error:
            raise PoolUnreachableError(f"the pool's broadcast ended ({type(error).__name__}).") from error


def _announcement(given: Any) -> Announcement:
    try:
        return Announcement(
            int(given["epoch"]),
            str(given["phase"]),
            tuple(given.get("asked", ())),
            float(given.get("ends_in", math.inf)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("the pool's announcement cannot be read.") from error
