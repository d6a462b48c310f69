"""Carries a request to an engine and brings its answer, within limits; what leaves is recorded before.

Every transmission is recorded, retries included: a request that is sent twice was seen twice. A redirect
is followed only to the same host, since any other would learn the query without standing in the ledger.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from urllib.parse import urljoin, urlsplit

import anyio

from tacit.errors import InputError
from tacit.web.engines.addresses import NotReachedError
from tacit.web.engines.connection import AnswerRefusedError, BrokenOffError, EngineResponse
from tacit.web.engines.connections import EngineConnections, origin_of
from tacit.web.engines.interface import Answer, EngineDescription, Outgoing, Upstream, outgoing_request

Recorder = Callable[[str, Outgoing], Awaitable[Callable[[], Awaitable[None]]]]
"""Told an engine's name and a request before it leaves; gives what to call if it never left after all."""

_QUICKLY_READ = 100_000
"""Bytes of an answer that are read at once: handing them to another thread would take longer."""

_AGAIN = {429, 502, 503, 504}


@dataclass(frozen=True)
class Limits:
    """What one answer may take."""

    body: int = 4_000_000
    """Bytes of an answer."""
    attempts: int = 3
    redirects: int = 3
    first_pause: float = 0.2
    """Seconds before the second attempt; each further pause is twice as long, with some chance in it."""
    rest: float = 30.0
    """Seconds for which an engine that failed :attr:`failures` times in a row is left alone, doubling."""
    longest_rest: float = 600.0
    failures: int = 3


class _RefusedError(Exception):
    """The answer cannot be used; says why and what to do."""

    def __init__(self, problem: str, remedy: str = "", *, again: bool = False, pause: float = 0.0) -> None:
        super().__init__(problem)
        self.problem, self.remedy, self.again, self.pause = problem, remedy, again, pause


@dataclass
class _Health:
    failures: int = 0
    until: float = 0.0


async def _record_nothing(_engine: str, _request: Outgoing) -> Callable[[], Awaitable[None]]:
    async def nothing() -> None:
        return None

    return nothing


