"""The join file: everything a person needs to use a pool, in one file signed by whoever runs it.

An **identity** is an Ed25519 key that stays the same; it signs the keys that a party draws anew at each
start (:class:`Announcement`), so that whatever was sealed before a restart opens no more, and nobody on the
way can put a key of their own in its place. Everybody gets announcements from one copy that the relay keeps.
"""

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.errors import InputError, ParameterError
from tacit.files import atomic_file, check_output
from tacit.pool.channel.tokens import challenge
from tacit.pool.protocol.counting import Rules
from tacit.pool.protocol.population import adult, read_population
from tacit.pool.protocol.template import Template, adult_template, parse_template
from tacit.pool.protocol.tree import Tree, grow_tree
from tacit.validation import flag, place, whole

VERSION = 3
PARTIES = ("pool", "gateway", "issuer")
"""Who has an identity; a relay needs none."""

_NAMED = ("people", "relay", "pool", "gateway", "identities", "issuer", "keys", "direct", "proof")
_SECRET = re.compile(r"[0-9a-f]{64}")


class Identity:
    """A party's lasting key: 32 secret bytes in a file that only its owner can read."""

    def __init__(self, secret: str) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret))
        self.public = self._key.public_key().public_bytes_raw().hex()

    def sign(self, data: bytes) -> str:
        """The signature in hexadecimal digits."""
        return self._key.sign(data).hex()

    @classmethod
    def kept(cls, path: Path, *, make: bool = False) -> Self:
        """The identity in a file; with ``make``, a new one where there is no such file."""
        if make and not path.exists():
            with atomic_file(path, mode=0o600) as temporary:
                temporary.write_text(secrets.token_hex(32) + "\n", encoding="ascii")
        return cls(read_secret(path))


def read_secret(path: Path) -> str:
    """Read the secret in a file; the error repeats nothing of the file."""
    try:
        found = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        problem = f"the secret in {path} cannot be read."
        raise InputError(problem, "Whoever made it can copy it here.") from error
    if not _SECRET.fullmatch(found):
        problem = f"{path} holds no secret; a secret is 64 hexadecimal digits."
        raise InputError(problem, "Name a new file to make one.")
    return found


