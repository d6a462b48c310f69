"""An issuer over HTTP: its key of the period, and one blind signature a period for each account."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.bodies import read_object
from tacit.errors import InputError
from tacit.pool.admission import PassIssuer
from tacit.pool.protocol import VERSION, Reply

__all__ = ["issuer_app"]

_LARGEST = 4_096
_STATUS = {Reply.ACCEPTED: 200, Reply.REFUSED: 401, Reply.GONE: 410, Reply.REPEATED: 409}
_HEADERS = {"cache-control": "no-store"}


def issuer_app(issuer: PassIssuer, clock: Callable[[], float] = time.time) -> Starlette:
    """The application. Nothing is written down; who has had a pass is forgotten with the period."""

    async def present(_request: Request) -> Response:
        issued = await run_in_threadpool(issuer.present, clock())
        return JSONResponse({"version": VERSION} | issued.as_dict(), headers=_HEADERS)

    async def sign(request: Request) -> Response:
        secret = request.headers.get("authorization", "").removeprefix("Bearer ")
        try:
            given = await read_object(request, _LARGEST)
            period, blinded = given.get("period"), given.get("blinded")
            if type(period) is not int or not isinstance(blinded, str):
                raise InputError("a question for a pass has a period and a blinded token.")
            request_bytes = base64.b64decode(blinded, validate=True)
            reply, signed = await run_in_threadpool(issuer.sign, secret, period, request_bytes, clock())
        except InputError as error:
            return JSONResponse({"error": str(error)}, 422, _HEADERS)
        except ValueError:
            return JSONResponse({"error": "a blinded token is sent in base64"}, 422, _HEADERS)
        said = {"reply": reply.value, "signed": base64.b64encode(signed).decode()}
        return JSONResponse(said, _STATUS[reply], _HEADERS)

    return Starlette(
        routes=[Route("/v1/issuer", present), Route("/v1/passes", sign, methods=["POST"])],
    )
