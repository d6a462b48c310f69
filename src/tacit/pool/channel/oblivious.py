"""Oblivious HTTP (RFC 9458): requests sealed for a gateway, responses sealed for whoever asked.

HPKE (RFC 9180) comes from pyhpke, whose contexts have the exporter from which the response's key is derived.
Suite: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM or ChaCha20-Poly1305. Section numbers are those of
the RFC.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from pyhpke import AEADId, CipherSuite, KDFId, KEMId, KEMKeyPair, PyHPKEError

from tacit.errors import InputError

__all__ = [
    "KEYS_TYPE",
    "REQUEST_TYPE",
    "RESPONSE_TYPE",
    "GatewayKey",
    "KeyConfiguration",
    "OpenedRequest",
    "SealedRequest",
    "read_key_configuration",
    "read_key_configurations",
    "seal_request",
]

KEYS_TYPE, REQUEST_TYPE, RESPONSE_TYPE = "application/ohttp-keys", "message/ohttp-req", "message/ohttp-res"
_KEM, _KDF = KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256
_AEADS = {1: (AEADId.AES128_GCM, AESGCM, 16), 3: (AEADId.CHACHA20_POLY1305, ChaCha20Poly1305, 32)}
_REQUEST, _RESPONSE = b"message/bhttp request", b"message/bhttp response"
_KEY_LENGTH, _NONCE_LENGTH, _ENC_LENGTH = 32, 12, 32
_HEADER = struct.Struct(">BHHH")


@dataclass(frozen=True)
class KeyConfiguration:
    """What a gateway tells about one of its keys (section 3.1)."""

    identifier: int
    public_key: bytes
    aeads: tuple[int, ...] = (1, 3)

    def to_bytes(self) -> bytes:
        """As the RFC writes it, without the length that stands before it in a list."""
        suites = b"".join(struct.pack(">HH", int(_KDF.value), aead) for aead in self.aeads)
        return (
            struct.pack(">BH", self.identifier, int(_KEM.value))
            + self.public_key
            + struct.pack(">H", len(suites))
            + suites
        )


def read_key_configuration(data: bytes) -> KeyConfiguration | None:
    """One configuration; None where its key or all its suites are of a kind not spoken here."""
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
        if len(data) < 2 or len(data) < 2 + int.from_bytes(data[:2], "big"):
            raise InputError("a list of key configurations ends too early.")
        length = int.from_bytes(data[:2], "big")
        configuration = read_key_configuration(data[2 : 2 + length])
        data = data[2 + length :]
        if configuration is not None:
            found.append(configuration)
    if not found:
        raise InputError("the gateway offers no key of a kind spoken here.", "X25519 with HKDF-SHA256 is.")
    return found


def _suite(aead: int) -> CipherSuite:
    return CipherSuite.new(_KEM, _KDF, _AEADS[aead][0])


def _information(header: bytes) -> bytes:
    return _REQUEST + b"\x00" + header


def _response_cipher(context: Any, enc: bytes, nonce: bytes, aead: int) -> tuple[Any, bytes]:
    """Key and nonce of a response (section 4.4), and the cipher with that key."""
    _, cipher, key_length = _AEADS[aead]
    secret = context.export(_RESPONSE, max(key_length, _NONCE_LENGTH))
    extract = HMAC(enc + nonce, SHA256())
    extract.update(secret)
    derived = extract.finalize()
    key = HKDFExpand(SHA256(), key_length, b"key").derive(derived)
    return cipher(key), HKDFExpand(SHA256(), _NONCE_LENGTH, b"nonce").derive(derived)


class SealedRequest:
    """A request on its way, and what is needed to open its response."""

    def __init__(self, message: bytes, context: Any, enc: bytes, aead: int) -> None:
        self.message = message
        self._context, self._enc, self._aead = context, enc, aead

    def open_response(self, message: bytes) -> bytes:
        """The binary HTTP response.

        Raises:
            InputError: where it was not sealed for this request.
        """
        length = max(_AEADS[self._aead][2], _NONCE_LENGTH)
        nonce, sealed = message[:length], message[length:]
        cipher, cipher_nonce = _response_cipher(self._context, self._enc, nonce, self._aead)
        try:
            opened: bytes = cipher.decrypt(cipher_nonce, sealed, b"")
        except (InvalidTag, ValueError):
            raise InputError("the response was not sealed for this request.") from None
        return opened


def seal_request(
    configuration: KeyConfiguration, request: bytes, *, ephemeral: KEMKeyPair | None = None
) -> SealedRequest:
    """Seal a binary HTTP request for a gateway (section 4.3).

    Args:
        ephemeral: the key pair for this request; a fresh one unless given (by tests of known answers).
    """
    aead = configuration.aeads[0]
    suite = _suite(aead)
    header = _HEADER.pack(configuration.identifier, int(_KEM.value), int(_KDF.value), aead)
    key = suite.kem.deserialize_public_key(configuration.public_key)
    enc, context = suite.create_sender_context(key, info=_information(header), eks=ephemeral)
    return SealedRequest(header + enc + context.seal(request), context, enc, aead)


class OpenedRequest:
    """A request that a gateway opened, and what is needed to seal its response."""

    def __init__(self, request: bytes, context: Any, enc: bytes, aead: int) -> None:
        self.request = request
        self.enc = enc
        self._context, self._aead = context, aead

    def seal_response(self, response: bytes, *, nonce: bytes | None = None) -> bytes:
        """Seal a binary HTTP response for whoever asked.

        Args:
            nonce: fresh random bytes unless given (by tests of known answers).
        """
        length = max(_AEADS[self._aead][2], _NONCE_LENGTH)
        nonce = os.urandom(length) if nonce is None else nonce
        cipher, cipher_nonce = _response_cipher(self._context, self.enc, nonce, self._aead)
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
        """Open a sealed request.

        Raises:
            InputError: where it was not sealed for this key.
        """
        if len(message) < _HEADER.size + _ENC_LENGTH:
            raise InputError("a sealed request ends too early.")
        header, rest = message[: _HEADER.size], message[_HEADER.size :]
        identifier, kem, kdf, aead = _HEADER.unpack(header)
        if (identifier, kem, kdf) != (self.configuration.identifier, _KEM.value, _KDF.value) or (
            aead not in self.configuration.aeads
        ):
            raise InputError(
                "a sealed request names a key that is not this gateway's.", "Fetch its keys again."
            )
        suite, enc = _suite(aead), rest[:_ENC_LENGTH]
        try:
            secret = suite.kem.deserialize_private_key(self._secret)
            context = suite.create_recipient_context(enc, secret, info=_information(header))
            return OpenedRequest(context.open(rest[_ENC_LENGTH:]), context, enc, aead)
        except (PyHPKEError, ValueError):
            raise InputError("a sealed request was not sealed for this gateway.") from None
