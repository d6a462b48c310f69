"""The parties beside a pool over HTTP: relay and gateway of Oblivious HTTP, keeper of batches, issuer.

A **relay** (RFC 9458, section 6.2) sees who asks and nothing of what: it passes sealed requests on to one
gateway, over connections of its own, and adds nothing about who sent them. A **gateway** (section 6.3) sees
what is asked and not by whom: it opens sealed requests and asks the one application behind it; a request that
was seen before is refused while its key lives (section 6.5). A relay may also keep **sealed records** for a
pool, which fetches batches with a shared secret, and an **issuer** gives each account one blind signature a
period. Nothing is logged.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tacit.bodies import TooLongError, read_body, read_object
from tacit.errors import InputError, ParameterError, TacitError
from tacit.files import atomic_file, check_output
from tacit.pool.channel import oblivious
from tacit.pool.channel.secret_files import kept_secret
from tacit.pool.protocol.batches import (
    AdmissionPass,
    BatchKeeper,
    PassIssuer,
    PassVerifier,
    SealedMessage,
    issued_key,
)
from tacit.pool.protocol.messages import VERSION, Reply, checked_field

LARGEST_MESSAGE = 1 << 20
_SECONDS = 30.0
_HEADERS = {"cache-control": "no-store"}


_PAUSE = 1.0
"""Seconds between two requests for the issuer's key, at least."""


class PassGate:
    """A relay's check of passes, with the issuer's key fetched when a period begins.

    Args:
        address: the issuer's.
    """

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self._verifier = PassVerifier()
        self._asked = float("-inf")
        self._lock = asyncio.Lock()

    async def admits(self, shown: AdmissionPass | None, announcement: str) -> bool:
        """Does the pass admit its message? Each does so once."""
        if shown is None:
            return False
        async with self._lock:
            now = time.monotonic()
            if self._verifier.stale(now, shown.period) and now - self._asked >= _PAUSE:
                self._asked = now
                with suppress(TacitError):  # the keys that are known go on
                    async with httpx.AsyncClient(trust_env=False, timeout=5.0) as http:  # once a period
                        self._verifier.learn(await issued_key(self.address, http), time.monotonic())
        return self._verifier.spend(shown, announcement)


def relay_app(
    gateway: str | None = None,
    *,
    k: int | None = None,
    secret: str | Path | None = None,
    issuer: str | None = None,
    hold: float = 60.0,
    transport: httpx.AsyncBaseTransport | None = None,
    batches: Sequence[Route] = (),
) -> Starlette:
    """Make a relay: it passes sealed requests on to a gateway, keeps sealed records for a pool, or both.

    Args:
        gateway: the address that takes sealed requests; ``GET`` of the same address gives its keys.
        k: keep sealed records, and hand over batches of at least so many.
        secret: with `k`, the file with the secret that the pool must show; made where there is none.
        issuer: with `k`, take records with a pass of this issuer only; anybody is admitted without one.
        hold: with `k`, for how many seconds sealed records are kept at most.
        transport: how the gateway is reached.
        batches: the routes over a keeper of one's own (:func:`batch_routes`), in place of `k`.
    """
    if gateway is None and k is None and not batches:
        raise ParameterError(
            "a relay needs something to do.",
            "Give `gateway` to pass Oblivious HTTP on, `k` to keep sealed records, or both.",
        )
    if (k is None) != (secret is None):
        raise ParameterError("`k` and `secret` belong together.", "Give both, or neither.")
    if k is not None and secret is not None:
        keeper = BatchKeeper(k, time.monotonic(), hold=hold)
        gate = None if issuer is None else PassGate(issuer)
        batches = batch_routes(keeper, kept_secret(Path(secret)), gate=gate)
    client = httpx.AsyncClient(transport=transport, timeout=_SECONDS, follow_redirects=False, trust_env=False)

    async def keys(_request: Request) -> Response:
        assert gateway is not None
        return await _answer(
            client.get(gateway, headers={"accept": oblivious.KEYS_TYPE}), oblivious.KEYS_TYPE
        )

    async def forward(request: Request) -> Response:
        body = await _sealed_body(request)
        if isinstance(body, Response):
            return body
        assert gateway is not None
        headers = {"content-type": oblivious.REQUEST_TYPE, "user-agent": "tacit-relay"}
        return await _answer(client.post(gateway, content=body, headers=headers), oblivious.RESPONSE_TYPE)

    passing = [Route("/", keys, methods=["GET"]), Route("/", forward, methods=["POST"])]
    routes = [*batches, *(passing if gateway is not None else [])]
    return Starlette(routes=routes, lifespan=closing(client), exception_handlers={InputError: _malformed})


