"""A SOCKS proxy, such as Tor's: it makes the connection and looks the name up, so that nobody here does."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from urllib.parse import urlsplit

from tacit.errors import InputError
from tacit.web.engines.addresses import NotReachedError, connected_socket, found_addresses

_BY_ADDRESS = {4: b"\x01", 6: b"\x04"}
_BY_NAME = b"\x03"
_LENGTHS = {1: 4, 4: 16}
"""Bytes of the address in the proxy's answer, by its kind; a name (3) says its own length."""


class SocksProxy:
    """A proxy that speaks SOCKS 5 (RFC 1928), without a password.

    Args:
        address: where it is, such as ``socks5://127.0.0.1:9050``.

    Raises:
        InputError: the address is not of that form.
    """

    def __init__(self, address: str) -> None:
        try:
            parts = urlsplit(address)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in {"socks5", "socks5h"} or not parts.hostname or not port or "@" in parts.netloc:
            raise InputError(
                "the address of the proxy is not of the form socks5://HOST:PORT, without a password.",
                "For Tor: socks5://127.0.0.1:9050.",
            )
        self._host, self._port = parts.hostname, port

    async def connect(self, host: str, port: int) -> socket.socket:
        """A socket that leads through the proxy to a port of ``host``.

        Raises:
            NotReachedError: the proxy does not answer, or does not make the connection.
        """
        opened = await connected_socket(await found_addresses(self._host, self._port, may_be_local=True))
        try:
            await _ask_for(opened, host, port)
        except (OSError, EOFError, ValueError) as error:
            opened.close()
            raise NotReachedError from error
        except BaseException:
            opened.close()
            raise
        return opened


async def _ask_for(opened: socket.socket, host: str, port: int) -> None:
    """Have the proxy connect to a port of ``host``; its answer is read to the last byte and no further."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(opened, b"\x05\x01\x00")
    if await _exactly(opened, 2) != b"\x05\x00":
        raise ValueError("the proxy wants a password")
    await loop.sock_sendall(opened, b"\x05\x01\x00" + _place(host) + port.to_bytes(2, "big"))
    version, refused, _, kind = await _exactly(opened, 4)
    if version != 5 or refused:
        raise ValueError("the proxy refuses")
    length = (await _exactly(opened, 1))[0] if kind == 3 else _LENGTHS.get(kind, 0)
    await _exactly(opened, length + 2)


def _place(host: str) -> bytes:
    """The engine's host as SOCKS writes it: an address as such, and a name as it is."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.encode("ascii")
        if len(name) > 255:
            raise ValueError("no name is so long") from None
        return _BY_NAME + len(name).to_bytes(1, "big") + name
    return _BY_ADDRESS[address.version] + address.packed


async def _exactly(opened: socket.socket, count: int) -> bytes:
    loop = asyncio.get_running_loop()
    found = b""
    while len(found) < count:
        part = await loop.sock_recv(opened, count - len(found))
        if not part:
            raise EOFError
        found += part
    return found
