"""Bodies of requests, read within limits, and errors that repeat nothing of them."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request

from tacit.errors import InputError

__all__ = ["read_object"]


async def read_object(request: Request, most: int) -> dict[str, Any]:
    """The request's JSON object of at most ``most`` bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise InputError(f"a message has at most {most:,} bytes.")
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InputError("a message must be JSON.") from error
    if not isinstance(given, dict):
        raise InputError("a message must be a JSON object.")
    return given