class Courier:
    """Keeps connections to engines, and leaves those alone that fail."""

    def __init__(self, limits: Limits | None = None, proxy: str | None = None) -> None:
        self.limits = limits or Limits()
        self._connections = EngineConnections(proxy)
        self._health: dict[str, _Health] = {}

    async def close(self) -> None:
        """Close all connections."""
        await self._connections.close()

    async def ask(
        self,
        engine: EngineDescription,
        upstream: Upstream,
        request: Outgoing,
        record: Recorder = _record_nothing,
    ) -> Answer:
        """The engine's answer; one that says what is wrong where there is none. Never raises for it."""
        health = self._health.setdefault(engine.name, _Health())
        begun = time.monotonic()
        if begun < health.until:
            return Answer(
                engine.name,
                problem=f"it failed {health.failures} times in a row and is left alone for a while.",
                remedy=f"It is asked again in {health.until - begun:.0f} seconds.",
            )
        try:
            async with asyncio.timeout(engine.timeout):
                body, content_type = await self._attempts(engine, request, record)
            if len(body) > _QUICKLY_READ:
                results = await anyio.to_thread.run_sync(upstream.read, body, content_type)
            else:
                results = upstream.read(body, content_type)
        except TimeoutError:
            refusal = _RefusedError(
                f"it did not answer within {engine.timeout:g} seconds.", "Try again, or turn it off."
            )
        except _RefusedError as error:
            refusal = error
        except ValueError:
            refusal = _RefusedError(
                "its answer is not of the form that was expected.",
                "Check its kind, its address and its settings.",
            )
        else:
            health.failures = 0
            spent = (time.monotonic() - begun) * 1000
            return Answer(engine.name, tuple(results), spent)
        health.failures += 1
        if health.failures >= self.limits.failures:
            rest = self.limits.rest * 2.0 ** (health.failures - self.limits.failures)
            health.until = time.monotonic() + min(rest, self.limits.longest_rest)
        spent = (time.monotonic() - begun) * 1000
        return Answer(engine.name, (), spent, refusal.problem, refusal.remedy)

    async def _attempts(
        self, engine: EngineDescription, request: Outgoing, record: Recorder
    ) -> tuple[bytes, str]:
        pause = self.limits.first_pause
        for attempt in range(1, self.limits.attempts + 1):
            try:
                return await self._followed(engine, request, record)
            except _RefusedError as error:
                if not error.again or attempt == self.limits.attempts:
                    raise
                await anyio.sleep(max(error.pause, pause * random.uniform(0.5, 1.5)))
                pause *= 2
        raise AssertionError("unreachable")

    async def _followed(
        self, engine: EngineDescription, request: Outgoing, record: Recorder
    ) -> tuple[bytes, str]:
        for _ in range(self.limits.redirects + 1):
            answer = await self._once(engine, request, record)
            if answer.status not in {301, 302, 303, 307, 308}:
                return _usable(*answer)
            request = _redirected(request, answer.headers.get("location", ""), answer.status)
        raise _RefusedError("it redirects in circles.", "Check its address.")

    async def _once(self, engine: EngineDescription, request: Outgoing, record: Recorder) -> EngineResponse:
        """One transmission: recorded, sent, and its answer read up to the limit."""
        never_left = await record(engine.name, request)
        left = False
        try:
            wire = request.wire()
            origin = origin_of(request.url, may_be_local=engine.local)
            async with self._connections.one_to(origin) as connection:
                left = True
                return await connection.exchange(wire, self.limits.body)
        except NotReachedError as error:
            raise _RefusedError(error.problem, error.remedy, again=not error.final) from error
        except AnswerRefusedError as error:
            raise _RefusedError(error.problem) from error
        except BrokenOffError as error:
            raise _RefusedError(
                "it broke off, or does not speak HTTP.", "Check its address.", again=True
            ) from error
        finally:
            if not left:
                with anyio.CancelScope(shield=True):
                    await never_left()


def _usable(status: int, headers: dict[str, str], body: bytes) -> tuple[bytes, str]:
    if status == 200:
        return body, headers.get("content-type", "")
    if status in _AGAIN:
        wait = headers.get("retry-after", "0")
        pause = float(wait) if wait.isdigit() else 0.0
        said = "it asks for fewer requests (429)." if status == 429 else f"it is out of order ({status})."
        raise _RefusedError(said, "Wait a little.", again=pause < 2, pause=pause)
    if status in {401, 403}:
        raise _RefusedError(
            f"it refuses the request ({status}).", "SearXNG: allow the format json in its settings."
        )
    raise _RefusedError(f"it answers with the status {status}.", "Check its address.")


def _redirected(request: Outgoing, location: str, status: int) -> Outgoing:
    """The request after a redirect, if it leads to the same host."""
    try:
        url = urljoin(request.url, location)
        old, new = urlsplit(request.url), urlsplit(url)
        ports = [part.port or {"http": 80, "https": 443}.get(part.scheme) for part in (old, new)]
    except ValueError as error:
        raise _RefusedError("it redirects to no address.", "Check its address.") from error
    upgraded = (old.scheme, new.scheme) == ("http", "https") and ports == [80, 443]
    same = old.scheme == new.scheme and ports[0] == ports[1]
    if not location or old.hostname != new.hostname or not (same or upgraded):
        raise _RefusedError(
            "it redirects to another host, which was not followed: that host would learn your query.",
            "If it has moved, change its address.",
        )
    try:
        moved = outgoing_request("GET", url)
    except InputError as error:  # spaces, or letters that no address has
        raise _RefusedError("it redirects to no address.", "Check its address.") from error
    if status in {307, 308} or request.method == "GET":
        return replace(request, url=moved.url, headers=(moved.headers[0], *request.headers[1:]))
    return moved
