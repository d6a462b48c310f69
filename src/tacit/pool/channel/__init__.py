"""How an agent reaches a pool or an engine: who learns the address, and who the content.

The paper assumes anonymous communication; here it is a choice that each person makes and can check, written
as one line of text:

- ``direct``: the other end sees the address. The pool then knows who asks, whatever the messages say.
- ``socks5://127.0.0.1:9050``: a SOCKS proxy, such as Tor's (names are resolved by the proxy). The other end
  sees the proxy's address; what the proxy's operator sees is the proxy's business.
- ``ohttp:https://relay.example/``: Oblivious HTTP (RFC 9458, :mod:`tacit.pool.channel.oblivious`) through
  this relay, which sees the address and nothing of the content; the gateway behind it sees the content and
  nothing of the address. Whoever runs both sees both.
"""

from __future__ import annotations

import httpx

from tacit.errors import ParameterError

_SOCKS = ("socks5://", "socks5h://")
_OBLIVIOUS = "ohttp:"


def channel_transport(text: str, *, keys: bytes | None = None) -> httpx.AsyncBaseTransport:
    """Make the transport of a channel.

    Args:
        text: the channel: ``direct``, ``socks5://HOST:PORT`` or ``ohttp:RELAY_ADDRESS``.
        keys: with ``ohttp:``, the gateway's key configurations, if they came from elsewhere than the relay.
    """
    if text == "direct":
        return httpx.AsyncHTTPTransport()
    if text.startswith(_SOCKS):
        return httpx.AsyncHTTPTransport(proxy=httpx.Proxy(text.replace("socks5://", "socks5h://", 1)))
    if text.startswith(_OBLIVIOUS) and text.removeprefix(_OBLIVIOUS).startswith(("http://", "https://")):
        from tacit.pool.channel.oblivious import ObliviousTransport  # an extra of its own

        return ObliviousTransport(text.removeprefix(_OBLIVIOUS), keys=keys)
    raise ParameterError(
        "channel must be direct, socks5://HOST:PORT or ohttp:RELAY_ADDRESS; found something else.",
        "For Tor: socks5://127.0.0.1:9050.",
    )


def who_sees_what(text: str) -> str:
    """Say in one sentence who learns what through a channel."""
    if text.startswith(_SOCKS):
        return "the other end sees the proxy's address; the proxy sees yours, and where you go"
    if text.startswith(_OBLIVIOUS):
        return "the relay sees your address and no content, the gateway the content and no address"
    return "the other end sees your address"
