"""The proof that k people asked: what a pool shows a device after its query, if the join file promises it.

The nonce of a token is the digest of a key that its device keeps for that one period. With each deposit the
device signs a **voucher**: that it asked in this slot of time (a window long), from a leaf that it commits to
by a chain of digests, from a salted leaf up to the root. What lies below a node v on that chain is a random
number to whoever does not know the salt, so a voucher is shown for v without its leaf. k vouchers with tokens
of one period are k accounts of the issuer that asked from inside v.
"""

import base64
import hashlib
import secrets
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.errors import InputError
from tacit.pool.channel.join import JoinFile, is_signed, token_challenge
from tacit.pool.channel.tokens import VerifyingKey, token_holds, token_input

AT_ONCE = 20
"""Vouchers in one answer: as many as fit into the size that all have."""
_FIELDS = struct.Struct(">32s64sQ32s")
OFF = 0.25
"""Windows by which a device's clock may be off."""


def slots(now: float, window: float, back: float) -> range:
    """The slots from ``back`` windows ago to the present one."""
    return range(int(now / window - back), int(now / window + OFF) + 1)


def key_digest(key: bytes) -> bytes:
    """The nonce of a token that belongs to this key."""
    return hashlib.sha256(key).digest()


def _climbed(below: bytes, nodes: Iterable[int]) -> bytes:
    for node in nodes:
        below = hashlib.sha256(below + node.to_bytes(4, "big")).digest()
    return below


@dataclass(frozen=True)
class Voucher:
    """A device's signature that it asked.

    Attributes:
        key: its public key for one period.
        signature: of the pool, the slot and the chain's end.
        slot: the time that it asked at, in whole windows.
        below: the digest below the node that it is shown for; the salt, below its leaf.
        token: the issuer's signature of the token with this key.
    """

    key: bytes
    signature: bytes
    slot: int
    below: bytes
    token: bytes = b""

    @classmethod
    def signed(cls, key: Ed25519PrivateKey, join: JoinFile, leaf: int, now: float) -> "Voucher":
        """Sign that somebody in this leaf asks now."""
        slot, salt = int(now / join.rules.window), secrets.token_bytes(32)
        signature = key.sign(_statement(join, slot, _climbed(salt, join.tree.paths[leaf])))
        return cls(key.public_key().public_bytes_raw(), signature, slot, salt)

    @classmethod
    def parse(cls, text: str) -> "Voucher":
        """A voucher as :meth:`to_text` writes it."""
        data = base64.b64decode(text, validate=True)
        if len(data) < _FIELDS.size:
            raise InputError("a voucher ends too early.")
        key, signature, slot, below = _FIELDS.unpack_from(data)
        return cls(key, signature, slot, below, data[_FIELDS.size :])

    def to_text(self) -> str:
        """The voucher in base64."""
        fields = _FIELDS.pack(self.key, self.signature, self.slot, self.below)
        return base64.b64encode(fields + self.token).decode()

    def shown_for(self, node: int, path: Sequence[int]) -> "Voucher":
        """The voucher as others see it: for a node on its leaf's path, and nothing below."""
        return replace(self, below=_climbed(self.below, path[: path.index(node)]))

    def holds(self, join: JoinFile, node: int) -> bool:
        """Did this key sign, for this pool and slot, that its leaf lies in the node?"""
        chain = _climbed(self.below, join.tree.above(node))
        return is_signed(self.key.hex(), _statement(join, self.slot, chain), self.signature.hex())


def _statement(join: JoinFile, slot: int, chain: bytes) -> bytes:
    return f"tacit pool asked {join.digest} {slot} {chain.hex()}".encode()


def proves(
    join: JoinFile, key: VerifyingKey, period: int, node: int, shown: Iterable[Voucher], now: float
) -> bool:
    """Do these vouchers, with tokens of the issuer's key of a period, prove that k accounts asked lately?

    They asked from inside the node; ``now`` is this device's clock, in seconds since 1970.
    """
    asked, recent = token_challenge(join, period), slots(now, join.rules.window, 2)
    people = {
        each.key
        for each in shown
        if each.slot in recent
        and each.holds(join, node)
        and token_holds(key, asked, token_input(key, asked, key_digest(each.key)) + each.token)
    }
    return len(people) >= join.rules.k
