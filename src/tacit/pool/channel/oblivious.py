"""Oblivious HTTP (RFC 9458) over binary HTTP messages (RFC 9292): seal, open, ask through a relay.

HPKE (RFC 9180) comes from pyhpke: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM or ChaCha20-Poly1305.
Binary messages are written in the known-length form; both forms are read, with the truncation and padding
that the RFC allows, and within limits. Section numbers are those of RFC 9458.
"""

import hmac
import json
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from pyhpke import AEADId, CipherSuite, KDFId, KEMId, KEMKeyPair, PyHPKEError

from tacit.errors import InputError, TacitError

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

    def to_bytes(self, size: int | None = None) -> bytes:
        """The known-length form; with ``size``, zeros up to exactly so many bytes hide its length."""
        control = b"".join(_prefixed(part) for part in (self.method, self.scheme, self.authority, self.path))
        return _message(_number(_REQUEST) + control, self, size)


@dataclass(frozen=True)
class BinaryResponse:
    """A final response; informational ones before it are passed over when it is read."""

    status: int
    fields: tuple[Field, ...] = ()
    content: bytes = b""
    trailers: tuple[Field, ...] = ()

    def to_bytes(self, size: int | None = None) -> bytes:
        """The known-length form; with ``size``, padded with zeros to exactly so many bytes."""
        if not 200 <= self.status <= 599:
            raise InputError(f"a final response has a status from 200 to 599; found {self.status}.")
        return _message(_number(_RESPONSE) + _number(self.status), self, size)


def read_request(data: bytes) -> BinaryRequest:
    """Read a request; the error about what is none repeats nothing of it."""
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
    """Read a response; the error about what is none repeats nothing of it."""
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
            raise InputError("a binary HTTP field needs a name in lower case, and none of one connection.")
    return _prefixed(b"".join(_prefixed(name) + _prefixed(value) for name, value in fields))


def _message(control: bytes, of: BinaryRequest | BinaryResponse, size: int | None) -> bytes:
    message = control + _section(of.fields) + _prefixed(of.content) + _section(of.trailers)
    if size is None:
        return message
    if len(message) > size:
        raise OversizeError(f"a message must fit into {size:,} bytes; found {len(message):,}.")
    return message.ljust(size, b"\x00")


class OversizeError(InputError):
    """A message does not fit into the size that all messages have."""


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
            section = _Reader(self.text())
            while not section._ended:
                found.append(section._field(section.number()))
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


KEYS_TYPE, REQUEST_TYPE, RESPONSE_TYPE = "application/ohttp-keys", "message/ohttp-req", "message/ohttp-res"
_KEM, _KDF = KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256
_AEADS = {1: (AEADId.AES128_GCM, AESGCM, 16), 3: (AEADId.CHACHA20_POLY1305, ChaCha20Poly1305, 32)}
_REQUEST_LABEL, _RESPONSE_LABEL = b"message/bhttp request\x00", b"message/bhttp response"
_KEY_LENGTH, _NONCE_LENGTH, _ENC_LENGTH = 32, 12, 32
_HEADER = struct.Struct(">BHHH")


@dataclass(frozen=True)
class KeyConfiguration:
    """The configuration of one of a gateway's keys (section 3.1)."""

    identifier: int
    public_key: bytes
    aeads: tuple[int, ...] = (1, 3)

    def to_bytes(self) -> bytes:
        """As the RFC writes it, without the length that stands before it in a list."""
        suites = b"".join(struct.pack(">HH", int(_KDF.value), aead) for aead in self.aeads)
        head = struct.pack(">BH", self.identifier, int(_KEM.value)) + self.public_key
        return head + struct.pack(">H", len(suites)) + suites