def closing(client: httpx.AsyncClient) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """A lifespan that closes the client's connections when the application ends."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with client:
            yield

    return lifespan


async def _sealed_body(request: Request) -> bytes | Response:
    """The body of a sealed request, or the refusal of what is none."""
    if request.headers.get("content-type") != oblivious.REQUEST_TYPE:
        return Response(f"only {oblivious.REQUEST_TYPE} is accepted", 415, _HEADERS, "text/plain")
    try:
        return await read_body(request, LARGEST_MESSAGE)
    except TooLongError as error:
        return Response(error.problem, 413, _HEADERS, "text/plain")


async def _malformed(_request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 422, _HEADERS)


async def _answer(asked: object, expected: str) -> Response:
    """The gateway's answer, if it is of the kind expected; its other headers stay behind."""
    try:
        answer: httpx.Response = await asked  # type: ignore[misc]
    except httpx.HTTPError:
        return Response("the gateway cannot be reached", 502, _HEADERS, "text/plain")
    if answer.status_code != 200 or answer.headers.get("content-type") != expected:
        status = answer.status_code if 400 <= answer.status_code < 500 else 502
        return Response("the gateway refused", status, _HEADERS, "text/plain")
    return Response(answer.content, 200, _HEADERS, expected)


_PAD = 512
_REMEMBERED = 1 << 20
_KEPT = frozenset({b"content-type", b"accept", b"accept-language", b"retry-after", b"cache-control"})


class _Gateway:
    def __init__(self, key: oblivious.GatewayKey, client: httpx.AsyncClient, target: str) -> None:
        self.key, self.client, self.target = key, client, target.rstrip("/")
        self._seen: dict[bytes, None] = {}

    async def keys(self, _request: Request) -> Response:
        return Response(self.key.configurations(), 200, _HEADERS, oblivious.KEYS_TYPE)

    async def open(self, request: Request) -> Response:
        body = await _sealed_body(request)
        if isinstance(body, Response):
            return body
        try:
            opened = self.key.open_request(body)
            if self._repeated(opened.enc):
                raise InputError("a sealed request came a second time.")
        except InputError as error:
            return Response(error.problem, 400, _HEADERS, "text/plain")
        try:
            answer = await self._ask(oblivious.read_request(opened.data))
        except InputError:
            answer = oblivious.BinaryResponse(400)
        except httpx.HTTPError:
            answer = oblivious.BinaryResponse(502)
        return Response(opened.seal_response(answer.to_bytes(_PAD)), 200, _HEADERS, oblivious.RESPONSE_TYPE)

    def _repeated(self, enc: bytes) -> bool:
        digest = hashlib.blake2b(enc, digest_size=16).digest()
        if digest in self._seen:
            return True
        self._seen[digest] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return False

    async def _ask(self, request: oblivious.BinaryRequest) -> oblivious.BinaryResponse:
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
        return oblivious.BinaryResponse(answer.status_code, fields, answer.content)


def gateway_key(
    key: str | Path | None = None, write_keys: str | Path | None = None, *, force: bool = False
) -> oblivious.GatewayKey:
    """Read or make a gateway's key, and write its public part for people to get elsewhere than a relay.

    Args:
        key: the file with the secret key; made where there is none. Without it the key is a new one.
        write_keys: where to write the public keys; a file that has them already stays as it is.
        force: replace a file at `write_keys` that holds something else.
    """
    own = oblivious.GatewayKey(None if key is None else bytes.fromhex(kept_secret(Path(key))))
    public = own.configurations()
    if write_keys is None or (Path(write_keys).is_file() and Path(write_keys).read_bytes() == public):
        return own
    check_output(Path(write_keys), force=force, inputs=[] if key is None else [Path(key)])
    with atomic_file(Path(write_keys)) as temporary:
        temporary.write_bytes(public)
    return own


