"""The join file: everything a person needs to use a pool, in one file signed by whoever runs it.

It names the parties' addresses and identities, what is promised (k, w, the period of tokens), and the public
tree. An **identity** is an Ed25519 key that stays the same; it signs the keys that a party draws anew at each
start (:class:`Announcement`), so that whatever was sealed before a restart opens no more, and nobody on the
way can put a key of their own in its place. Everybody gets announcements from one copy that the relay keeps.

A person's device remembers what it was promised (:class:`Promise`), and refuses a later file of the same pool
that promises less.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.errors import InputError, ParameterError
from tacit.files import atomic_file, check_output
from tacit.pool.channel.tokens import challenge
from tacit.pool.protocol.counting import Rules
from tacit.pool.protocol.template import Template, parse_template
from tacit.pool.protocol.tree import Tree

VERSION = 2
PARTIES = ("pool", "gateway", "issuer")
"""Who has an identity; a relay needs none."""

_SECRET = re.compile(r"[0-9a-f]{64}")
_LARGEST = 4 << 20


class Identity:
    """A party's lasting key: 32 secret bytes in a file that only its owner can read."""

    def __init__(self, secret: str) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret))
        self.public = self._key.public_key().public_bytes_raw().hex()

    def sign(self, data: bytes) -> str:
        """The signature in hexadecimal digits."""
        return self._key.sign(data).hex()

    @classmethod
    def kept(cls, path: Path, *, make: bool = False) -> Identity:
        """The identity in a file; with ``make``, a new one where there is no such file."""
        if make and not path.exists():
            with atomic_file(path, mode=0o600) as temporary:
                temporary.write_text(secrets.token_hex(32) + "\n", encoding="ascii")
        return cls(read_secret(path))


def read_secret(path: Path) -> str:
    """The secret in a file.

    Raises:
        InputError: there is none; nothing of the file is repeated.
    """
    try:
        found = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the secret in {path} cannot be read.", "Whoever made it can copy it here."
        ) from error
    if not _SECRET.fullmatch(found):
        raise InputError(
            f"{path} holds no secret; a secret is 64 hexadecimal digits.", "Name a new file to make one."
        )
    return found


def is_signed(public: str, data: bytes, signature: object) -> bool:
    """Did the holder of this identity sign the data?"""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(bytes.fromhex(str(signature)), data)
    except (InvalidSignature, ValueError):
        return False
    return True


