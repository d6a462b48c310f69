"""Records sealed for the pool: what the relay carries, it cannot read (HPKE, RFC 9180, base mode).

A pool makes a key pair for each epoch and forgets it with the epoch, so that nothing sealed then can be
opened later. The epoch and the group are bound in: a sealed record is of no use in another place.
"""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING, Protocol

from tacit.pool.template import Record

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

__all__ = ["HpkeSealing", "OpenEnvelope", "Sealing"]


class Sealing(Protocol):
    """How records are closed and opened."""

    def keys(self) -> tuple[str, str]:
        """A new key pair: public, and secret."""

    def seal(self, public: str, epoch: int, group: int, record: Record) -> str:
        """The record, for whoever holds the secret key, in this epoch and group."""

    def unseal(self, secret: str, epoch: int, group: int, sealed: str) -> Record | None:
        """The record; None if this is nothing that was sealed for this key, epoch and group."""


def _context(epoch: int, group: int) -> bytes:
    return f"tacit pool 1, epoch {epoch}, group {group}".encode()


class HpkeSealing:
    """X25519 with HKDF-SHA256 and AES-128-GCM."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

        self._suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
        self._read: tuple[str, X25519PrivateKey] | None = None

    def keys(self) -> tuple[str, str]:
        """A new key pair: public, and secret. The key that was used last is forgotten."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        self._read = None
        key = X25519PrivateKey.generate()
        public, secret = key.public_key().public_bytes_raw(), key.private_bytes_raw()
        return base64.b64encode(public).decode(), base64.b64encode(secret).decode()

    def seal(self, public: str, epoch: int, group: int, record: Record) -> str:
        """The record, for whoever holds the secret key, in this epoch and group."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        key = X25519PublicKey.from_public_bytes(base64.b64decode(public))
        packed = struct.pack(f">{len(record)}H", *record)
        return base64.b64encode(self._suite.encrypt(packed, key, _context(epoch, group))).decode()

    def unseal(self, secret: str, epoch: int, group: int, sealed: str) -> Record | None:
        """The record; None if this is nothing that was sealed for this key, epoch and group."""
        from cryptography.exceptions import InvalidTag

        key = self._secret_key(secret)
        try:
            packed = self._suite.decrypt(base64.b64decode(sealed, validate=True), key, _context(epoch, group))
            return struct.unpack(f">{len(packed) // 2}H", packed)
        except (InvalidTag, ValueError, struct.error):
            return None

    def _secret_key(self, secret: str) -> X25519PrivateKey:
        """The key that ``secret`` tells; a batch is opened with one, which is read once."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        if self._read is None or self._read[0] != secret:
            self._read = (secret, X25519PrivateKey.from_private_bytes(base64.b64decode(secret)))
        return self._read[1]


class OpenEnvelope:
    """No sealing at all: for simulations, where everybody is made up."""

    def keys(self) -> tuple[str, str]:
        """No keys."""
        return "", ""

    def seal(self, public: str, epoch: int, group: int, record: Record) -> str:
        """The record's codes as text."""
        del public, epoch, group
        return ",".join(map(str, record))

    def unseal(self, secret: str, epoch: int, group: int, sealed: str) -> Record | None:
        """The record that the text gives."""
        del secret, epoch, group
        try:
            return tuple(map(int, sealed.split(",")))
        except ValueError:
            return None
