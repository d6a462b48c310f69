"""Connections that wait for the next request, looked at now and then.

Before each request all idle connections are asked whether their engines have closed them: as many calls to
the system as there are connections, for every search. What was found a moment ago is taken to hold still.
"""

from __future__ import annotations

import ssl
import time
from typing import Any

import httpcore

__all__ = ["IdleAwareStream"]

_GLANCE = 0.1
"""Seconds for which an idle connection is taken to be as it was found."""


class IdleAwareStream(httpcore.AsyncNetworkStream):
    """A connection that is not asked at every request to any engine whether its own has closed it."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._looked = 0.0
        self._found: Any = None

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What has arrived."""
        self._looked = 0.0  # an engine may close when it has answered
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send."""
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Go on encrypted."""
        return IdleAwareStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """What is known of the connection."""
        if info != "is_readable":
            return self._stream.get_extra_info(info)
        now = time.monotonic()
        if now - self._looked > _GLANCE:
            self._looked, self._found = now, self._stream.get_extra_info(info)
        return self._found
