"""Where an engine's name may lead: never to this machine or its network unless the person said so.

A name is looked up once and the connection is made to the very address that was checked, so that a name
server cannot answer differently a moment later.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any, NamedTuple

import anyio

_TRIED = 4
"""Addresses of a name that are tried, one after the other."""


class NotReachedError(Exception):
    """There is no connection to the engine, so nothing has left; says why, and what to do.

    Trying again is of no use where it is ``final``.
    """

    def __init__(
        self,
        problem: str = "it cannot be reached.",
        remedy: str = "Check that it runs.",
        *,
        final: bool = False,
    ) -> None:
        super().__init__(problem)
        self.problem, self.remedy, self.final = problem, remedy, final


class SocketAddress(NamedTuple):
    """One of a name's addresses, as the system takes it to connect there."""

    family: int
    place: tuple[Any, ...]
    """The address and the port, and for IPv6 what else belongs to them."""


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


async def found_addresses(host: str, port: int, *, may_be_local: bool) -> list[SocketAddress]:
    """The addresses of a name, if it may lead to every one of them.

    Raises:
        NotReachedError: the name is not known, or leads to a local address though it may not.
    """
    try:
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotReachedError("its name is not known.") from error
    addresses = list(dict.fromkeys(SocketAddress(entry[0], entry[4]) for entry in found))
    if not (may_be_local or names_local_address(host)) and any(
        is_local(str(one.place[0])) for one in addresses
    ):
        remedy = 'Mark it as local ("local": true) if it is yours.'
        raise NotReachedError("its name leads to a local address.", remedy, final=True)
    return addresses


async def connected_socket(addresses: list[SocketAddress]) -> socket.socket:
    """A socket that is connected to the first of some addresses that answers.

    Raises:
        NotReachedError: none of them does.
    """
    loop = asyncio.get_running_loop()
    problem: OSError | None = None
    for family, place in addresses[:_TRIED]:
        try:  # Named TCP, or asyncio leaves the connection waiting for more to send.
            opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        except OSError as error:  # this machine has no IPv6, say, though the name has
            problem = error
            continue
        try:
            opened.setblocking(False)
            await loop.sock_connect(opened, place)
        except OSError as error:
            opened.close()
            problem = error
        except BaseException:
            opened.close()
            raise
        else:
            return opened
    raise NotReachedError from problem
