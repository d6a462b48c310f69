"""The gateway of Oblivious HTTP: knows what is asked, and nothing of who (RFC 9458, section 6.3).

It opens sealed requests and asks one target, the application behind it, which never meets a client. A request
that was seen before is refused while its key lives (section 6.5): a relay that repeats one learns nothing.
"""

from __future__ import annotations

import hashlib

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tacit.bodies import TooLongError, read_body
from tacit.errors import InputError
from tacit.pool.channel.binary_http import BinaryRequest, BinaryResponse, read_request
from tacit.pool.channel.oblivious import KEYS_TYPE, REQUEST_TYPE, RESPONSE_TYPE, GatewayKey
from tacit.pool.channel.relay import LARGEST_MESSAGE, closing

__all__ = ["gateway_app"]

_PAD = 512
_REMEMBERED = 1 << 20
_KEPT = frozenset({b"content-type", b"accept", b"accept-language", b"retry-after", b"cache-control"})
_PLAIN = {"cache-control": "no-store"}


class _Gateway:
    def __init__(self, key: GatewayKey, client: httpx.AsyncClient, target: str) -> None:
        self.key, self.client, self.target = key, client, target.rstrip("/")
        self._seen: dict[bytes, None] = {}

    async def keys(self, _request: Request) -> Response:
        return Response(self.key.configurations(), 200, _PLAIN, KEYS_TYPE)

    async def open(self, request: Request) -> Response:
        if request.headers.get("content-type") != REQUEST_TYPE:
            return Response(f"a gateway takes {REQUEST_TYPE} only", 415, _PLAIN, "text/plain")
        try:
            body = await read_body(request, LARGEST_MESSAGE)
        except TooLongError as error:
            return Response(error.problem, 413, _PLAIN, "text/plain")
        try:
            opened = self.key.open_request(body)
            if self._repeated(opened.enc):
                raise InputError("a sealed request came a second time.")
        except InputError as error:
            return Response(error.problem, 400, _PLAIN, "text/plain")
        try:
            answer = await self._ask(read_request(opened.request))
        except InputError:
            answer = BinaryResponse(400)
        except httpx.HTTPError:
            answer = BinaryResponse(502)
        return Response(opened.seal_response(answer.to_bytes(_PAD)), 200, _PLAIN, RESPONSE_TYPE)

    def _repeated(self, enc: bytes) -> bool:
        digest = hashlib.blake2b(enc, digest_size=16).digest()
        if digest in self._seen:
            return True
        self._seen[digest] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return False

    async def _ask(self, request: BinaryRequest) -> BinaryResponse:
        """Ask the target, whatever authority the request names: this gateway has only one."""
        path = request.path.decode("ascii", "replace")
        if not path.startswith("/"):
            raise InputError("a path begins with a slash.")
        answer = await self.client.request(
            request.method.decode("ascii", "replace"),
            self.target + path,
            headers=[field for field in request.fields if field[0] in _KEPT],
            content=request.content,
        )
        fields = tuple((name.lower(), value) for name, value in answer.headers.raw if name.lower() in _KEPT)
        return BinaryResponse(answer.status_code, fields, answer.content)


def gateway_app(key: GatewayKey, target: str, *, app: ASGIApp | None = None) -> Starlette:
    """A gateway before one target.

    Args:
        target: the address of what is asked, without a path.
        app: the application itself, where it runs in this process; it is then asked without a network.
    """
    transport = httpx.ASGITransport(app) if app is not None else None
    client = httpx.AsyncClient(transport=transport, timeout=30, follow_redirects=False, trust_env=False)
    gateway = _Gateway(key, client, target)
    routes = [Route("/", gateway.keys, methods=["GET"]), Route("/", gateway.open, methods=["POST"])]
    return Starlette(routes=routes, lifespan=closing(client))
