"""Phases, messages and timing of the pool's protocol, and how records are sealed in it.

**Pool**, epoch after epoch::

    OPEN ──▶ COUNT ──▶ IDENTIFY ──▶ FORM ──▶ (publish the next table) OPEN …

- OPEN: the table of regions is public. An agent finds the region of its own record in it; no record is
  registered, so nobody but the agent knows that it joined.
- COUNT: whoever sent a query under a region in the overlap (the last part of OPEN) sends M1 = (epoch, group,
  token). It says that somebody in the group was online, and not who.
- IDENTIFY: groups with at least k counts are asked. Whoever sent M1 for one sends M2 = (epoch,
  group, token, sealed record). A relay keeps the sealed records and hands over a group's only when k of them
  are there (:mod:`tacit.pool.protocol.batches`); where the pool has no relay, its own store does the same.
- FORM: the records that were handed over are partitioned into the regions of the next table.

**Agent**::

    NEW ──▶ GUARDED or WAITING ──▶ COUNTED ──▶ IDENTIFIED ──▶ (next table) GUARDED or WAITING
                                      any of them ──▶ EXPIRED ──(random delay)──▶ NEW

**What holds**, whatever agents do, whenever workers die or clocks jump:

1. a region is published only if at least k distinct tokens identified themselves with a record inside it;
2. the pool sees records only in batches of at least k from one group;
3. a late, repeated or foreign message changes nothing (``Reply``);
4. a record d may use a region of a new table only if at least k people sent a query within the overlap under
   an old region that contains d, or under d*, or at least k people of the region itself are about to send one
   (:class:`tacit.pool.protocol.table.Table` says which). Then Definition 2 holds for overlaps of at most one
   half;
5. no region is used past its deadline, and every state of an agent ends by itself;
6. nothing of an epoch is left after the next table is published.

Records are sealed for the pool (HPKE, RFC 9180, base mode): what a relay carries, it cannot read. A pool
makes a key pair for each epoch and forgets it with the epoch. Epoch and group are bound in as associated
data.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from tacit.errors import InputError, ParameterError
from tacit.pool.protocol.template import Record
from tacit.validation import real, whole

VERSION = 1
"""The version of the messages; a message of another version is refused."""

UNGROUPED = -1
"""The U-group: people without a region who sent queries with d*, the whole domain."""

READY = -2
"""People without a region who hold a query back, and will send it as soon as they have one."""

LONGEST_SEALED = 4096
"""Characters of a sealed record."""


class Phase(StrEnum):
    """Where an epoch stands."""

    OPEN = "open"
    COUNT = "count"
    IDENTIFY = "identify"
    FORM = "form"


class AgentState(StrEnum):
    """Where an agent stands."""

    NEW = "new"
    GUARDED = "guarded"
    WAITING = "waiting"
    COUNTED = "counted"
    IDENTIFIED = "identified"
    EXPIRED = "expired"


class Reply(StrEnum):
    """What the pool does with a message."""

    ACCEPTED = "accepted"
    REPEATED = "repeated"
    """The same message came before; it counts once."""
    GONE = "gone"
    """Another epoch or phase: HTTP 410."""
    REFUSED = "refused"
    """A second message without its first, or for another group, or an unknown group: HTTP 403."""
    FULL = "full"
    """The epoch holds as many messages as it may: HTTP 503."""


@dataclass(frozen=True)
class Rules:
    """What a pool promises and how its time runs; all times in seconds (or any unit of time).

    Within ``window`` lie, one after another, the overlap in which the k people sent their queries, the two
    phases and the forming, the time a table is open, and once more the phases, during which the old table
    stays in use; the publication of either table may come up to ``skew`` / 2 late. So the queries of two
    people who share a region lie at most ``window`` apart::

        overlap + (phases + skew / 2) + (open + phases + skew / 2) = window

    Attributes:
        k: the least number of people who share a region.
        window: w, how far apart in time their queries may lie.
        overlap: p, the share of the usable time that is the overlap, above 0 and at most one half.
        count, identify, form: the length of the phases.
        skew: twice the time by which a publication may be late; later, it holds d* alone.
        capacity: how many first messages an epoch takes.
    """

    k: int = 30
    window: float = 120.0
    overlap: float = 0.5
    count: float = 4.0
    identify: float = 4.0
    form: float = 2.0
    skew: float = 2.0
    capacity: int = 2_000_000

    def __post_init__(self) -> None:
        for name, least in (("k", 2), ("capacity", 2)):
            object.__setattr__(self, name, whole(name, getattr(self, name), least))
        for name in ("window", "overlap", "count", "identify", "form", "skew"):
            object.__setattr__(self, name, real(name, getattr(self, name)))
        if not 0 < self.overlap <= 0.5:
            raise ParameterError.outside(
                "overlap",
                self.overlap,
                "above 0 and at most 0.5",
                "Above one half, somebody who confirms one overlap and not the next is singled out in time.",
            )
        for name in ("count", "identify", "form", "skew"):
            if getattr(self, name) < 0:
                raise ParameterError.outside(name, getattr(self, name), "at least 0")
        if self.capacity < self.k:
            raise ParameterError.outside("capacity", self.capacity, f"at least k, {self.k}")
        if self.window <= 2 * self.phases + self.skew:
            raise ParameterError.outside(
                "window",
                self.window,
                f"longer than twice the phases and the skew, {2 * self.phases + self.skew:g}",
                "Shorten the phases, or promise a longer window.",
            )

    @property
    def phases(self) -> float:
        """From the opening of the count to the next table."""
        return self.count + self.identify + self.form

    @property
    def usable(self) -> float:
        """What the phases and the skew leave of the window."""
        return self.window - 2 * self.phases - self.skew

    @property
    def overlap_length(self) -> float:
        """How long before the count a query makes its sender count as online."""
        return self.overlap * self.usable

    @property
    def open_length(self) -> float:
        """How long a table is open before the count; never shorter than the overlap."""
        return self.usable - self.overlap_length

    @property
    def lifetime(self) -> float:
        """How long a table may be used, from its publication: until the next is due, and a little more."""
        return self.open_length + self.phases + self.skew / 2

    def as_dict(self) -> dict[str, float]:
        """The rules as agents read them."""
        return asdict(self)


FORMS: dict[str, tuple[dict[str, Any], str]] = {
    "epoch": ({"type": "integer"}, "a whole number"),
    "group": ({"type": "integer"}, "a whole number"),
    "token": ({"type": "string", "pattern": "^[0-9a-f]{32}$"}, "32 hexadecimal digits"),
    "sealed": (
        {"type": "string", "pattern": f"^[ -~]{{1,{LONGEST_SEALED}}}$"},
        f"text of 1 to {LONGEST_SEALED} ASCII characters",
    ),
    "announcement": ({"type": "string", "pattern": "^[0-9a-f]{64}$"}, "64 hexadecimal digits"),
}
"""What each field of a message looks like, as a JSON schema and in words."""


def checked_field(name: str, value: object) -> Any:
    """The value, or an error that says what is wrong with its form and repeats nothing of it."""
    form, words = FORMS[name]
    fits = (
        type(value) is int
        if form["type"] == "integer"
        else isinstance(value, str) and re.fullmatch(form["pattern"][1:-1], value)
    )
    if not fits:
        raise InputError(f"a message's {name} must be {words}.")
    return value


def checked_fields(given: Mapping[str, Any], names: Iterable[str], *optional: str) -> list[Any]:
    """The values of a message with just these fields, or an error about its form."""
    version = given.get("version", VERSION)
    if isinstance(version, bool) or version != VERSION:
        raise InputError(f"a message must be of version {VERSION}.")
    values = [checked_field(name, given.get(name)) for name in names]
    if set(given) - {*names, "version", *optional}:
        raise InputError(f"a message has unknown keys; it has {', '.join(names)}.")
    return values


class _Message:
    """What both messages to a pool have in common."""

    __slots__ = ()

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Self:
        """The message, or an error that says what is wrong with its form."""
        return cls(*checked_fields(given, cls.__annotations__))

    def as_dict(self) -> dict[str, Any]:
        """As it is sent."""
        return {"version": VERSION} | {name: getattr(self, name) for name in self.__annotations__}


@dataclass(frozen=True, slots=True)
class FirstMessage(_Message):
    """M1: somebody who uses the group's region was online in the overlap (section 5.2, counting phase)."""

    epoch: int
    group: int
    token: str


