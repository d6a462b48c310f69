"""One connection to an engine: a request goes out as the bytes that were recorded, an answer comes in.

The caller hands over bytes and these bytes are written to the socket. No header is added, changed or put in
another order on the way, as a library for HTTP would: what the person is shown as sent is what was sent.
"""

from __future__ import annotations

import asyncio
import socket
from typing import NamedTuple, cast

import httptools

LONGEST_HEAD = 64_000
"""Bytes that may come before an answer's body: its headers, and those of provisional answers before it."""


class BrokenOffError(Exception):
    """The engine ended the connection in the middle, or what it says is not HTTP."""


class AnswerRefusedError(Exception):
    """The answer is not read to its end; says why."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class EngineResponse(NamedTuple):
    """What came back for one request."""

    status: int
    headers: dict[str, str]
    """By their names in small letters."""
    body: bytes


class EngineConnection(asyncio.Protocol):
    """A connection that carries one request at a time and may be used again after a complete answer.

    Whatever an engine says without having been asked, or beyond its answer, ends the connection: it could
    otherwise be taken for the answer to the next request. Empty lines after an answer in the same breath
    are the exception; they can be taken for nothing.

    Args:
        opened: the connected socket.
    """

    def __init__(self, opened: socket.socket) -> None:
        self.idle_since = 0.0
        """When its last answer was complete, by the clock of the event loop."""
        self._socket = opened
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport
        self._answered: asyncio.Future[EngineResponse] | None = None
        self._again = False
        self._begin(0)

    @property
    def usable(self) -> bool:
        """Whether another request may be sent: the last answer is complete, and nothing came after it."""
        if not self._again or self._transport.is_closing():
            return False
        try:  # what has arrived, the end of the connection included, but was not yet told to the protocol
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    async def exchange(self, wire: bytes, limit: int) -> EngineResponse:
        """Send these very bytes and read the answer, whose body may have ``limit`` bytes.

        Where it does not come to its end, for whatever reason, the connection is not usable any more.

        Raises:
            BrokenOffError: the connection ended, or what came is not HTTP.
            AnswerRefusedError: the answer is too large, or compressed.
        """
        self._begin(limit)
        self._answered = asyncio.get_running_loop().create_future()
        self._transport.write(wire)
        return await self._answered

    def abandon(self) -> None:
        """End the connection at once."""
        self._again, self._answered = False, None
        self._transport.abort()

    def _begin(self, limit: int) -> None:
        self._limit = limit
        self._again = False
        self._received = self._head = self._size = 0
        self._head_complete = self._complete = self._surplus = self._lasting = False
        self._status = 0
        self._headers: dict[str, str] = {}
        self._parts: list[bytes] = []
        self._refusal: Exception | None = None

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Some bytes have arrived."""
        if self._answered is None:  # nothing was asked
            self.abandon()
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if self._complete:
                self._surplus = True
            else:
                self._refuse(BrokenOffError(str(error)))
        if not self._complete:
            if not self._head_complete and self._received > LONGEST_HEAD:
                self._refuse(BrokenOffError("the headers do not end"))
            if self._received > LONGEST_HEAD + 2 * self._limit:  # chunks of a byte, with much written around
                self._refuse(self._too_large())
        if self._refusal is not None:
            self._fail(self._refusal)
        elif self._complete:
            self._finish(again=self._lasting and not self._surplus)

    def connection_lost(self, error: Exception | None) -> None:
        """The connection has ended: so has an answer that does not say its length."""
        self._again = False
        bounded = "content-length" in self._headers or "transfer-encoding" in self._headers
        if error is None and self._head_complete and not bounded:
            self._finish(again=False)
        else:
            self._fail(BrokenOffError("the connection ended"))

    def _finish(self, *, again: bool) -> None:
        answered, self._answered = self._answered, None
        self._again = again and not self._transport.get_write_buffer_size()
        if answered is not None and not answered.done():
            answered.set_result(EngineResponse(self._status, self._headers, b"".join(self._parts)))
        if not self._again:
            self._transport.abort()

    def _fail(self, error: Exception) -> None:
        answered, self._answered = self._answered, None
        self._again = False
        if answered is not None and not answered.done():
            answered.set_exception(error)
        self._transport.abort()

    def _refuse(self, error: Exception) -> None:
        """Note the first thing that is wrong with the answer."""
        self._refusal = self._refusal or error

    def _too_large(self) -> AnswerRefusedError:
        return AnswerRefusedError(f"its answer is larger than {self._limit / 1e6:g} MB.")

    # What the parser calls.

    def on_message_begin(self) -> None:
        """An answer begins; after a complete one, that is one too many."""
        self._surplus = self._complete

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; those after the body are left out."""
        if self._head_complete:
            return
        self._head += len(name) + len(value) + 4
        # Spaces only: the parser takes a tab behind "chunked" for another form of the body.
        key, said = name.decode("latin-1").lower(), value.decode("latin-1").rstrip(" ")
        self._headers[key] = f"{self._headers[key]}, {said}" if key in self._headers else said

    def on_headers_complete(self) -> None:
        """The body is next."""
        if self._complete:
            return
        self._status = self._parser.get_status_code()
        if self._status < 200:  # provisional: the answer itself is still to come
            return
        self._head_complete = True
        if self._head > LONGEST_HEAD:
            self._refuse(BrokenOffError("the headers are too long"))
        elif self._headers.get("content-encoding", "identity").lower() != "identity":
            self._refuse(AnswerRefusedError("it compresses its answer although that was not asked for."))
        elif self._headers.get("transfer-encoding", "chunked").lower() != "chunked":
            self._refuse(BrokenOffError("the body is in a form that was not asked for"))

    def on_body(self, part: bytes) -> None:
        """A part of the body."""
        if self._complete:
            return
        self._size += len(part)
        if self._size > self._limit:
            self._refuse(self._too_large())
        else:
            self._parts.append(part)

    def on_message_complete(self) -> None:
        """The answer is complete, unless it was a provisional one."""
        if self._complete:
            return
        if not self._head_complete:
            self._headers = {}
            return
        self._complete = True
        self._lasting = self._parser.should_keep_alive()
