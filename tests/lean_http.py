"""A pool client without a library's overhead, so that one process can be a thousand agents and more."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import AsyncGenerator
from urllib.parse import urlsplit

from tacit.pool.agent.runner import Announcement, PartyUnreachableError, PoolClient, RelayClient, Terms
from tacit.pool.protocol.batches import SealedMessage
from tacit.pool.protocol.messages import FirstMessage, Reply, Rules, SecondMessage
from tacit.pool.protocol.table import Table
from tacit.pool.protocol.template import Template, parse_template

__all__ = ["Connections", "LeanClient", "LeanRelay"]


class Connections:
    """Connections to one server that stay open and are shared."""

    def __init__(self, address: str, most: int) -> None:
        parts = urlsplit(address)
        self.host, self.port = parts.hostname or "", parts.port or 80
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._turn = asyncio.Semaphore(most)
        self.tables: dict[str, Table] = {}
        self.times: list[float] = []
        """How long each request took, once it was its turn."""

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, dict[str, str], bytes]:
        """One request and its answer: status, headers and body."""
        kind = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n" if body else ""
        head = f"{method} {path} HTTP/1.1\r\nhost: {self.host}\r\naccept-encoding: gzip\r\n{kind}\r\n"
        async with self._turn:
            begun = time.perf_counter()
            while self._free:  # the server may have closed a connection that was idle for long
                try:
                    return await self._once(self._free.pop(), head.encode() + body, begun)
                except (OSError, EOFError):
                    continue
            return await self._once(await self.open(), head.encode() + body, begun)

    async def _once(
        self, connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], request: bytes, begun: float
    ) -> tuple[int, dict[str, str], bytes]:
        reader, writer = connection
        try:
            writer.write(request)
            status, headers = await read_head(reader)
            content = await reader.readexactly(int(headers.get("content-length", "0")))
        except BaseException:  # a cancelled request leaves half an answer on its connection
            writer.close()
            raise
        self._free.append(connection)
        self.times.append(time.perf_counter() - begun)
        if headers.get("content-encoding") == "gzip":
            content = gzip.decompress(content)
        return status, headers, content

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self.host, self.port)

    def close(self) -> None:
        for _, writer in self._free:
            writer.close()
        self._free.clear()


async def read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = [line.split(": ", 1) for line in lines if ": " in line]
    return int(first.split(" ")[1]), {name.lower(): value for name, value in pairs}


class LeanClient(PoolClient):
    """The pool's API over shared connections, with a connection of its own for the broadcast."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def terms(self) -> Terms:
        given = json.loads((await self._connections.ask("GET", "/v1/pool"))[2])
        return Terms(Rules(**given["rules"]), parse_template(given["template"]), given["relay"])

    async def table(self, template: Template) -> tuple[Table, str, float, float]:
        begun = time.monotonic()
        try:
            status, _, body = await self._connections.ask("GET", "/v1/table")
        except (OSError, EOFError) as error:
            raise PartyUnreachableError("the pool does not answer.") from error
        if status != 200:
            raise PartyUnreachableError(f"the pool answered {status}.")
        given = json.loads(body)
        tables, name = self._connections.tables, given["public_key"]
        if name not in tables:  # one process need not check the same table a thousand times
            tables.clear()
            tables[name] = Table.parse(given["table"], template)
        return tables[name], given["public_key"], given["expires_in"], begun

    async def send(self, message: FirstMessage | SecondMessage) -> Reply | None:
        path = "/v1/first" if isinstance(message, FirstMessage) else "/v1/second"
        try:
            _, _, body = await self._connections.ask("POST", path, json.dumps(message.as_dict()).encode())
            return Reply(json.loads(body)["reply"])
        except (OSError, EOFError, ValueError, KeyError):
            return None

    async def _stream(self) -> AsyncGenerator[Announcement, None]:
        try:
            reader, writer = await self._connections.open()
        except OSError as error:
            raise PartyUnreachableError("the pool does not answer.") from error
        try:
            writer.write(f"GET /v1/events HTTP/1.1\r\nhost: {self._connections.host}\r\n\r\n".encode())
            status, _ = await read_head(reader)
            if status != 200:
                raise PartyUnreachableError(f"the pool answered {status}.")
            while line := await reader.readline():
                if line.startswith(b"data: "):
                    given = json.loads(line[6:])
                    yield Announcement(given["epoch"], given["phase"], tuple(given.get("asked", ())))
        except (OSError, EOFError) as error:
            raise PartyUnreachableError("the pool's broadcast ended.") from error
        finally:
            writer.close()

    async def follow(self) -> AsyncGenerator[Announcement, None]:
        async for announcement in self._stream():
            yield announcement


class LeanRelay(RelayClient):
    """A relay over shared connections."""

    def __init__(self, address: str, connections: Connections) -> None:
        self.address = address
        self._connections = connections

    async def send(self, message: SealedMessage) -> Reply | None:
        said = json.dumps(message.as_dict()).encode()
        try:
            _, _, body = await self._connections.ask("POST", "/v1/sealed", said)
            return Reply(json.loads(body)["reply"])
        except (OSError, EOFError, ValueError, KeyError):
            return None
