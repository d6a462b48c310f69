"""A relay's routes for sealed records: agents bring them, the pool fetches batches.

Only the pool may fetch (:mod:`tacit.pool.batches`), by a secret that it shares with the relay: a stranger
could not open a batch, but could close announcements too early. Nothing is written down.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.bodies import read_object
from tacit.errors import InputError
from tacit.pool.batches import BatchKeeper, SealedMessage, checked_digest
from tacit.pool.pass_client import PassGate
from tacit.pool.protocol import VERSION, Reply

__all__ = ["batch_routes"]

_LARGEST_MESSAGE = 16_384
_LARGEST_QUESTION = 8 << 20
_STATUS = {Reply.GONE: 410, Reply.REFUSED: 403, Reply.FULL: 503}
_HEADERS = {"cache-control": "no-store"}


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
        try:
            message = SealedMessage.parse(await read_object(request, _LARGEST_MESSAGE))
        except InputError as error:
            return JSONResponse({"error": str(error)}, 422, _HEADERS)
        if gate is None or await gate.admits(message.admission, message.announcement):
            reply = keeper.take(message, clock())
        else:
            reply = Reply.REFUSED
        return JSONResponse({"reply": reply.value}, _STATUS.get(reply, 200), _HEADERS)

    async def hand_over(request: Request) -> Response:
        shown = request.headers.get("authorization", "").encode()
        if not hmac.compare_digest(shown, f"Bearer {secret}".encode()):
            return JSONResponse({"error": "only the pool fetches batches"}, 401, _HEADERS)
        try:
            given = (await read_object(request, _LARGEST_QUESTION)).get("announcements")
            if not isinstance(given, list):
                raise InputError("a question for batches names announcements.")
            announcements = [checked_digest(each) for each in given]
        except InputError as error:
            return JSONResponse({"error": str(error)}, 422, _HEADERS)
        batches = keeper.hand_over(announcements, clock())
        return JSONResponse({"version": VERSION, "batches": batches}, headers=_HEADERS)

    return [
        Route("/v1/relay", promise),
        Route("/v1/sealed", take, methods=["POST"]),
        Route("/v1/batches", hand_over, methods=["POST"]),
    ]
