"""Passes: one person cannot be k. Who admits people does not see what their passes are used for.

A relay cannot tell k people from one who sends k messages. An **issuer**, a third party that knows people by
their accounts, gives each account one pass a period. A pass is a blind signature
(:mod:`tacit.pool.blind_rsa`) of the random token that its holder will send to the relay: the issuer never
sees the token, the relay never sees the account, and together they cannot match the two.

- The issuer makes a key a period and forgets the last one: nobody saves passes up.
- The relay takes passes of this period and the last, each for one message. So somebody with s accounts is in
  a batch at most 2 s times (:data:`PASSES_AT_ONCE`).
- The relay fetches the key itself. An issuer that gives somebody a key of their own, to recognise them by,
  only makes a pass that the relay refuses.
"""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tacit.errors import InputError, ParameterError
from tacit.pool.blind_rsa import Blinded, BlindSigner, VerifyingKey
from tacit.pool.protocol import Reply

__all__ = ["PASSES_AT_ONCE", "AdmissionPass", "IssuedKey", "PassIssuer", "PassVerifier", "account_digest"]

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