@dataclass(frozen=True, slots=True)
class SecondMessage(_Message):
    """M2: the sender of M1 with this token has this record, sealed for the pool (identification phase)."""

    epoch: int
    group: int
    token: str
    sealed: str


def _context(epoch: int, group: int) -> bytes:
    return f"tacit pool 1, epoch {epoch}, group {group}".encode()


class HpkeSealing:
    """X25519 with HKDF-SHA256 and AES-128-GCM."""

    def __init__(self) -> None:
        self._suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
        self._read: tuple[str, X25519PrivateKey] | None = None

    def keys(self) -> tuple[str, str]:
        """A new key pair: public, and secret. The key that was used last is forgotten."""
        self._read = None
        key = X25519PrivateKey.generate()
        public, secret = key.public_key().public_bytes_raw(), key.private_bytes_raw()
        return base64.b64encode(public).decode(), base64.b64encode(secret).decode()

    def seal(self, public: str, epoch: int, group: int, record: Record) -> str:
        """The record, for whoever holds the secret key, in this epoch and group."""
        key = X25519PublicKey.from_public_bytes(base64.b64decode(public))
        packed = struct.pack(f">{len(record)}H", *record)
        return base64.b64encode(self._suite.encrypt(packed, key, _context(epoch, group))).decode()

    def unseal(self, secret: str, epoch: int, group: int, sealed: str) -> Record | None:
        """The record; None if this is nothing that was sealed for this key, epoch and group."""
        key = self._secret_key(secret)
        try:
            packed = self._suite.decrypt(base64.b64decode(sealed, validate=True), key, _context(epoch, group))
            return struct.unpack(f">{len(packed) // 2}H", packed)
        except (InvalidTag, ValueError, struct.error):
            return None

    def _secret_key(self, secret: str) -> X25519PrivateKey:
        """The key that ``secret`` tells; a batch is opened with one, which is read once."""
        if self._read is None or self._read[0] != secret:
            self._read = (secret, X25519PrivateKey.from_private_bytes(base64.b64decode(secret)))
        return self._read[1]
