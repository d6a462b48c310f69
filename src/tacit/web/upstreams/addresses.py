"""Where an engine's name may lead: never to this machine or its network unless the person said so.

A name is looked up once and the connection is made to the very address that was checked, so that a name
server cannot answer differently a moment later.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from typing import Any

import anyio
import httpcore

from tacit.web.upstreams.idle import IdleAwareStream

__all__ = ["CheckedNetwork", "is_local", "names_local_address"]


def is_local(address: str) -> bool:
    """Whether an IP address is of this machine, its network, or otherwise not of the public internet."""
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    return not found.is_global or found.is_multicast or (mapped is not None and not mapped.is_global)


def names_local_address(host: str) -> bool:
    """Whether the person wrote a local address itself: then it is meant."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return is_local(host.strip("[]"))
    except ValueError:
        return False


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects only where it may, to the address that was checked."""

    def __init__(self) -> None:
        self._network = httpcore.AnyIOBackend()
        self.allowed: set[str] = set()
        """Names that may lead to local addresses."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Look the name up, check every address it has, and connect to the first."""
        may_be_local = host in self.allowed or names_local_address(host)
        with anyio.fail_after(timeout):
            try:
                found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            except OSError as error:
                raise httpcore.ConnectError("its name is not known") from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if not may_be_local and any(is_local(address) for address in addresses):
            raise httpcore.ConnectError("its name leads to a local address")
        problem: Exception | None = None
        for address in addresses[:4]:
            try:
                stream = await self._network.connect_tcp(
                    address, port, timeout=timeout, local_address=local_address, socket_options=socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                problem = error
            else:
                return IdleAwareStream(stream)
        raise problem or httpcore.ConnectError("its name is not known")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await anyio.sleep(seconds)
