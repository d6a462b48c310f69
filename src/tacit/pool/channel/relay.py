"""The relay of Oblivious HTTP: knows who asks, and nothing of what (RFC 9458, section 6.2).

It passes sealed requests on to the one gateway it was set up for, over connections of its own. It adds
nothing about who sent them (no ``Forwarded``, no cookie, no header of the client's), and writes nothing down.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.bodies import TooLongError, read_body
from tacit.pool.channel.oblivious import KEYS_TYPE, REQUEST_TYPE, RESPONSE_TYPE

__all__ = ["LARGEST_MESSAGE", "closing", "relay_app"]

LARGEST_MESSAGE = 1 << 20
_SECONDS = 30.0
_PLAIN = {"cache-control": "no-store"}


def relay_app(
    gateway: str | None,
    *,
    transport: httpx.AsyncBaseTransport | None = None,
    batches: Sequence[Route] = (),
) -> Starlette:
    """A relay for one gateway.

    Args:
        gateway: the address that takes sealed requests; ``GET`` of the same address gives its keys. None for
            a relay that keeps sealed records and passes nothing on.
        transport: how the gateway is reached.
        batches: the routes of a relay that keeps sealed records (:mod:`tacit.pool.channel.batch_routes`).
    """
    client = httpx.AsyncClient(transport=transport, timeout=_SECONDS, follow_redirects=False, trust_env=False)

    async def keys(_request: Request) -> Response:
        assert gateway is not None
        return await _answer(client.get(gateway, headers={"accept": KEYS_TYPE}), KEYS_TYPE)

    async def forward(request: Request) -> Response:
        if request.headers.get("content-type") != REQUEST_TYPE:
            return Response(f"a relay takes {REQUEST_TYPE} only", 415, _PLAIN, "text/plain")
        try:
            body = await read_body(request, LARGEST_MESSAGE)
        except TooLongError as error:
            return Response(error.problem, 413, _PLAIN, "text/plain")
        assert gateway is not None
        headers = {"content-type": REQUEST_TYPE, "user-agent": "tacit-relay"}
        return await _answer(client.post(gateway, content=body, headers=headers), RESPONSE_TYPE)

    passing = [Route("/", keys, methods=["GET"]), Route("/", forward, methods=["POST"])]
    routes = [*batches, *(passing if gateway is not None else [])]
    return Starlette(routes=routes, lifespan=closing(client))


def closing(client: httpx.AsyncClient) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """A lifespan that closes the client's connections when the application ends."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with client:
            yield

    return lifespan


async def _answer(asked: object, expected: str) -> Response:
    """The gateway's answer, if it is of the kind expected; its other headers stay behind."""
    try:
        answer: httpx.Response = await asked  # type: ignore[misc]
    except httpx.HTTPError:
        return Response("the gateway cannot be reached", 502, _PLAIN, "text/plain")
    if answer.status_code != 200 or answer.headers.get("content-type") != expected:
        status = answer.status_code if 400 <= answer.status_code < 500 else 502
        return Response("the gateway refused", status, _PLAIN, "text/plain")
    return Response(answer.content, 200, _PLAIN, expected)
