"""The server's side of HTTP, by a parser in C that keeps no more of an unfinished request than is allowed."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["LONGEST_HEAD_OF_REQUEST", "MOST_WAITING", "BoundedHeadProtocol"]

LONGEST_HEAD_OF_REQUEST = 64_000
"""Bytes that may arrive while a request's headers, or what follows its body, are not complete."""
MOST_WAITING = 16
"""Requests of one connection that may wait for the answer to one before them. Browsers send none ahead."""


class BoundedHeadProtocol(HttpToolsProtocol):
    """Refuses requests whose headers do not end or that come without end, and headers from behind a body."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self._unfinished = 0
        self._went_on = self._head_complete = False
        super().__init__(*given, **named)

    def data_received(self, data: bytes) -> None:
        """Some bytes have arrived."""
        self._went_on = False
        super().data_received(data)
        self._unfinished = 0 if self._went_on else self._unfinished + len(data)
        if self._unfinished > LONGEST_HEAD_OF_REQUEST and not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.send_400_response("The headers are too long.")
            self.transport.close()
        elif len(self.pipeline) > MOST_WAITING:  # each answer makes the protocol read on, and keep more
            self.transport.close()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._head_complete = False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; one behind the body could not be examined before the request is answered."""
        if not self._head_complete:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The request can be answered."""
        self._went_on = self._head_complete = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._went_on = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request has ended."""
        self._went_on = True
        super().on_message_complete()
