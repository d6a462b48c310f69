"""Sealed records kept by a relay and handed over only in batches of at least k, and passes that admit people.

A relay keeps the second messages of an epoch. It cannot open them, and the pool does not get them before at
least k were sealed for the same **announcement**: the table of an epoch, a group in it, and the pool's key
for it. A batch comes all at once, shuffled, without addresses, times or tokens. A pool that hands out
different keys or tables, to recognise people by them, splits its own batches and gets none.

**What holds**, whatever agents and the pool do:

1. a batch has at least ``least`` messages with distinct tokens, of one announcement;
2. an announcement is handed over once: the first request closes it, later messages are refused, and a
   repeated request gets the same batch. Two batches that differ by one person never exist;
3. of an announcement with fewer messages nothing is told, not even how many came;
4. nothing is kept for longer than ``hold``, and after a restart nothing is accepted for as long: what was
   announced before is over by then.

**Passes**: a relay cannot distinguish k people from one who sends k messages. An issuer, a third party that
knows people by their accounts, gives each account one pass a period: a blind signature (RFC 9474,
RSABSSA-SHA384-PSS-Randomized) of the random token that its holder will send to the relay. The issuer never
sees the token, the relay never sees the account. The issuer makes a key a period and forgets the last one.
The relay accepts passes of this period and the last, each for one message, so somebody with s accounts is in
a batch at most 2 s times. The relay fetches the key itself: an issuer that gives somebody a key of their own
only makes a pass that the relay refuses.
"""

from __future__ import annotations

import base64
import hashlib
import math
import random
import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key

from tacit.errors import InputError, ParameterError, TacitError
from tacit.pool.protocol.messages import LONGEST_SEALED, VERSION, Reply, checked_fields

if TYPE_CHECKING:
    import httpx

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


PASSES_AT_ONCE = 2
"""How many passes of one account are good at the same time: this period's, and the last one's."""

_LONGEST = 1_024


def account_digest(secret: str) -> str:
    """What an issuer keeps of an account."""
    return hashlib.sha256(f"tacit pool account {secret}".encode()).hexdigest()


@dataclass(frozen=True)
class IssuedKey:
    """What an issuer tells everybody: its period, how long that lasts, and its keys of this and the last."""

    period: int
    every: float
    ends_in: float
    key: bytes
    last: bytes = b""

    def as_dict(self) -> dict[str, Any]:
        """As it is sent."""
        return {
            "period": self.period,
            "every": self.every,
            "ends_in": self.ends_in,
            "key": base64.b64encode(self.key).decode(),
            "last": base64.b64encode(self.last).decode(),
        }

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> IssuedKey:
        """The same, as it was received."""
        try:
            key, last = (base64.b64decode(given[name], validate=True) for name in ("key", "last"))
            return cls(int(given["period"]), float(given["every"]), float(given["ends_in"]), key, last)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("the issuer's key cannot be read.") from error


class IssuerUnreachableError(TacitError):
    """The issuer does not answer, or not as an issuer does."""


async def issued_key(address: str, http: httpx.AsyncClient) -> IssuedKey:
    """The issuer's key of the period."""
    import httpx

    try:
        answer = await http.get(address + "/v1/issuer")
        if answer.status_code != 200:
            raise IssuerUnreachableError(f"the issuer answered {answer.status_code}.")
        return IssuedKey.parse(answer.json())
    except (httpx.HTTPError, ValueError, AttributeError) as error:
        raise IssuerUnreachableError(f"the issuer does not answer ({type(error).__name__}).") from error


@dataclass(frozen=True, slots=True)
class AdmissionPass:
    """A pass: the issuer admitted whoever chose the token, in this period."""

    period: int
    token: str
    prefix: str
    signature: str

    def as_dict(self) -> dict[str, Any]:
        """As it goes along with a message, which has the token."""
        return {"period": self.period, "prefix": self.prefix, "signature": self.signature}

    @classmethod
    def parse(cls, given: object, token: str) -> AdmissionPass:
        """The pass of a message with this token; an error that repeats nothing of it."""
        if not isinstance(given, dict) or set(given) != {"period", "prefix", "signature"}:
            raise InputError("a pass has a period, a prefix and a signature.")
        texts = (given["prefix"], given["signature"])
        if type(given["period"]) is not int or not all(
            isinstance(text, str) and 0 < len(text) <= _LONGEST for text in texts
        ):
            raise InputError("a pass has a whole number as its period, and texts beside it.")
        return cls(given["period"], token, *texts)

    @classmethod
    def finished(
        cls, period: int, token: str, key: VerifyingKey, blinded: Blinded, signed: bytes
    ) -> AdmissionPass:
        """The pass, from what the issuer signed."""
        signature = base64.b64encode(key.finalize(blinded, signed)).decode()
        prefix = base64.b64encode(blinded.message[: -len(token)]).decode()
        return cls(period, token, prefix, signature)

    def holds(self, key: VerifyingKey) -> bool:
        """Was it signed with this key?"""
        try:
            message = base64.b64decode(self.prefix, validate=True) + self.token.encode()
            return key.verify(message, base64.b64decode(self.signature, validate=True))
        except ValueError:
            return False


