"""Read the bodies of requests to Tacit's servers within limits; errors repeat nothing of them.

Bodies that come slowly, or are long, cannot keep a server from others: only so many, and so many bytes, are
read at a time, and more end the oldest.
"""

import asyncio
import json
from typing import TYPE_CHECKING, Any

from tacit.errors import InputError

if TYPE_CHECKING:
    from starlette.requests import Request


class TooLongError(InputError):
    """A body beyond its limit; the rest of it was not read."""


class TooSlowError(InputError):
    """A body that did not come in time."""


_SECONDS = 10.0
_AT_A_TIME = 1_000
_BYTES_AT_A_TIME = 256 << 20
_READING: dict[asyncio.Timeout, int] = {}
"""The bodies being read, oldest first, and how many bytes of each have come."""


async def read_body(request: "Request", most: int) -> bytes:
    """The request's body of at most ``most`` bytes."""
    body, limit = bytearray(), asyncio.timeout(_SECONDS)
    try:
        async with limit:
            _READING[limit] = 0
            _make_room()
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise TooLongError(f"a message has at most {most:,} bytes.")
                if limit in _READING:
                    _READING[limit] = len(body)
                    _make_room()
    except TimeoutError as error:
        raise TooSlowError("a message must come within a few seconds.") from error
    finally:
        _READING.pop(limit, None)
    return bytes(body)


def _make_room() -> None:
    """End the oldest bodies while too much is being read."""
    while len(_READING) > _AT_A_TIME or sum(_READING.values()) > _BYTES_AT_A_TIME:
        oldest = next(iter(_READING))
        del _READING[oldest]
        oldest.reschedule(asyncio.get_running_loop().time())


async def read_object(request: "Request", most: int) -> dict[str, Any]:
    """The request's JSON object of at most ``most`` bytes."""
    try:
        given = json.loads(await read_body(request, most))
    except (ValueError, RecursionError) as error:
        raise InputError("a message must be JSON.") from error
    if not isinstance(given, dict):
        raise InputError("a message must be a JSON object.")
    return given
