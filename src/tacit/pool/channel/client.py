"""Oblivious HTTP for any httpx client: a transport that seals each request and sends it through a relay.

Requests are padded, so that their length tells little, and each is sealed with a key of its own, so that the
gateway cannot tell two requests of one person from two of two.
"""

from __future__ import annotations

import asyncio

import httpx

from tacit.errors import InputError
from tacit.pool.channel.binary_http import BinaryRequest, read_response
from tacit.pool.channel.oblivious import (
    KEYS_TYPE,
    REQUEST_TYPE,
    RESPONSE_TYPE,
    KeyConfiguration,
    read_key_configurations,
    seal_request,
)

__all__ = ["ObliviousTransport"]

_PAD = 512
_SENT = frozenset({b"content-type", b"accept", b"accept-language"})


class ObliviousTransport(httpx.AsyncBaseTransport):
    """Sends requests through a relay to the gateway behind it.

    Args:
        relay: the relay's address.
        keys: the gateway's key configurations, got from elsewhere. Otherwise they are fetched through the
            relay, which could then hand out a key of its own: get them from elsewhere when the relay is not
            trusted with that.
        through: how the relay is reached.
    """

    def __init__(
        self, relay: str, *, keys: bytes | None = None, through: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._relay = relay
        self._keys = read_key_configurations(keys) if keys is not None else None
        self._lock = asyncio.Lock()
        self._client = httpx.AsyncClient(
            transport=through, timeout=30, follow_redirects=False, trust_env=False
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Seal, send, open."""
        target = request.url
        sealed = seal_request(
            await self._key(),
            BinaryRequest(
                request.method.encode(),
                target.scheme.encode(),
                target.netloc,
                target.raw_path,
                tuple((name.lower(), value) for name, value in request.headers.raw if name.lower() in _SENT),
                await request.aread(),
            ).to_bytes(_PAD),
        )
        answer = await self._client.post(
            self._relay,
            content=sealed.message,
            headers={"content-type": REQUEST_TYPE, "user-agent": "tacit"},
        )
        if answer.status_code != 200 or answer.headers.get("content-type") != RESPONSE_TYPE:
            if answer.status_code == 400:
                self._keys = None  # the gateway may have a new key
            raise httpx.TransportError(
                f"the relay or gateway answered {answer.status_code}.", request=request
            )
        try:
            opened = read_response(sealed.open_response(answer.content))
        except InputError as error:
            raise httpx.TransportError(error.problem, request=request) from error
        return httpx.Response(
            opened.status, headers=list(opened.fields), content=opened.content, request=request
        )

    async def _key(self) -> KeyConfiguration:
        async with self._lock:
            if self._keys is None:
                answer = await self._client.get(self._relay, headers={"accept": KEYS_TYPE})
                if answer.status_code != 200:
                    raise httpx.TransportError(f"the gateway's keys cannot be had: {answer.status_code}.")
                self._keys = read_key_configurations(answer.content)
            return self._keys[0]

    async def aclose(self) -> None:
        """Close the connection to the relay."""
        await self._client.aclose()