def gateway_app(key: oblivious.GatewayKey, target: str, *, app: ASGIApp | None = None) -> Starlette:
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


_LARGEST_MESSAGE = 16_384
_LARGEST_REQUEST = 8 << 20
_STATUS = {Reply.GONE: 410, Reply.REFUSED: 403, Reply.FULL: 503}


def batch_routes(
    keeper: BatchKeeper,
    secret: str,
    clock: Callable[[], float] = time.monotonic,
    gate: PassGate | None = None,
) -> list[Route]:
    """The routes over a keeper.

    Args:
        secret: what the pool must show to fetch batches.
        gate: checks the passes without which no record is taken; without a gate anybody is admitted.
        clock: the same that told the keeper when it began.
    """

    async def promise(_request: Request) -> Response:
        issuer = None if gate is None else gate.address
        said = {"version": VERSION, "k": keeper.least, "hold": keeper.hold, "issuer": issuer}
        return JSONResponse(said, headers=_HEADERS)

    async def take(request: Request) -> Response:
        message = SealedMessage.parse(await read_object(request, _LARGEST_MESSAGE))
        if gate is None or await gate.admits(message.admission, message.announcement):
            reply = keeper.take(message, clock())
        else:
            reply = Reply.REFUSED
        return JSONResponse({"reply": reply.value}, _STATUS.get(reply, 200), _HEADERS)

    async def hand_over(request: Request) -> Response:
        shown = request.headers.get("authorization", "").encode()
        if not hmac.compare_digest(shown, f"Bearer {secret}".encode()):
            return JSONResponse({"error": "only the pool fetches batches"}, 401, _HEADERS)
        given = (await read_object(request, _LARGEST_REQUEST)).get("announcements")
        if not isinstance(given, list):
            raise InputError("a request for batches names announcements.")
        announcements = [checked_field("announcement", each) for each in given]
        batches = keeper.hand_over(announcements, clock())
        return JSONResponse({"version": VERSION, "batches": batches}, headers=_HEADERS)

    return [
        Route("/v1/relay", promise),
        Route("/v1/sealed", take, methods=["POST"]),
        Route("/v1/batches", hand_over, methods=["POST"]),
    ]


_LARGEST = 4_096
_ISSUER_STATUS = {Reply.ACCEPTED: 200, Reply.REFUSED: 401, Reply.GONE: 410, Reply.REPEATED: 409}


def issuer_app(issuer: PassIssuer, clock: Callable[[], float] = time.time) -> Starlette:
    """The application. Nothing is written down; who has had a pass is forgotten with the period."""

    async def present(_request: Request) -> Response:
        issued = await run_in_threadpool(issuer.present, clock())
        return JSONResponse({"version": VERSION} | issued.as_dict(), headers=_HEADERS)

    async def sign(request: Request) -> Response:
        secret = request.headers.get("authorization", "").removeprefix("Bearer ")
        given = await read_object(request, _LARGEST)
        period, blinded = given.get("period"), given.get("blinded")
        if type(period) is not int or not isinstance(blinded, str):
            raise InputError("a request for a pass has a period and a blinded token.")
        try:
            request_bytes = base64.b64decode(blinded, validate=True)
        except ValueError as error:
            raise InputError("a blinded token is sent in base64.") from error
        reply, signed = await run_in_threadpool(issuer.sign, secret, period, request_bytes, clock())
        said = {"reply": reply.value, "signed": base64.b64encode(signed).decode()}
        return JSONResponse(said, _ISSUER_STATUS[reply], _HEADERS)

    return Starlette(
        routes=[Route("/v1/issuer", present), Route("/v1/passes", sign, methods=["POST"])],
        exception_handlers={InputError: _malformed},
    )
