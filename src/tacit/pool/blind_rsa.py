"""Blind signatures with RSA (RFC 9474, RSABSSA-SHA384-PSS-Randomized).

Who signs does not see what; what comes out is an ordinary RSA-PSS signature, which nobody can match with the
moment it was signed. Section numbers are those of the RFC. Key making and verification come from
``cryptography``; the blinding is arithmetic on top.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key

from tacit.errors import InputError

__all__ = ["PREFIX", "BlindSigner", "Blinded", "VerifyingKey", "encoded"]

_HASH = hashlib.sha384
_SALT = _HASH().digest_size
PREFIX = 32
"""Random bytes before a message (section 4.1), so that a signer learns nothing from a chosen message."""


def _mask(seed: bytes, length: int) -> bytes:
    """MGF1 of PKCS #1 (RFC 8017, appendix B.2.1)."""
    blocks = range(-(-length // _SALT))
    return b"".join(_HASH(seed + block.to_bytes(4, "big")).digest() for block in blocks)[:length]


def encoded(message: bytes, bits: int, salt: bytes) -> bytes:
    """EMSA-PSS-ENCODE of PKCS #1 (RFC 8017, section 9.1.1) for ``bits`` bits."""
    length = -(-bits // 8)
    digest = _HASH(bytes(8) + _HASH(message).digest() + salt).digest()
    block = bytes(length - len(salt) - len(digest) - 2) + b"\x01" + salt
    masked = bytearray(a ^ b for a, b in zip(block, _mask(digest, len(block)), strict=True))
    masked[0] &= 0xFF >> (8 * length - bits)
    return bytes(masked) + digest + b"\xbc"


@dataclass(frozen=True)
class Blinded:
    """A message on its way to be signed, and what takes the blinding away again."""

    message: bytes
    """With its random prefix: what the signature will be of."""
    request: bytes
    """What the signer sees."""
    inverse: int


class VerifyingKey:
    """The public part of a signer's key."""

    def __init__(self, key: rsa.RSAPublicKey) -> None:
        numbers = key.public_numbers()
        self.n, self.e = numbers.n, numbers.e
        self.length = -(-self.n.bit_length() // 8)
        self._key = key

    @classmethod
    def from_bytes(cls, data: bytes) -> VerifyingKey:
        """A key as :meth:`to_bytes` writes it.

        Raises:
            InputError: what is none, or too short to rely on.
        """
        try:
            key = load_der_public_key(data)
        except ValueError as error:
            raise InputError("this is no public key.") from error
        if not isinstance(key, rsa.RSAPublicKey) or key.key_size < 2048:
            raise InputError("a key for blind signatures is an RSA key of at least 2,048 bits.")
        return cls(key)

    def to_bytes(self) -> bytes:
        """As DER (SubjectPublicKeyInfo)."""
        return self._key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    def blind(self, message: bytes) -> Blinded:
        """Prepare a message and blind it (sections 4.1 and 4.2)."""
        factor = secrets.randbelow(self.n - 1) + 1
        while math.gcd(factor, self.n) != 1:
            factor = secrets.randbelow(self.n - 1) + 1
        prepared = secrets.token_bytes(PREFIX) + message
        return self.blind_prepared(prepared, secrets.token_bytes(_SALT), pow(factor, -1, self.n))

    def blind_prepared(self, prepared: bytes, salt: bytes, inverse: int) -> Blinded:
        """Blind a prepared message with this salt and the inverse of this factor (known answers need it)."""
        number = int.from_bytes(encoded(prepared, self.n.bit_length() - 1, salt), "big")
        hidden = number * pow(pow(inverse, -1, self.n), self.e, self.n) % self.n
        return Blinded(prepared, hidden.to_bytes(self.length, "big"), inverse)

    def finalize(self, blinded: Blinded, signed: bytes) -> bytes:
        """The signature of the prepared message (section 4.4).

        Raises:
            InputError: what came back was not signed with this key.
        """
        number = int.from_bytes(signed, "big") * blinded.inverse % self.n
        signature = number.to_bytes(self.length, "big")
        if len(signed) != self.length or not self.verify(blinded.message, signature):
            raise InputError("what came back is no signature of this key.")
        return signature

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Is this a signature of a prepared message (section 4.5)?"""
        pss = padding.PSS(padding.MGF1(SHA384()), _SALT)
        try:
            self._key.verify(signature, message, pss, SHA384())
        except InvalidSignature:
            return False
        return True


class BlindSigner:
    """A key that signs what it cannot see."""

    def __init__(self, key: rsa.RSAPrivateKey | None = None) -> None:
        key = key or rsa.generate_private_key(65_537, 2_048)
        numbers = key.private_numbers()
        self.public = VerifyingKey(key.public_key())
        self._p, self._q = numbers.p, numbers.q
        self._exponents = (numbers.dmp1, numbers.dmq1, numbers.iqmp)

    def sign(self, request: bytes) -> bytes:
        """Sign a blinded message (section 4.3).

        Raises:
            InputError: the message does not fit the key.
        """
        n, e = self.public.n, self.public.e
        number = int.from_bytes(request, "big")
        if len(request) != self.public.length or number >= n:
            raise InputError("a blinded message must be a number below the key's modulus, of its length.")
        mine = secrets.randbelow(n - 2) + 2  # a blinding of the signer's own, so that times tell nothing
        power = self._power(number * pow(mine, e, n) % n) * pow(mine, -1, n) % n
        if pow(power, e, n) != number:
            raise InputError("signing failed.", "Ask again.")
        return power.to_bytes(self.public.length, "big")

    def _power(self, number: int) -> int:
        """The number to the private exponent, by the Chinese remainder theorem."""
        dp, dq, inverse = self._exponents
        first, second = pow(number % self._p, dp, self._p), pow(number % self._q, dq, self._q)
        return second + self._q * ((first - second) * inverse % self._p)
