"""The state of a series between its weeks: one encrypted file, and a key that lies elsewhere.

It tells which queries people asked, so it is kept like the log: for its owner alone, encrypted (AES-256 in
Galois/counter mode, under a key for every writing of its own), users only as keyed hashes. The texts of items
are in it, encrypted: were they hashes alone, only a new record could supply the text of an item whose holders
are erased, and an item would appear because one person asked it.

It is never made again from the log: noise drawn again is another look, and noise repeated from a seed would
show what was erased as an exact difference.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import InputError, IntegrityError
from tacit.files import atomic_file
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.schedule import SeriesRounds
from tacit.release.series.course import Course

_MAGIC = b"tacit series 1\n"
_CHUNK = 1 << 24
_KEY_BYTES = 32
_HASH_BYTES = 16
_TEXTS, _USERS = pa.array([], pa.string()), pa.array([], pa.binary(_HASH_BYTES))


class SeriesKey:
    """The key of a series: hashes of users, the state's encryption, and its marks in the ledger."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    @classmethod
    def make(cls, path: Path) -> SeriesKey:
        """Draw a key, in a file for its owner alone."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        secret = OperatingSystemRandomness().bits(_KEY_BYTES)
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            raise InputError(f"{path} exists already.", "Choose another place for the key.") from None
        with os.fdopen(handle, "wb") as file:
            file.write(secret)
            file.flush()
            os.fsync(file.fileno())
        return cls(secret)

    @classmethod
    def read(cls, path: Path) -> SeriesKey:
        """Read the key in a file."""
        if not path.is_file():
            raise InputError(
                f"the key of this series is not at {path}.",
                "Put it back; without it the state is lost, and `restart=True` goes on without it.",
            )
        secret = path.read_bytes()
        if len(secret) != _KEY_BYTES:
            raise IntegrityError(f"{path} is no key of a series.", "Restore it from a copy.")
        return cls(secret)

    def _for(self, use: str) -> bytes:
        return hmac.digest(self._secret, use.encode(), "sha256")

    def users(self, names: pa.Array) -> pa.Array:
        """Hash users under the key."""
        keyed = hashlib.blake2b(key=self._for("users"), digest_size=_HASH_BYTES)

        def hashed(name: str) -> bytes:
            one = keyed.copy()
            one.update(name.encode())
            return one.digest()

        return pa.array(map(hashed, names.to_pylist()), pa.binary(_HASH_BYTES))

    def mark(self, path: Path, use: str) -> str:
        """Hash a file under the key."""
        digest = hmac.new(self._for(use), digestmod="sha256")
        with path.open("rb") as file:
            while part := file.read(_CHUNK):
                digest.update(part)
        return digest.hexdigest()

    def encrypt(self, data: bytes) -> bytes:
        """Encrypt into a file that only this key opens, under a key of its own."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        salt = OperatingSystemRandomness().bits(_KEY_BYTES)
        cipher = AESGCM(hmac.digest(self._for("state"), salt, "sha256"))
        return _MAGIC + salt + cipher.encrypt(bytes(12), data, _MAGIC)

    def decrypt(self, path: Path) -> bytes:
        """Decrypt a file; IntegrityError if it is another, damaged or cut short."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        data, end = path.read_bytes(), len(_MAGIC) + _KEY_BYTES
        cipher = AESGCM(hmac.digest(self._for("state"), data[len(_MAGIC) : end], "sha256"))
        try:
            return cipher.decrypt(bytes(12), data[end:], data[: len(_MAGIC)])
        except (InvalidTag, ValueError):
            raise IntegrityError(
                f"{path} is not the state that this key encrypted, or is damaged.",
                "Restore state and key; if there is no copy, `restart=True` goes on without them.",
            ) from None


@dataclass
class KeptCourse:
    """A course with the names of what is numbered in it. Secret."""

    course: Course
    texts: pa.Array  # of items
    users: pa.Array  # keyed hashes
    logs: dict[str, int] = field(default_factory=dict)
    """Keyed hashes of the logs that were taken in, with the week of each."""

    @classmethod
    def empty(cls, rounds: SeriesRounds) -> KeptCourse:
        """Before the first week."""
        return cls(Course(rounds), _TEXTS, _USERS)

    def write(self, path: Path, key: SeriesKey) -> str:
        """Write it whole or not at all, synced; returns the file's mark."""
        plain = {n: each for n, each in vars(self.course).items() if isinstance(each, int)}
        arrays = {n: each for n, each in vars(self.course).items() if isinstance(each, np.ndarray)}
        arrays["note"] = _bytes(json.dumps({**plain, "logs": self.logs}).encode())
        arrays |= {name: _ipc(pa.table({name: getattr(self, name)})) for name in ("texts", "users")}
        packed: Any = io.BytesIO()
        np.savez(packed, **arrays)  # type: ignore[arg-type]
        data = pa.compress(packed.getvalue(), "zstd", asbytes=True)
        with atomic_file(path, mode=0o600) as temporary:
            temporary.write_bytes(key.encrypt(packed.tell().to_bytes(8) + data))
        return key.mark(path, "mark")

    @classmethod
    def read(cls, path: Path, key: SeriesKey, rounds: SeriesRounds) -> KeptCourse:
        """Read back what was written."""
        data = key.decrypt(path)
        packed = io.BytesIO(pa.decompress(data[8:], int.from_bytes(data[:8]), "zstd", asbytes=True))
        with np.load(packed, allow_pickle=False) as arrays:
            stored = dict(arrays)
        plain = json.loads(stored.pop("note").tobytes())
        logs, names = plain.pop("logs"), {}
        for name, none in (("texts", _TEXTS), ("users", _USERS)):
            table = pa.ipc.open_stream(stored.pop(name).tobytes()).read_all()
            names[name] = pa.concat_arrays([*table.column(0).chunks, none])
        return cls(Course(rounds, **plain, **stored), **names, logs=logs)

    def take_in(self, asked: pa.Table, key: SeriesKey) -> Any:
        """Pairs of numbers for a table of different pairs ``user`` and ``query``; makes room for new ones."""
        names, queries = (asked.column(n).combine_chunks().dictionary_encode() for n in ("user", "query"))
        hashed = key.users(names.dictionary)
        self.users, people = _numbered(self.users, hashed)
        self.texts, items = _numbered(self.texts, queries.dictionary.cast(pa.string()))
        self.course.make_room(len(self.users), words_of(self.texts))
        who, what = people[np.asarray(names.indices)], items[np.asarray(queries.indices)]
        return np.stack([who, what], axis=1).astype(np.int32)

    def know(self, texts: pa.Array, found: Any = 0) -> None:
        """Let published texts be known from the start, found in these weeks."""
        first, count = len(self.texts), len(texts)
        self.texts = pa.concat_arrays([self.texts, texts])
        self.course.make_room(0, words_of(self.texts))
        self.course.found[first : first + count] = found
        self.course.held[first:] = True

    def compact(self) -> None:
        """Forget texts that nobody has held and that wait for no count."""
        self.texts = self.texts.take(pa.array(self.course.compact()))


def words_of(texts: pa.Array) -> Any:
    """Count how many words each text has, cut at 255."""
    return np.minimum(1 + np.asarray(pc.count_substring(texts, " ")), 255).astype(np.uint8)


def _numbered(known: pa.Array, named: pa.Array) -> tuple[pa.Array, Any]:
    """Number all names: known ones first, and return the numbers of ``named``."""
    places = pc.index_in(named, value_set=known)
    new = named.filter(pc.is_null(places))
    numbers = np.array(pc.fill_null(places, -1), np.int64)
    numbers[numbers < 0] = len(known) + np.arange(len(new))
    return pa.concat_arrays([known, new]), numbers


def _bytes(data: bytes) -> Any:
    return np.frombuffer(data, np.uint8)


def _ipc(table: pa.Table) -> Any:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return _bytes(sink.getvalue())
