"""What a device remembers of a pool: the least it was promised, periods and their keys, and tokens to spend.

One JSON file that only its owner can read, written before what it says is relied on.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from tacit.errors import InputError
from tacit.files import atomic_file
from tacit.pool.channel.join import JoinFile
from tacit.pool.protocol.tree import Tree


@dataclass
class DeviceMemory:
    """The promise, the highest period, digests of keys and tokens by period, the secret of own tokens."""

    path: Path
    k: int
    window: float
    tree: Tree
    period: int = -1
    keys: dict[int, str] = field(default_factory=dict)
    tokens: dict[int, bytes] = field(default_factory=dict)
    secret: str = field(default_factory=lambda: secrets.token_hex(32))

    @classmethod
    def opened(
        cls, path: Path | None, join: JoinFile, k: int | None = None, window: float | None = None
    ) -> DeviceMemory:
        """Read what is remembered, and refuse a pool that promises less.

        Args:
            path: the file; the device's own of this pool unless given.
            k: the least k that the person accepts; what was promised before unless given.
            window: the longest w that the person accepts, likewise.
        """
        usual = Path(platformdirs.user_data_dir("tacit", appauthor=False)) / "pools"
        path = path or usual / f"{join.identities['pool'][:16]}.json"
        found = cls(path, join.rules.k, join.rules.window, join.tree)
        if path.exists():
            try:
                given = json.loads(path.read_text(encoding="utf-8"))
                found.k, found.window = int(given["k"]), float(given["window"])
                found.tree = Tree.parse(given["tree"], join.template)
                found.period = int(given["period"])
                found.keys = {int(at): str(key) for at, key in given["keys"].items()}
                found.tokens = {int(at): base64.b64decode(token) for at, token in given["tokens"].items()}
                found.secret = str(given.get("secret", found.secret))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InputError(
                    f"what is remembered of the pool in {path} cannot be read.", "Move it away to begin anew."
                ) from error
        k, window = found.k if k is None else k, found.window if window is None else window
        said = "were promised before or asked for."
        if join.rules.k < k:
            problem = f"the pool promises that {join.rules.k} people share a region; {k} {said}"
            raise InputError(problem, "If you accept less, say so with `k`.")
        if join.rules.window > window:
            problem = f"the pool counts people who ask within {join.rules.window:g} s; {window:g} s {said}"
            raise InputError(problem, "If you accept a longer time, say so with `window`.")
        if not join.tree.follows(found.tree):
            raise InputError(
                "the pool's tree was cut anew since this device joined; old and new regions would intersect.",
                f"A tree may only merge and split leaves. To join all the same, move {path} away.",
            )
        found.k, found.window, found.tree = join.rules.k, join.rules.window, found.tree.united(join.tree)
        found.write()
        return found

    def own_token(self, period: int) -> bytes:
        """The token of a period where no issuer gives any: the same for who comes back, who is one person."""
        return hashlib.sha256(f"{self.secret} {period}".encode()).digest()

    def learn_keys(self, keys: Mapping[int, bytes]) -> None:
        """Take in the issuer's keys by period, and refuse another key for a period that is known."""
        digests = {at: hashlib.sha256(key).hexdigest() for at, key in keys.items()}
        if any(self.keys.get(at, digest) != digest for at, digest in digests.items()):
            raise InputError(
                "the issuer's key of a period has changed.",
                "Somebody gives this device a key of its own, to recognise it by: nothing was sent.",
            )
        self.keys = {at: key for at, key in (self.keys | digests).items() if at >= self.period}

    def enter(self, period: int) -> None:
        """Go on to a period that the pool announced; numbers never fall."""
        if period < self.period:
            problem = f"the pool announced period {period:,} after {self.period:,}."
            raise InputError(problem, "Somebody replays old messages: nothing was sent.")
        if period > self.period:
            self.period = period
            self.tokens = {at: token for at, token in self.tokens.items() if at >= period}
            self.write()

    def write(self) -> None:
        """Write the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        said = {
            "k": self.k,
            "window": self.window,
            "tree": self.tree.as_dict(),
            "period": self.period,
            "keys": self.keys,
            "tokens": {at: base64.b64encode(token).decode() for at, token in self.tokens.items()},
            "secret": self.secret,
        }
        with atomic_file(self.path, mode=0o600) as temporary:
            temporary.write_text(json.dumps(said), encoding="utf-8")