def _canonical(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def signed(identity: Identity, content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with its signature beside it."""
    return {**content, "signature": identity.sign(_canonical(content))}


def checked(public: str, given: Mapping[str, Any], what: str) -> dict[str, Any]:
    """The content without its signature.

    Raises:
        InputError: it was not signed with this key.
    """
    content = {name: value for name, value in given.items() if name != "signature"}
    if not is_signed(public, _canonical(content), given.get("signature")):
        raise InputError(f"the signature of {what} is wrong.", "Get it again from whoever runs the pool.")
    return content


def _address(name: str, text: object) -> str:
    parts = urlsplit(text if isinstance(text, str) else "")
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ParameterError.outside(name, repr(text), "an address such as https://relay.example/")
    return str(text).rstrip("/")


@dataclass(frozen=True)
class JoinFile:
    """What a pool is.

    Attributes:
        rules: what it promises.
        tree: the public tree of regions.
        people: for how many people within a window the tree was made.
        relay: where sealed requests go. It learns addresses, and nothing of what is asked.
        pool: the relay passes requests on to this address.
        gateway: the service's gateway, which opens texts.
        issuer: who gives accounts their tokens; None admits anybody, any number of times.
        keys: where the one copy of the parties' keys is.
        identities: of each party, in hexadecimal digits.
        direct: an address at which the engine itself may be asked without the pool, from the person's own
            address; a person must ask for that by a word of their own.
    """

    rules: Rules
    tree: Tree
    people: int
    relay: str
    pool: str
    gateway: str
    identities: Mapping[str, str]
    issuer: str | None = None
    keys: str = ""
    direct: str | None = None

    def __post_init__(self) -> None:
        for name in ("relay", "pool", "gateway"):
            object.__setattr__(self, name, _address(name, getattr(self, name)))
        for name in ("issuer", "direct"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _address(name, getattr(self, name)))
        object.__setattr__(self, "keys", _address("keys", self.keys or f"{self.relay}/keys"))
        needed = [party for party in PARTIES if party != "issuer" or self.issuer is not None]
        if sorted(self.identities) != sorted(needed) or not all(
            isinstance(each, str) and _SECRET.fullmatch(each) for each in self.identities.values()
        ):
            raise InputError(f"a join file must have an identity for each of {', '.join(needed)}.")

    @property
    def template(self) -> Template:
        """What a record is."""
        return self.tree.template

    @cached_property
    def content(self) -> dict[str, Any]:
        """What is signed."""
        return {
            "tacit pool": VERSION,
            "k": self.rules.k,
            "window": self.rules.window,
            "period": self.rules.period,
            "people": self.people,
            "relay": self.relay,
            "keys": self.keys,
            "pool": self.pool,
            "gateway": self.gateway,
            "issuer": self.issuer,
            "direct": self.direct,
            "identities": dict(self.identities),
            "template": self.template.as_dict(),
            "tree": self.tree.as_dict(),
            "tree digest": self.tree.digest,
        }

    @cached_property
    def digest(self) -> str:
        """Names the file: what all parties mean by this pool."""
        return hashlib.sha256(_canonical(self.content)).hexdigest()

    def write(self, path: Path, identity: Identity, *, force: bool = False) -> None:
        """Sign the file with the pool's identity and write it."""
        if identity.public != self.identities["pool"]:
            raise InputError("a join file is signed with the identity of its pool.")
        check_output(path, force=force)
        with atomic_file(path) as temporary:
            text = json.dumps(signed(identity, self.content), indent=1, ensure_ascii=False)
            temporary.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def parse(cls, given: object) -> JoinFile:
        """A join file that was read, if it is signed with the identity that it names."""
        if not isinstance(given, dict) or given.get("tacit pool") != VERSION:
            raise InputError(f"this is no join file of version {VERSION}.", "Ask for the pool's.")
        try:
            content = checked(given["identities"]["pool"], given, "the join file")
            tree = Tree.parse(content["tree"], parse_template(content["template"]))
            found = cls(
                Rules(content["k"], content["window"], content["period"]),
                tree,
                int(content["people"]),
                content["relay"],
                content["pool"],
                content["gateway"],
                content["identities"],
                content["issuer"],
                content["keys"],
                content["direct"],
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError("the join file lacks a part, or has one of the wrong kind.") from error
        if content["tree digest"] != tree.digest or found.content != content:
            raise InputError("the join file does not describe its own tree or has parts unknown here.")
        return found

    @classmethod
    def read(cls, path: str | Path) -> JoinFile:
        """Read and check a join file."""
        try:
            text = Path(path).read_bytes()
            given = json.loads(text) if len(text) <= _LARGEST else None
        except OSError as error:
            raise InputError(f"the join file {path} cannot be read: {error.strerror}.") from error
        except (ValueError, RecursionError):
            given = None
        return cls.parse(given)


def token_challenge(join: JoinFile, period: int) -> bytes:
    """What a token of a period is good for: this pool, and this period alone."""
    context = hashlib.sha256(f"{join.identities['pool']} {period}".encode()).digest()
    issuer, origin = (urlsplit(address or "").netloc for address in (join.issuer, join.pool))
    return challenge(issuer, origin, context)


@dataclass(frozen=True)
class Announcement:
    """What a party says of the key it drew at its start, signed with its identity.

    Attributes:
        party: one of :data:`PARTIES`.
        join: the digest of the join file it serves.
        key: for the pool and the gateway, the key configurations of Oblivious HTTP; for the issuer too.
        tokens: the issuer's token keys by period, in base64.
    """

    party: str
    join: str
    key: bytes
    tokens: Mapping[int, bytes] = field(default_factory=dict)

    def as_dict(self, identity: Identity) -> dict[str, Any]:
        """As it is published."""
        content: dict[str, Any] = {
            "party": self.party,
            "join": self.join,
            "key": base64.b64encode(self.key).decode(),
        }
        if self.tokens:
            content["tokens"] = {str(at): base64.b64encode(key).decode() for at, key in self.tokens.items()}
        return signed(identity, content)

    @classmethod
    def parse(cls, given: object, party: str, join: JoinFile) -> Announcement:
        """A party's announcement, if it signed it for this pool."""
        if not isinstance(given, dict):
            raise InputError(f"the keys of the {party} cannot be read.")
        content = checked(join.identities[party], given, f"the keys of the {party}")
        if content.get("party") != party or content.get("join") != join.digest:
            raise InputError(
                f"the {party} serves another pool, or this pool with another join file.",
                "Get the present join file from whoever runs the pool.",
            )
        try:
            tokens = {int(at): base64.b64decode(key) for at, key in content.get("tokens", {}).items()}
            return cls(party, join.digest, base64.b64decode(content["key"]), tokens)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"the keys of the {party} cannot be read.") from error


@dataclass(frozen=True)
class Promise:
    """The least that a person accepts of a pool: k must not fall, w must not grow."""

    k: int
    window: float

    def check(self, join: JoinFile) -> None:
        """Refuse a join file that promises less.

        Raises:
            InputError: what was promised before, and what this file promises.
        """
        if join.rules.k < self.k:
            raise InputError(
                f"the pool promises that {join.rules.k} people share a region; {self.k} were promised before "
                "or asked for.",
                "If you accept less, say so with `k`.",
            )
        if join.rules.window > self.window:
            raise InputError(
                f"the pool counts people who ask within {join.rules.window:g} s; {self.window:g} s were "
                "promised before or asked for.",
                "If you accept a longer time, say so with `window`.",
            )