def read_key_configuration(data: bytes) -> KeyConfiguration | None:
    """Read one configuration; None if its key or all its suites are of a kind not supported here."""
    if len(data) < 3 + _KEY_LENGTH + 2:
        raise InputError("a key configuration ends too early.")
    identifier, kem = struct.unpack_from(">BH", data)
    if kem != _KEM.value:
        return None
    key, rest = data[3 : 3 + _KEY_LENGTH], data[3 + _KEY_LENGTH :]
    (length,) = struct.unpack_from(">H", rest)
    if length % 4 or len(rest) != 2 + length:
        raise InputError("a key configuration has a wrong length.")
    suites = [struct.unpack_from(">HH", rest, 2 + at) for at in range(0, length, 4)]
    aeads = tuple(aead for kdf, aead in suites if kdf == _KDF.value and aead in _AEADS)
    return KeyConfiguration(identifier, key, aeads) if aeads else None


def read_key_configurations(data: bytes) -> list[KeyConfiguration]:
    """A list of configurations, each with its length before it (section 3.2)."""
    found = []
    while data:
        end = 2 + int.from_bytes(data[:2], "big")
        if len(data) < end:
            raise InputError("a list of key configurations ends too early.")
        if configuration := read_key_configuration(data[2:end]):
            found.append(configuration)
        data = data[end:]
    if not found:
        raise InputError("the gateway offers no key of a kind spoken here.", "X25519 with HKDF-SHA256 is.")
    return found


def _suite(aead: int) -> CipherSuite:
    return CipherSuite.new(_KEM, _KDF, _AEADS[aead][0])


class _Exchange:
    """A sealed request and what seals or opens its response (section 4.4)."""

    def __init__(self, data: bytes, context: Any, enc: bytes, aead: int) -> None:
        self.data, self.enc = data, enc
        self._context, self._aead = context, aead
        self._nonce_length = max(_AEADS[aead][2], _NONCE_LENGTH)

    def _cipher(self, nonce: bytes) -> tuple[Any, bytes]:
        """The cipher with a response's key, and the nonce for it."""
        _, cipher, key_length = _AEADS[self._aead]
        secret = self._context.export(_RESPONSE_LABEL, self._nonce_length)
        derived = hmac.digest(self.enc + nonce, secret, "sha256")
        key = HKDFExpand(SHA256(), key_length, b"key").derive(derived)
        return cipher(key), HKDFExpand(SHA256(), _NONCE_LENGTH, b"nonce").derive(derived)


class SealedRequest(_Exchange):
    """A request on its way (``data`` is what is sent), and what is needed to open its response."""

    def open_response(self, message: bytes) -> bytes:
        """Open the binary HTTP response, if it was sealed for this request."""
        cipher, nonce = self._cipher(message[: self._nonce_length])
        try:
            opened: bytes = cipher.decrypt(nonce, message[self._nonce_length :], b"")
        except (InvalidTag, ValueError):
            raise InputError("the response was not sealed for this request.") from None
        return opened


def seal_request(
    configuration: KeyConfiguration, request: bytes, *, ephemeral: KEMKeyPair | None = None
) -> SealedRequest:
    """Seal a binary HTTP request for a gateway (section 4.3), with a fresh key unless one is given."""
    aead = configuration.aeads[0]
    suite = _suite(aead)
    header = _HEADER.pack(configuration.identifier, int(_KEM.value), int(_KDF.value), aead)
    key = suite.kem.deserialize_public_key(configuration.public_key)
    enc, context = suite.create_sender_context(key, info=_REQUEST_LABEL + header, eks=ephemeral)
    return SealedRequest(header + enc + context.seal(request), context, enc, aead)


class OpenedRequest(_Exchange):
    """A request that a gateway opened (``data``), and what is needed to seal its response."""

    def seal_response(self, response: bytes, *, nonce: bytes | None = None) -> bytes:
        """Seal a binary HTTP response for whoever asked, with a fresh nonce unless one is given."""
        nonce = os.urandom(self._nonce_length) if nonce is None else nonce
        cipher, cipher_nonce = self._cipher(nonce)
        sealed: bytes = cipher.encrypt(cipher_nonce, response, b"")
        return nonce + sealed


