"""Privacy Pass tokens of type 2 (RFC 9578, section 6): blind RSA signatures (RFC 9474) that admit people.

An issuer knows people by their accounts and signs what it cannot see, so a key of its own says which period
a token is for. The signature is RSABSSA-SHA384-PSS-Deterministic: the nonce of a token is random, and needs
no further prefix. Section numbers are those of RFC 9474 unless said otherwise.
"""

import hashlib
import secrets
import struct
from dataclasses import dataclass
from functools import cached_property

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tacit.errors import InputError

BATCH_SIZE = 1 << 18
"""Bytes of a request for a batch of tokens, and of its answer, before they are sealed."""
MOST_TOKENS = 400
"""Tokens in one batch."""
TOKEN_TYPE = 2
_HASH = hashlib.sha384
_SALT = _HASH().digest_size
_TYPE = struct.pack(">H", TOKEN_TYPE)
_NONCE = _DIGEST = 32
NONCE, SIGNATURE = slice(2, 2 + _NONCE), slice(2 + _NONCE + 2 * _DIGEST, None)
"""Where they stand in a token."""
_PSS = bytes.fromhex(
    "303d06092a864886f70d01010a3030a00d300b0609608648016503040202a11a301806092a864886f70d0101083"
    "00b0609608648016503040202a203020130"
)
"""The algorithm of a token's key: RSASSA-PSS with SHA-384, MGF1 with SHA-384, and a salt of 48 bytes."""