class PassIssuer:
    """Gives each account one pass a period. Time is passed in, in seconds.

    Args:
        accounts: the digests of the accounts' secrets.
        every: the length of a period, at most that of an epoch of the pool.
    """

    def __init__(self, accounts: Iterable[str], every: float) -> None:
        if not 1 <= every < float("inf"):
            raise ParameterError.outside("every", every, "at least 1 second")
        self.every = every
        self._accounts = frozenset(accounts)
        self._lock = threading.Lock()
        self._period = -1
        self._signer: BlindSigner | None = None
        self._last = b""
        self._given: dict[str, bytes] = {}

    def present(self, now: float) -> IssuedKey:
        """This period's key."""
        with self._lock:
            signer = self._at(now)
            ends_in = (self._period + 1) * self.every - now
            return IssuedKey(self._period, self.every, ends_in, signer.public.to_bytes(), self._last)

    def _at(self, now: float) -> BlindSigner:
        period = int(now // self.every)
        if self._signer is None or period > self._period:
            follows = self._signer is not None and period == self._period + 1
            self._last = self._signer.public.to_bytes() if self._signer and follows else b""
            self._signer, self._period, self._given = BlindSigner(), period, {}
        return self._signer

    def sign(self, secret: str, period: int, request: bytes, now: float) -> tuple[Reply, bytes]:
        """Sign a blinded token for an account: once a period; asked the same again, the same comes out."""
        account = account_digest(secret)
        if account not in self._accounts:
            return Reply.REFUSED, b""
        with self._lock:
            signer = self._at(now)
            if period != self._period:
                return Reply.GONE, b""
            known = self._given.setdefault(account, request)
            if known != request:
                return Reply.REPEATED, b""
            try:
                return Reply.ACCEPTED, signer.sign(request)
            except InputError:
                del self._given[account]
                raise


class PassVerifier:
    """The relay's side: which passes are good, and which are spent. Time is passed in, in seconds."""

    def __init__(self) -> None:
        self._keys: dict[int, VerifyingKey] = {}
        self._spent: dict[int, dict[str, str]] = {}
        self._present = -1
        self._until = float("-inf")

    def stale(self, now: float, period: int = -1) -> bool:
        """Is it time to ask the issuer for its key: by the clock, or since somebody shows a later period?"""
        return now >= self._until or period > self._present

    def learn(self, issued: IssuedKey, now: float) -> None:
        """The issuer's keys of this period and the last; the first one of a period stays."""
        if issued.period < self._present:
            return
        self._present, self._until = issued.period, now + max(0.0, issued.ends_in)
        for period, key in ((issued.period, issued.key), (issued.period - 1, issued.last)):
            if key and period not in self._keys:
                self._keys[period] = VerifyingKey.from_bytes(key)
        first = issued.period - PASSES_AT_ONCE + 1
        self._keys = {period: key for period, key in self._keys.items() if period >= first}
        self._spent = {period: spent for period, spent in self._spent.items() if period >= first}

    def spend(self, shown: AdmissionPass, announcement: str) -> bool:
        """Take a pass for a message to an announcement; the same message may come again."""
        key = self._keys.get(shown.period)
        if key is None or not shown.holds(key):
            return False
        return self._spent.setdefault(shown.period, {}).setdefault(shown.token, announcement) == announcement


_REMEMBERED = 1_000_000
"""How many announcements that were handed over a keeper remembers."""


def announcement_digest(table_digest: str, group: int, public_key: str) -> str:
    """What messages for one group of one table, sealed for one key, have in common."""
    said = f"tacit pool 1, table {table_digest}, group {group}, key {public_key}"
    return hashlib.sha256(said.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SealedMessage:
    """M2 on its way through a relay.

    The token is a fresh one: with that of M1, a pool that saw M1's address could tell whose record it opens.
    """

    announcement: str
    token: str
    sealed: str
    admission: AdmissionPass | None = None
    """Where the relay wants one: a pass for this token."""

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> SealedMessage:
        """The message, or an error that says what is wrong with its form and repeats nothing of it."""
        announcement, token, sealed = checked_fields(given, ("announcement", "token", "sealed"), "pass")
        shown = given.get("pass")
        return cls(announcement, token, sealed, None if shown is None else AdmissionPass.parse(shown, token))

    def as_dict(self) -> dict[str, Any]:
        """As it is sent."""
        said: dict[str, Any] = {
            "version": VERSION,
            "announcement": self.announcement,
            "token": self.token,
            "sealed": self.sealed,
        }
        return said if self.admission is None else said | {"pass": self.admission.as_dict()}


class Handover(Protocol):
    """How a pool gets what a relay kept."""

    def hand_over(self, announcements: Sequence[str]) -> dict[str, list[str]]:
        """The batches of those announcements that have one; none where the relay cannot be reached."""


class BatchKeeper:
    """What a relay keeps, without clock or network: time is passed in.

    Args:
        least: the fewest messages of a batch. It is the relay's own promise, not the pool's word.
        began: when this relay began.
        hold: for how long messages are kept, in seconds; at least as long as the pool takes them.
        capacity: how many characters of sealed records are kept at once.
    """

    def __init__(self, least: int, began: float, *, hold: float = 60.0, capacity: int = 256_000_000) -> None:
        if type(least) is not int or least < 2:
            raise ParameterError.outside("k", least, "a whole number of at least 2")
        if not 0 < hold < float("inf"):
            raise ParameterError.outside("hold", hold, "above 0 seconds")
        if capacity < least * LONGEST_SEALED:
            raise ParameterError.outside(
                "capacity", capacity, f"enough for a batch, {least * LONGEST_SEALED}"
            )
        self.least, self.hold, self.capacity = least, hold, capacity
        self._takes_from = began + hold
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, dict[str, str]]] = {}
        """By announcement, in the order in which they began: since when, and the sealed records by token."""
        self._size = 0
        self._over: dict[str, tuple[float, list[str]]] = {}
        """By announcement, in the order in which they were handed over: when, and what."""
        self._full: list[str] = []
        """Those of them whose batch is still there to be repeated, in the same order."""

    def take(self, message: SealedMessage, now: float) -> Reply:
        """Keep a message; the first of a token stays."""
        with self._lock:
            self._forget(now)
            if now < self._takes_from or message.announcement in self._over:
                return Reply.GONE
            _, kept = self._kept.get(message.announcement, (now, {}))
            if message.token in kept:
                return Reply.REPEATED
            if self._size + len(message.sealed) > self.capacity:
                return Reply.FULL
            kept[message.token] = message.sealed
            self._kept.setdefault(message.announcement, (now, kept))
            self._size += len(message.sealed)
            return Reply.ACCEPTED

    def hand_over(self, announcements: Sequence[str], now: float) -> dict[str, list[str]]:
        """Close the announcements; the batches of those that have enough messages, shuffled."""
        with self._lock:
            self._forget(now)
            for announcement in announcements:
                if announcement not in self._over:
                    self._close(announcement, now)
            found = {announcement: self._over[announcement][1] for announcement in announcements}
            return {announcement: list(batch) for announcement, batch in found.items() if batch}

    def _close(self, announcement: str, now: float) -> None:
        _, kept = self._kept.pop(announcement, (now, {}))
        self._size -= sum(map(len, kept.values()))
        batch = list(kept.values()) if len(kept) >= self.least else []
        random.SystemRandom().shuffle(batch)
        self._over[announcement] = (now, batch)
        if batch:
            self._full.append(announcement)
        if len(self._over) > _REMEMBERED:
            del self._over[next(iter(self._over))]

    def _forget(self, now: float) -> None:
        """Drop what was kept for too long, unread, and batches that were handed over long ago."""
        while self._kept:
            announcement = next(iter(self._kept))
            since, kept = self._kept[announcement]
            if now - since < self.hold:
                break
            del self._kept[announcement]
            self._size -= sum(map(len, kept.values()))
        while self._full and now - self._over.get(self._full[0], (float("-inf"), []))[0] >= self.hold:
            announcement = self._full.pop(0)
            if announcement in self._over:
                self._over[announcement] = (now, [])
