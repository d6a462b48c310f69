"""The channel a person chose, from one line of text.

- ``direct``
- ``socks5://127.0.0.1:9050``: a SOCKS proxy, such as Tor's (names are looked up by the proxy)
- ``ohttp:https://relay.example/``: Oblivious HTTP through this relay
"""

from __future__ import annotations

import httpx

from tacit.errors import ParameterError

_SOCKS = ("socks5://", "socks5h://")
_OBLIVIOUS = "ohttp:"


def channel_transport(text: str, *, keys: bytes | None = None) -> httpx.AsyncBaseTransport:
    """The transport of a channel.

    Args:
        keys: with ``ohttp:``, the gateway's key configurations, if they came from elsewhere.
    """
    if text == "direct":
        return httpx.AsyncHTTPTransport()
    if text.startswith(_SOCKS):
        return httpx.AsyncHTTPTransport(proxy=httpx.Proxy(text.replace("socks5://", "socks5h://", 1)))
    if text.startswith(_OBLIVIOUS) and text.removeprefix(_OBLIVIOUS).startswith(("http://", "https://")):
        from tacit.pool.channel.oblivious import ObliviousTransport

        return ObliviousTransport(text.removeprefix(_OBLIVIOUS), keys=keys)
    raise ParameterError(
        "channel must be direct, socks5://HOST:PORT or ohttp:RELAY_ADDRESS; found something else.",
        "For Tor: socks5://127.0.0.1:9050.",
    )


def what_it_gives(text: str) -> str:
    """One sentence on who learns what."""
    if text.startswith(_SOCKS):
        return "the other end sees the proxy's address; the proxy sees yours, and where you go"
    if text.startswith(_OBLIVIOUS):
        return "the relay sees your address and no content, the gateway the content and no address"
    return "the other end sees your address"