def _mask(seed: bytes, length: int) -> bytes:
    """MGF1 of PKCS #1 (RFC 8017, appendix B.2.1)."""
    blocks = range(-(-length // _SALT))
    return b"".join(_HASH(seed + block.to_bytes(4, "big")).digest() for block in blocks)[:length]


def _encoded(message: bytes, bits: int, salt: bytes) -> bytes:
    """EMSA-PSS-ENCODE of PKCS #1 (RFC 8017, section 9.1.1) for ``bits`` bits."""
    length = -(-bits // 8)
    digest = _HASH(bytes(8) + _HASH(message).digest() + salt).digest()
    block = bytes(length - len(salt) - len(digest) - 2) + b"\x01" + salt
    masked = bytearray(a ^ b for a, b in zip(block, _mask(digest, len(block)), strict=True))
    masked[0] &= 0xFF >> (8 * length - bits)
    return bytes(masked) + digest + b"\xbc"


def _der(tag: int, content: bytes) -> bytes:
    length = len(content)
    if length < 0x80:
        return bytes([tag, length]) + content
    size = length.to_bytes(-(-length.bit_length() // 8), "big")
    return bytes([tag, 0x80 | len(size)]) + size + content


class VerifyingKey:
    """The public part of an issuer's key for one period."""

    def __init__(self, key: rsa.RSAPublicKey) -> None:
        numbers = key.public_numbers()
        self.n, self.e = numbers.n, numbers.e
        self.length = -(-self.n.bit_length() // 8)
        self._key = key

    @classmethod
    def from_bytes(cls, data: bytes) -> "VerifyingKey":
        """Read a key as :meth:`to_bytes` writes it, if it is one and long enough to rely on."""
        at = data.find(_PSS)
        found = data[at + len(_PSS) :] if at >= 0 else b""
        try:  # the key stands behind the head of the bit string
            key = serialization.load_der_public_key(found[found.index(b"\x00") + 1 :])
        except ValueError as error:
            raise InputError("this is no public key of a token issuer.") from error
        if not isinstance(key, rsa.RSAPublicKey) or key.key_size < 2048:
            raise InputError("a key for tokens is an RSA key of at least 2,048 bits.")
        if (read := cls(key)).to_bytes() != data:
            raise InputError("a public key of a token issuer is not written as RFC 9578 writes it.")
        return read

    def to_bytes(self) -> bytes:
        """As DER with the algorithm of RSASSA-PSS (RFC 9578, section 6.5)."""
        key = self._key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.PKCS1)
        return _der(0x30, _PSS + _der(0x03, b"\x00" + key))

    @cached_property
    def identifier(self) -> bytes:
        """Names the key in a token."""
        return hashlib.sha256(self.to_bytes()).digest()

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Check a signature of the message (section 4.5)."""
        pss = padding.PSS(padding.MGF1(hashes.SHA384()), _SALT)
        try:
            self._key.verify(signature, message, pss, hashes.SHA384())
        except InvalidSignature:
            return False
        return True


class BlindSigner:
    """A key that signs what it cannot see."""

    def __init__(self, key: rsa.RSAPrivateKey | None = None) -> None:
        self._key = key or rsa.generate_private_key(65_537, 2_048)
        numbers = self._key.private_numbers()
        self.public = VerifyingKey(self._key.public_key())
        self._p, self._q = numbers.p, numbers.q
        self._exponents = (numbers.dmp1, numbers.dmq1, numbers.iqmp)

    @classmethod
    def from_bytes(cls, data: bytes) -> "BlindSigner":
        """A key as :meth:`to_bytes` writes it."""
        key = serialization.load_der_private_key(data, None)
        assert isinstance(key, rsa.RSAPrivateKey)
        return cls(key)

    def to_bytes(self) -> bytes:
        """The secret key, for the issuer's own file."""
        return self._key.private_bytes(
            serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def sign(self, request: bytes) -> bytes:
        """Sign a blinded message that fits the key (section 4.3)."""
        n, e = self.public.n, self.public.e
        number = int.from_bytes(request, "big")
        if len(request) != self.public.length or number >= n:
            raise InputError("a blinded message must be a number below the key's modulus, of its length.")
        mine = secrets.randbelow(n - 2) + 2  # a blinding of the signer's own, so that times tell nothing
        power = self._power(number * pow(mine, e, n) % n) * pow(mine, -1, n) % n
        if pow(power, e, n) != number:  # a fault in one half would betray the key's primes
            raise InputError("signing failed.", "Ask again.")
        return power.to_bytes(self.public.length, "big")

    def _power(self, number: int) -> int:
        """The number to the private exponent, by the Chinese remainder theorem."""
        dp, dq, inverse = self._exponents
        first, second = pow(number % self._p, dp, self._p), pow(number % self._q, dq, self._q)
        return second + self._q * ((first - second) * inverse % self._p)


def challenge(issuer: str, origin: str, context: bytes = b"") -> bytes:
    """Return what a token is good for: an issuer's, at an origin, in a context (RFC 9577, section 2.1.1)."""
    whose, where = (struct.pack(">H", len(name)) + name for name in (issuer.encode(), origin.encode()))
    return _TYPE + whose + bytes([len(context)]) + context + where


@dataclass(frozen=True)
class PendingToken:
    """A token that its issuer has not signed yet (RFC 9578, section 6.1).

    The issuer sees of the ``message`` what is ``blinded``; ``inverse`` takes the blinding away again.
    """

    key: VerifyingKey
    message: bytes
    blinded: bytes
    inverse: int

    @property
    def request(self) -> bytes:
        """The TokenRequest: the type, the last byte of the key's name, the blinded message."""
        return _TYPE + self.key.identifier[-1:] + self.blinded

    def finish(self, response: bytes) -> bytes:
        """The token, if what came back was signed with this key (section 4.4; RFC 9578, section 6.3)."""
        number = int.from_bytes(response, "big") * self.inverse % self.key.n
        signature = number.to_bytes(self.key.length, "big")
        if len(response) != self.key.length or not self.key.verify(self.message, signature):
            raise InputError("what came back is no signature of this key.")
        return self.message + signature


def token_input(key: VerifyingKey, asked: bytes, nonce: bytes) -> bytes:
    """Return what is signed of a token for the challenge ``asked`` (RFC 9578, section 6.1)."""
    return _TYPE + nonce + hashlib.sha256(asked).digest() + key.identifier


def blinded_token(key: VerifyingKey, message: bytes, salt: bytes, factor: int) -> PendingToken:
    """Blind what is to be signed with this salt and factor (section 4.2)."""
    number = int.from_bytes(_encoded(message, key.n.bit_length() - 1, salt), "big")
    hidden = number * pow(factor, key.e, key.n) % key.n
    return PendingToken(key, message, hidden.to_bytes(key.length, "big"), pow(factor, -1, key.n))


def new_token(key: VerifyingKey, asked: bytes, nonce: bytes, seed: bytes) -> PendingToken:
    """Begin a token with this nonce; salt and blinding factor follow from ``seed``, which nobody else knows.

    An issuer signs one request of a period, and the same again: whoever loses its answer needs the same seed.
    """
    drawn = hashlib.shake_256(seed + key.identifier).digest(_SALT + key.length + 16)
    factor = int.from_bytes(drawn[_SALT:], "big") % (key.n - 1) + 1  # 16 bytes more: all are as likely
    return blinded_token(key, token_input(key, asked, nonce), drawn[:_SALT], factor)


def sign_token(signer: BlindSigner, request: bytes) -> bytes:
    """The TokenResponse to a TokenRequest (RFC 9578, section 6.2)."""
    if request[:2] != _TYPE or request[2:3] != signer.public.identifier[-1:]:
        raise InputError("a request for a token must be of type 2 and for this key.", "Fetch the keys again.")
    return signer.sign(request[3:])


def token_holds(key: VerifyingKey, asked: bytes, token: bytes) -> bool:
    """Did the issuer sign this token for this challenge (RFC 9578, section 6.4)?"""
    message, signature = token[: SIGNATURE.start], token[SIGNATURE]
    return message == token_input(key, asked, token[NONCE]) and key.verify(message, signature)
