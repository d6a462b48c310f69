"""What the servers of a pool have in common: routes and description, sealed requests, keys of one start."""

import base64
import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit import __version__
from tacit.bodies import TooLongError, TooSlowError, read_body
from tacit.errors import InputError
from tacit.pool.channel import oblivious

HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}
Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""Takes the JSON object of a request and gives that of the answer."""

Form = Mapping[str, Mapping[str, Any]]
"""What a JSON object must have: a JSON schema for each name."""

TEXT = {"type": "string", "maxLength": 512}
NAME = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
WHOLE = {"type": "integer", "minimum": 0, "maximum": 2**53}


def base64_of(most: int) -> dict[str, Any]:
    """The form of bytes in base64."""
    return {"type": "string", "contentEncoding": "base64", "maxLength": -(-most // 3) * 4}


@dataclass(frozen=True)
class Endpoint:
    """A path that takes a JSON object and answers with one; its summary is the handler's docstring."""

    path: str
    handler: Handler
    form: Form

    def check(self, given: object) -> dict[str, Any]:
        """The object, if it has what the form says and nothing else; the error repeats nothing of it."""
        if not isinstance(given, dict) or set(given) != set(self.form):
            raise InputError(f"a message to {self.path} has exactly: {', '.join(self.form) or 'nothing'}.")
        for name, rule in self.form.items():
            if not _fits(given[name], rule):
                raise InputError(f"{name!r} of a message to {self.path} is not of its form.")
        return given


def _fits(value: object, rule: Mapping[str, Any]) -> bool:
    if rule["type"] == "integer":
        return type(value) is int and rule["minimum"] <= value <= rule["maximum"]
    if rule["type"] == "object":
        return isinstance(value, dict) and len(value) <= rule["maxProperties"]
    if not isinstance(value, str) or len(value) > rule.get("maxLength", 64):
        return False
    if "pattern" in rule:
        return len(value) == 32 and set(value) <= set("0123456789abcdef")
    if "contentEncoding" in rule:
        base64.b64decode(value, validate=True)  # raises what is answered with 400, as all that makes no sense
    return True


def description(title: str, outer: Sequence[Route], inner: Sequence[Endpoint]) -> dict[str, Any]:
    """The OpenAPI 3.1 document, made from routes, their handlers' docstrings and forms of messages."""
    responses = {status: {"description": said} for status, said in _RESPONSES.items()}
    paths: dict[str, Any] = {}
    for route in outer:
        for method in sorted((route.methods or set()) - {"HEAD"}):
            said = {"summary": (route.endpoint.__doc__ or "").strip(), "responses": responses}
            paths.setdefault(route.path, {})[method.lower()] = said
    sealed = {}
    for endpoint in inner:
        form, summary = dict(endpoint.form), (endpoint.handler.__doc__ or "").strip()
        schema = {"type": "object", "properties": form, "required": [*form], "additionalProperties": False}
        body = {"required": True, "content": {"application/json": {"schema": schema}}}
        answer = {"200": {"description": summary}}
        sealed[endpoint.path] = {"post": {"summary": summary, "requestBody": body, "responses": answer}}
    found = {"openapi": "3.1.0", "info": {"title": title, "version": __version__}, "paths": paths}
    return found | ({"x-sealed-paths": sealed} if sealed else {})


_RESPONSES = {
    "200": "Done.",
    "400": "Not what is expected, or sealed for another key.",
    "408": "The body did not come in time.",
    "413": "The body is too long.",
    "415": "Another media type is expected.",
    "503": "Busy or starting; try again.",
}


def server(
    title: str,
    routes: Sequence[Route],
    *,
    inner: Sequence[Endpoint] = (),
    lifespan: Callable[[Starlette], AsyncIterator[None]],
    handlers: Mapping[type[Exception], Any] | None = None,
) -> Starlette:
    """These routes and their description at ``/openapi.json``, served while ``lifespan`` yields."""

    async def describe(_request: Request) -> Response:
        """This document."""
        return JSONResponse(description(title, every, inner), headers=HEADERS)

    every = [*routes, Route("/openapi.json", describe)]
    refusing = {InputError: _refused} | dict(handlers or {})
    return Starlette(routes=every, lifespan=asynccontextmanager(lifespan), exception_handlers=refusing)


async def _refused(_request: Request, error: Exception) -> Response:
    status = 413 if isinstance(error, TooLongError) else 408 if isinstance(error, TooSlowError) else 400
    return JSONResponse({"error": getattr(error, "problem", "")}, status, HEADERS)