def read_json(path: Path, what: str) -> Any:
    """Read a JSON file; the error says ``what`` it should be, and repeats nothing of it."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{what} {path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what} {path} is not JSON.") from error


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
    """Return the content without its signature, if this key signed it."""
    content = {name: value for name, value in given.items() if name != "signature"}
    if not is_signed(public, _canonical(content), given.get("signature")):
        raise InputError(f"the signature of {what} is wrong.", "Get it again from whoever runs the pool.")
    return content


def address(name: str, text: object) -> str:
    """An address of a server, as it may stand in a join file."""
    parts = urlsplit(text if isinstance(text, str) else "")
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ParameterError.outside(name, repr(text), "an address such as https://relay.example/")
    return str(text).rstrip("/")


@dataclass(frozen=True)
class JoinFile:
    """The definition of a pool: what it promises, its public tree, its parties' addresses and identities.

    :func:`create_pool` says what each part means.
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
    proof: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "people", whole("people", self.people, 1))
        object.__setattr__(self, "keys", self.keys or f"{self.relay.rstrip('/')}/keys")
        for name in ("relay", "pool", "gateway", "keys", "issuer", "direct"):
            if getattr(self, name) is not None or name not in ("issuer", "direct"):
                object.__setattr__(self, name, address(name, getattr(self, name)))
        needed = [party for party in PARTIES if party != "issuer" or self.issuer is not None]
        if sorted(self.identities) != sorted(needed) or not all(
            isinstance(each, str) and _SECRET.fullmatch(each) for each in self.identities.values()
        ):
            raise InputError(f"a join file must have an identity for each of {', '.join(needed)}.")
        if flag("proof", self.proof) and self.issuer is None:
            raise ParameterError("a proof that k people asked counts accounts.", "Name an `issuer`.")

    @property
    def template(self) -> Template:
        """The template of records."""
        return self.tree.template

    @cached_property
    def content(self) -> dict[str, Any]:
        """The content that is signed."""
        return {
            "tacit pool": VERSION,
            **{name: getattr(self.rules, name) for name in ("k", "window", "period")},
            **{name: getattr(self, name) for name in _NAMED},
            "template": self.template.declared,
            "tree": self.tree.as_dict(),
            "tree digest": self.tree.digest,
        }

    @cached_property
    def digest(self) -> str:
        """Names the file: what all parties mean by this pool."""
        return hashlib.sha256(_canonical(self.content)).hexdigest()

    def check_leaves(self) -> None:
        """Refuse a tree with a leaf of too few public records, where these are at hand."""
        if self.template.digest == adult_template().digest:
            records = adult().records
            # A pool that says it has millions of people must not name one by a leaf.
            self.tree.check(records, min(1.0, self.rules.k / min(self.people, len(records))))

    def meaning(self) -> dict[str, Any]:
        """Describe what is promised, and which party can learn what."""
        token = f"your leaf, your token for {self.rules.period / 60:g} min, when you ask"
        learns = {
            "relay": (self.relay, "your address, when and how often you ask", "leaf, text, token"),
            "pool": (self.pool, token, "address, text, record"),
            "service": (self.gateway, "text, region, when", "address, leaf, token"),
        }
        together = dict(_TOGETHER)
        if self.issuer is None:
            del together["issuer + pool or service"]
        else:
            learns["issuer"] = (self.issuer, "your account, that your agent runs", "token, leaf, text")
        names = ("address", "learns", "never")
        parties = {party: dict(zip(names, said, strict=True)) for party, said in learns.items()}
        found = {name: getattr(self.rules, name) for name in ("k", "window", "period")}
        found |= {"signed_by": self.identities["pool"], "parties": parties, "together": together}
        return found | {"direct": self.direct, "proof": self.proof}

    def write(self, path: Path, identity: Identity, *, force: bool = False) -> None:
        """Sign the file with the pool's identity and write it."""
        if identity.public != self.identities["pool"]:
            raise InputError("a join file is signed with the identity of its pool.")
        check_output(path, force=force)
        with atomic_file(path) as temporary:
            text = json.dumps(signed(identity, self.content), indent=1, ensure_ascii=False)
            temporary.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def parse(cls, given: object) -> Self:
        """A join file that was read, if it is signed with the identity that it names."""
        if not isinstance(given, dict) or given.get("tacit pool") != VERSION:
            raise InputError(f"this is no join file of version {VERSION}.", "Ask for the pool's.")
        try:
            content = checked(given["identities"]["pool"], given, "the join file")
            tree = Tree.parse(content["tree"], parse_template(content["template"]))
            rules = Rules(content["k"], content["window"], content["period"])
            found = cls(rules, tree, **{name: content[name] for name in _NAMED})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError("the join file lacks a part, or has one of the wrong kind.") from error
        if found.content != content:
            raise InputError("the join file does not describe its own tree or has parts unknown here.")
        return found

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read and check a join file."""
        return cls.parse(read_json(place("join", path), "the join file"))


_TOGETHER = {
    "relay + pool": "your address with your leaf and times; not what you ask",
    "pool + service": "the leaf of each text, and the texts of one token; not your address",
    "relay + service": "your address with texts, by their times, if few people ask",
    "issuer + pool or service": "your account with your leaf, or with linkable texts, within hours",
}


def create_pool(
    path: str | Path,
    *,
    k: int = 30,
    window: float = 120.0,
    period: float = 0.0,
    people: int = 2000,
    users: str | Path = "adult",
    template: str | Path | Template | None = None,
    relay: str = "http://127.0.0.1:8462",
    pool: str = "http://127.0.0.1:8460",
    gateway: str = "http://127.0.0.1:8464",
    issuer: str | None = None,
    keys: str | None = None,
    direct: str | None = None,
    proof: bool = False,
    gateway_identity: str | None = None,
    issuer_identity: str | None = None,
    secret: str | Path | None = None,
    force: bool = False,
) -> JoinFile:
    """Set a pool up: cut its tree from public records, and write the join file, signed.

    The tree of a join file that is there is merged and split: devices would refuse one that is cut anew.

    Args:
        path: the join file to write.
        k: how many people must share the region of a query.
        window: w, within how many seconds they must have asked.
        period: seconds for which the pool can link one token's queries; 0: four windows.
        people: how many people ask within a window; the tree is made for them.
        users: public records to cut the tree from: a CSV or Parquet file, or ``adult``.
        template: the template of these records (TOML); ``adult`` brings its own.
        relay: the relay's address.
        pool: the pool's address.
        gateway: the address of the service's gateway.
        issuer: the issuer's address; without one anybody can pose as k people.
        keys: where the one copy of all keys is, if not at the relay's address, under /keys.
        direct: the engine's own address, for people who say ``otherwise=direct``.
        proof: show with each answer that k accounts asked, by keys of theirs that last one period.
        gateway_identity: the gateway's public identity; made in gateway.secret unless given.
        issuer_identity: the issuer's public identity; made in issuer.secret unless given.
        secret: the file with the pool's identity; made in pool.secret unless given.
        force: replace a join file that is there.
    """
    path = place("path", path)
    check_output(path, force=force)
    population = read_population(users, template)
    before = JoinFile.read(path).tree if path.exists() else None
    if before is not None and before.template.digest != population.template.digest:
        before = None
    rules = Rules(k, window, period)
    tree = grow_tree(population.records, population.template, rules.k, people, before)
    signing = Identity.kept(Path(secret or path.with_name("pool.secret")), make=True)

    def public(given: str | None, name: str) -> str:
        return given or Identity.kept(path.with_name(f"{name}.secret"), make=True).public

    identities = {"pool": signing.public, "gateway": public(gateway_identity, "gateway")}
    if issuer is not None:
        identities["issuer"] = public(issuer_identity, "issuer")
    made = JoinFile(rules, tree, people, relay, pool, gateway, identities, issuer, keys or "", direct, proof)
    made.write(path, signing, force=force)
    return made


def token_challenge(join: JoinFile, period: int) -> bytes:
    """Return what a token of a period is good for: this pool, and this period alone."""
    context = hashlib.sha256(f"{join.identities['pool']} {period}".encode()).digest()
    issuer, origin = (urlsplit(address or "").netloc for address in (join.issuer, join.pool))
    return challenge(issuer, origin, context)


@dataclass(frozen=True)
class Announcement:
    """A party's statement of its keys of this start, signed with its identity.

    Attributes:
        party: one of :data:`PARTIES`.
        join: the digest of the join file it serves.
        key: the key configurations of Oblivious HTTP.
        tokens: the issuer's token keys by period.
    """

    party: str
    join: str
    key: bytes
    tokens: Mapping[int, bytes] = field(default_factory=dict)

    def as_dict(self, identity: Identity) -> dict[str, Any]:
        """As it is published."""
        content = {"party": self.party, "join": self.join, "key": base64.b64encode(self.key).decode()}
        keys = {str(at): base64.b64encode(key).decode() for at, key in self.tokens.items()}
        return signed(identity, content | ({"tokens": keys} if keys else {}))

    @classmethod
    def parse(cls, given: Any, party: str, join: JoinFile) -> Self:
        """A party's announcement, if it signed it for this pool."""
        try:
            content = checked(join.identities[party], dict(given), f"the keys of the {party}")
            tokens = {int(at): base64.b64decode(key) for at, key in content.get("tokens", {}).items()}
            found = cls(content["party"], content["join"], base64.b64decode(content["key"]), tokens)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"the keys of the {party} cannot be read.") from error
        if found.party != party or found.join != join.digest:
            problem = f"the {party} serves another pool, or this pool with another join file."
            raise InputError(problem, "Get the present join file from whoever runs the pool.")
        return found