class GatewayKey:
    """A gateway's secret key and the configuration that tells of it."""

    def __init__(self, secret: bytes | None = None, identifier: int = 1) -> None:
        key = X25519PrivateKey.generate() if secret is None else X25519PrivateKey.from_private_bytes(secret)
        self._secret = key.private_bytes_raw()
        self.configuration = KeyConfiguration(identifier, key.public_key().public_bytes_raw())

    def configurations(self) -> bytes:
        """The list that clients fetch."""
        one = self.configuration.to_bytes()
        return struct.pack(">H", len(one)) + one

    def open_request(self, message: bytes) -> OpenedRequest:
        """Open a request that was sealed for this key."""
        if len(message) < _HEADER.size + _ENC_LENGTH:
            raise InputError("a sealed request ends too early.")
        header, rest = message[: _HEADER.size], message[_HEADER.size :]
        *names, aead = _HEADER.unpack(header)
        own = self.configuration
        if names != [own.identifier, _KEM.value, _KDF.value] or aead not in own.aeads:
            raise InputError("a sealed request names a key that is not this gateway's.", "Fetch its keys.")
        suite, enc = _suite(aead), rest[:_ENC_LENGTH]
        try:
            secret = suite.kem.deserialize_private_key(self._secret)
            context = suite.create_recipient_context(enc, secret, info=_REQUEST_LABEL + header)
            return OpenedRequest(context.open(rest[_ENC_LENGTH:]), context, enc, aead)
        except (PyHPKEError, ValueError):
            raise InputError("a sealed request was not sealed for this gateway.") from None


QUERY_SIZE, REQUEST_SIZE, ANSWER_SIZE, REPLY_SIZE = 2_048, 4_096, 8_192, 12_288
"""Bytes before sealing, the same for everybody: a text for the service and its answer, and what carries them
between a device and the pool. Whether a message is a deposit, a question whether the answer is there or the
answer itself, its length does not tell."""


def media_type(headers: Mapping[str, str]) -> str:
    """The media type of a message, without parameters; its case means nothing (RFC 9110, section 8.3.1)."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


class RelayedError(TacitError):
    """The relay or the gateway behind it did not answer as they should."""


class StaleKeyError(RelayedError):
    """The gateway does not know the key any more: it draws a new one at each start."""


def http_client(
    transport: httpx.AsyncBaseTransport | None, seconds: float, **settings: Any
) -> httpx.AsyncClient:
    """Make a client that follows no redirect and takes no setting of its surroundings."""
    return httpx.AsyncClient(
        transport=transport, timeout=seconds, follow_redirects=False, trust_env=False, **settings
    )


async def ask(
    http: httpx.AsyncClient,
    relay: str,
    key: KeyConfiguration,
    path: str,
    said: Mapping[str, Any],
    size: int = REQUEST_SIZE,
) -> dict[str, Any]:
    """Ask a gateway through a relay: a JSON object to a path of it, and a JSON object back.

    Nothing of the HTTP client goes along: no header field but the content's type. The request has ``size``
    bytes before it is sealed.
    """
    content, fields = json.dumps(said).encode(), ((b"content-type", b"application/json"),)
    request = BinaryRequest(b"POST", b"https", b"", path.encode(), fields, content)
    sealed = seal_request(key, request.to_bytes(size))
    headers = {"content-type": REQUEST_TYPE, "user-agent": "tacit"}
    try:
        answer = await http.post(relay, content=sealed.data, headers=headers)
    except httpx.HTTPError as error:
        raise RelayedError(f"the relay does not answer ({type(error).__name__}).") from error
    if answer.status_code == 400:
        raise StaleKeyError("the gateway has a new key.")
    if answer.status_code != 200 or media_type(answer.headers) != RESPONSE_TYPE:
        raise RelayedError(f"the relay or the gateway behind it answered {answer.status_code}.")
    try:
        opened = read_response(sealed.open_response(answer.content))
        found = json.loads(opened.content) if opened.status == 200 else None
    except (InputError, ValueError) as error:
        raise RelayedError("the answer was not sealed for this request.") from error
    if not isinstance(found, dict):
        raise RelayedError(f"the gateway refused the request ({opened.status}).")
    return found