async def sealed_body(request: Request, most: int) -> bytes | Response:
    """The body of a sealed request, or the refusal of what is none."""
    if oblivious.media_type(request.headers) != oblivious.REQUEST_TYPE:
        return JSONResponse({"error": f"only {oblivious.REQUEST_TYPE} is accepted"}, 415, HEADERS)
    return await read_body(request, most)


MOST_SEEN = 1 << 18
"""Sealed requests that one key opens."""


class KeyRing:
    """The keys that a server drew since its start, and the sealed requests that each opened: each once.

    Before a key's memory is full a new key takes its place, and the one before the last is forgotten, with
    all that was sealed for it.
    """

    def __init__(self) -> None:
        self._keys: list[tuple[int, str, set[bytes]]] = []
        self._add()

    def _add(self) -> None:
        last = self._keys[0][0] if self._keys else secrets.randbelow(256)
        self._keys = [((last + 1) % 256, secrets.token_hex(32), set()), *self._keys[:1]]

    def held(self) -> list[tuple[int, str]]:
        """Identifier and secret of each key, the newest first."""
        return [(identifier, secret) for identifier, secret, _ in self._keys]

    def knows(self, identifier: int, digest: bytes) -> bool:
        """Return whether this sealed request came before."""
        return any(at == identifier and digest in seen for at, _, seen in self._keys)

    def note(self, identifier: int, digest: bytes) -> bool:
        """Note a sealed request; False if it came before, or its key has gone."""
        seen = next((seen for at, _, seen in self._keys if at == identifier), None)
        if seen is None or digest in seen:
            return False
        seen.add(digest)
        if len(self._keys[0][2]) >= MOST_SEEN:
            self._add()
        return True

    async def secrets(self) -> list[tuple[int, str]]:
        """As :meth:`held`; a ring that several processes share must be asked."""
        return self.held()

    async def first_time(self, identifier: int, digest: bytes) -> bool:
        """As :meth:`note`."""
        return self.note(identifier, digest)


def opened_with(held: Sequence[tuple[int, str]], message: bytes) -> oblivious.OpenedRequest:
    """Open a sealed request with the key that it names."""
    for identifier, secret in held:
        if message[:1] == bytes([identifier]):
            return oblivious.GatewayKey(bytes.fromhex(secret), identifier).open_request(message)
    raise InputError("a sealed request names a key that is not this gateway's.", "Fetch its keys again.")


def public_keys(held: Sequence[tuple[int, str]]) -> bytes:
    """The configuration of the newest key."""
    identifier, secret = held[0]
    return oblivious.GatewayKey(bytes.fromhex(secret), identifier).configurations()


def digest_of(opened: oblivious.OpenedRequest) -> bytes:
    """Names a sealed request by the key that its sender drew for it."""
    return hashlib.blake2b(opened.enc, digest_size=16).digest()


class SealedFront:
    """Opens sealed requests for the endpoints behind it; requests, and answers, have one size each."""

    def __init__(self, keys: Any, endpoints: Sequence[Endpoint], sizes: tuple[int, int]) -> None:
        self.keys, self.sizes = keys, sizes
        self.endpoints = {endpoint.path.encode(): endpoint for endpoint in endpoints}

    async def take(self, request: Request) -> Response:
        """A sealed request (message/ohttp-req), answered by a sealed response."""
        body = await sealed_body(request, self.sizes[0] + 1_024)
        if isinstance(body, Response):
            return body
        try:
            opened = opened_with(await self.keys.secrets(), body)
        except InputError as error:
            return _problem(error.problem)
        if not await self.keys.first_time(body[0], digest_of(opened)):
            return _problem("a sealed request came a second time.")
        answer = (await self._answer(opened.data)).to_bytes(self.sizes[1])
        return Response(opened.seal_response(answer), 200, HEADERS, oblivious.RESPONSE_TYPE)

    async def _answer(self, data: bytes) -> oblivious.BinaryResponse:
        try:
            asked = oblivious.read_request(data)
            endpoint = self.endpoints.get(asked.path)
            if endpoint is None or asked.method != b"POST":
                return oblivious.BinaryResponse(404)
            said = await endpoint.handler(endpoint.check(json.loads(asked.content)))
        except (InputError, ValueError, TypeError, RecursionError):
            return oblivious.BinaryResponse(400)
        kind = ((b"content-type", b"application/json"),)
        return oblivious.BinaryResponse(200, kind, json.dumps(said).encode())


def _problem(text: str) -> Response:
    """Answer as RFC 9458, section 5.3, requires for keys."""
    content = {"type": "https://iana.org/assignments/http-problem-types#ohttp-key", "title": text}
    return JSONResponse(content, 400, HEADERS, "application/problem+json")
