"""HTTP messages as bytes (RFC 9292): what an Oblivious HTTP client seals and a gateway opens.

Messages are written in the known-length form. Both forms are read, with the truncation and padding that the
RFC allows, and within limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.errors import InputError

__all__ = ["BinaryRequest", "BinaryResponse", "Field", "read_request", "read_response"]

Field = tuple[bytes, bytes]
_REQUEST, _RESPONSE, _OPEN_REQUEST, _OPEN_RESPONSE = range(4)
_LARGEST = 8 << 20
_HOP = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"te", b"transfer-encoding", b"upgrade"})


@dataclass(frozen=True)
class BinaryRequest:
    """A request: its control data, header fields (names in lower case), content and trailer fields."""

    method: bytes
    scheme: bytes
    authority: bytes
    path: bytes
    fields: tuple[Field, ...] = ()
    content: bytes = b""
    trailers: tuple[Field, ...] = ()

    def to_bytes(self, pad_to: int = 1) -> bytes:
        """The known-length form; zeros up to a multiple of ``pad_to`` bytes hide its length."""
        control = b"".join(_prefixed(part) for part in (self.method, self.scheme, self.authority, self.path))
        return _padded(_number(_REQUEST) + control + _body(self.fields, self.content, self.trailers), pad_to)


@dataclass(frozen=True)
class BinaryResponse:
    """A final response; informational ones before it are passed over when it is read."""

    status: int
    fields: tuple[Field, ...] = ()
    content: bytes = b""
    trailers: tuple[Field, ...] = ()

    def to_bytes(self, pad_to: int = 1) -> bytes:
        """The known-length form; padded with zeros to a multiple of ``pad_to`` bytes."""
        if not 200 <= self.status <= 599:
            raise InputError(f"a final response has a status from 200 to 599; found {self.status}.")
        head = _number(_RESPONSE) + _number(self.status)
        return _padded(head + _body(self.fields, self.content, self.trailers), pad_to)


def read_request(data: bytes) -> BinaryRequest:
    """A request from its bytes.

    Raises:
        InputError: what is not one; nothing of the bytes is repeated.
    """
    reader = _Reader(data)
    framing = reader.number()
    if framing not in (_REQUEST, _OPEN_REQUEST):
        raise InputError("this is no binary HTTP request.")
    method, scheme, authority, path = (reader.text() for _ in range(4))
    if not method or not path:
        raise InputError("a binary HTTP request needs a method and a path.")
    fields, content, trailers = reader.rest(known=framing == _REQUEST)
    return BinaryRequest(method, scheme, authority, path, fields, content, trailers)


def read_response(data: bytes) -> BinaryResponse:
    """A response from its bytes.

    Raises:
        InputError: what is not one; nothing of the bytes is repeated.
    """
    reader = _Reader(data)
    framing = reader.number()
    if framing not in (_RESPONSE, _OPEN_RESPONSE):
        raise InputError("this is no binary HTTP response.")
    known = framing == _RESPONSE
    while True:
        status = reader.number()
        if not 100 <= status <= 599:
            raise InputError("a binary HTTP response has a status from 100 to 599.")
        if status >= 200:
            break
        reader.fields(known)
    fields, content, trailers = reader.rest(known)
    return BinaryResponse(status, fields, content, trailers)


def _number(value: int) -> bytes:
    """A variable-length integer of QUIC (RFC 9000, section 16)."""
    for power, size in enumerate((1, 2, 4, 8)):
        if value < 1 << (8 * size - 2):
            return (value | power << (8 * size - 2)).to_bytes(size, "big")
    raise InputError("a length is too large for binary HTTP.")


def _prefixed(data: bytes) -> bytes:
    return _number(len(data)) + data


def _section(fields: Sequence[Field]) -> bytes:
    for name, _ in fields:
        if not name or name != name.lower() or name.startswith(b":") or name in _HOP:
            raise InputError(
                "a binary HTTP field needs a name in lower case that is not about one connection."
            )
    return _prefixed(b"".join(_prefixed(name) + _prefixed(value) for name, value in fields))


def _body(fields: Sequence[Field], content: bytes, trailers: Sequence[Field]) -> bytes:
    return _section(fields) + _prefixed(content) + _section(trailers)


def _padded(message: bytes, pad_to: int) -> bytes:
    return message + bytes(-len(message) % pad_to)


class _Reader:
    """Reads a message from the front; past its end there are empty sections (RFC 9292, section 3.8)."""

    def __init__(self, data: bytes) -> None:
        if len(data) > _LARGEST:
            raise InputError(f"a binary HTTP message has at most {_LARGEST:,} bytes here.")
        self._data, self._at = data, 0

    def _take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise InputError("a binary HTTP message ends too early.")
        self._at += count
        return taken

    @property
    def _ended(self) -> bool:
        return self._at >= len(self._data)

    def number(self) -> int:
        first = self._take(1)[0]
        size = 1 << (first >> 6)
        return int.from_bytes(bytes([first & 0x3F]) + self._take(size - 1), "big")

    def text(self) -> bytes:
        return self._take(self.number())

    def fields(self, known: bool) -> tuple[Field, ...]:
        if self._ended:
            return ()
        found: list[Field] = []
        if known:
            end = self.number() + self._at
            if end > len(self._data):
                raise InputError("a binary HTTP message ends too early.")
            while self._at < end:
                found.append(self._field(self.number()))
            if self._at != end:
                raise InputError("a field of a binary HTTP message overruns its section.")
        else:
            while not self._ended and (length := self.number()):
                found.append(self._field(length))
        return tuple(found)

    def _field(self, length: int) -> Field:
        name = self._take(length)
        if not name or name != name.lower() or name.startswith(b":"):
            raise InputError("a binary HTTP field has a name that is not allowed.")
        return name, self.text()

    def rest(self, known: bool) -> tuple[tuple[Field, ...], bytes, tuple[Field, ...]]:
        """Header fields, content, trailer fields; then zeros only."""
        fields = self.fields(known)
        content = self._content(known)
        trailers = self.fields(known)
        if any(self._data[self._at :]):
            raise InputError("a binary HTTP message is followed by something else than padding.")
        return fields, content, trailers

    def _content(self, known: bool) -> bytes:
        if self._ended:
            return b""
        if known:
            return self.text()
        chunks = []
        while not self._ended and (length := self.number()):
            chunks.append(self._take(length))
        return b"".join(chunks)
