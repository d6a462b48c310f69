"""Read the bodies of requests to Tacit's servers within limits; errors repeat nothing of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Protocol

from tacit.errors import InputError


class Request(Protocol):
    """A request whose body arrives in parts, such as Starlette's."""

    def stream(self) -> AsyncIterator[bytes]:
        """The parts."""
        ...


class TooLongError(InputError):
    """A body beyond its limit; the rest of it was not read."""


async def read_body(request: Request, most: int) -> bytes:
    """The request's body of at most ``most`` bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise TooLongError(f"a message has at most {most:,} bytes.")
    return bytes(body)


async def read_object(request: Request, most: int) -> dict[str, Any]:
    """The request's JSON object of at most ``most`` bytes."""
    try:
        given = json.loads(await read_body(request, most))
    except (ValueError, RecursionError) as error:
        raise InputError("a message must be JSON.") from error
    if not isinstance(given, dict):
        raise InputError("a message must be a JSON object.")
    return given
