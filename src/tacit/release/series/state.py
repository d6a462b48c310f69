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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.errors import InputError, IntegrityError
from tacit.files import atomic_file
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.mechanisms.adaptive_holdings import each_once, encoded, numbered, words_of
from tacit.release.schedule import SeriesRounds
from tacit.release.series.course import Course

_MAGIC = b"tacit series 2\n"
_KEY_BYTES = 32
_HASH_BYTES = 16
_STEADY = ("held", "words", "owners", "items", "joined", "window", "texts", "users")
"""What no round changes: replaced as a whole by what does, never in place."""


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
        hashed = partial(hashlib.blake2b, key=self._for("users"), digest_size=_HASH_BYTES)
        digests = [hashed(name).digest() for name in names.cast(pa.binary()).to_pylist()]
        return pa.array(digests, pa.binary(_HASH_BYTES))

    def mark(self, file: Any, use: str) -> str:
        """Hash an open file under the key."""
        return hashlib.file_digest(file, lambda: hmac.new(self._for(use), digestmod="sha256")).hexdigest()

    def encrypt(self, data: bytes) -> bytes:
        """Encrypt into a file that only this key opens, under a key of its own."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        salt = OperatingSystemRandomness().bits(_KEY_BYTES)
        cipher = AESGCM(hmac.digest(self._for("state"), salt, "sha256"))
        return salt + cipher.encrypt(bytes(12), data, _MAGIC)

    def decrypt(self, path: Path, data: memoryview, salt: bytes | None = None) -> bytes:
        """Decrypt a part of a file; IntegrityError if it is another, damaged or cut short."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        cipher = AESGCM(hmac.digest(self._for("state"), salt or data[:_KEY_BYTES], "sha256"))
        try:
            return cipher.decrypt(bytes(12), data[_KEY_BYTES:], _MAGIC)
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
    mark: str = ""  # a keyed hash of the state as it was last written or read
    _sealed: dict[str, tuple[Any, Any, bytes]] = field(default_factory=dict)

    @classmethod
    def empty(cls, rounds: SeriesRounds) -> KeptCourse:
        """Before the first week."""
        return cls(Course(rounds), pa.array([], pa.string()), pa.array([], pa.binary(_HASH_BYTES)))

    def write(self, path: Path, key: SeriesKey) -> None:
        """Write it whole or not at all, synced.

        What has not changed since it was last written is encrypted already. The note names the salt of every
        part, so that parts of two writings never make one state.
        """
        plain = {n: each for n, each in vars(self.course).items() if isinstance(each, int)}
        arrays = {n: each for n, each in vars(self.course).items() if isinstance(each, np.ndarray)}
        written = []
        for name, each in {**arrays, "texts": self.texts, "users": self.users}.items():
            sealed = self._sealed.get(name)
            if sealed is None or sealed[0] is not each:
                sealed = each, *_packed(each, key)
            if name in _STEADY:
                self._sealed[name] = sealed
                if isinstance(each, np.ndarray):
                    each.flags.writeable = False  # so that what is sealed is what is there
            written.append((name, *sealed[1:]))
        parts = [(name, form, len(part), part[:_KEY_BYTES].hex()) for name, form, part in written]
        note = key.encrypt(json.dumps({**plain, "logs": self.logs, "parts": parts}).encode())
        with atomic_file(path, mode=0o600) as temporary, temporary.open("wb") as file:
            file.writelines([_MAGIC, len(note).to_bytes(8), note, *(part for *_, part in written)])
        self.mark = key.mark(io.BytesIO(note), "mark")

    @classmethod
    def read(cls, path: Path, key: SeriesKey, rounds: SeriesRounds) -> KeptCourse:
        """Read back what was written."""
        data = memoryview(path.read_bytes())[len(_MAGIC) :]
        end = 8 + int.from_bytes(data[:8])
        note = data[8:end]
        plain = json.loads(key.decrypt(path, note))
        logs, stored = plain.pop("logs"), {}
        for name, form, size, salt in plain.pop("parts"):
            part, end = data[end : end + size], end + size
            stored[name] = _unpacked(key.decrypt(path, part, bytes.fromhex(salt)), form)
        names = {name: stored.pop(name) for name in ("texts", "users")}
        return cls(
            Course(rounds, **plain, **stored), **names, logs=logs, mark=key.mark(io.BytesIO(note), "mark")
        )

    def take_in(self, asked: pa.Table, key: SeriesKey) -> Any:
        """Pairs of numbers, each once, for a table of ``user`` and ``query``; makes room for new ones."""
        (names, who), (queries, what) = encoded(asked.column("user")), encoded(asked.column("query"))
        known = len(self.texts)
        self.users, people = numbered(self.users, key.users(names))
        self.texts, items = numbered(self.texts, queries)
        self.course.make_room(len(self.users), np.append(self.course.words, words_of(self.texts[known:])))
        pairs = each_once(people[who] << 32 | items[what])
        return np.stack([pairs >> 32, pairs & 0xFFFFFFFF], axis=1).astype(np.int32)

    def know(self, texts: pa.Array, found: Any = 0) -> None:
        """Let published texts be known from the start, found in these weeks."""
        first, count = len(self.texts), len(texts)
        self.texts = pa.concat_arrays([self.texts, texts])
        self.course.make_room(0, words_of(self.texts))
        self.course.found[first : first + count] = found
        self.course.held[first:] = True

    def compact(self) -> None:
        """Forget texts that nobody has held and that wait for no count."""
        stay = self.course.compact()
        self.texts = self.texts.take(pa.array(stay)) if stay.size < len(self.texts) else self.texts


def _packed(each: Any, key: SeriesKey) -> tuple[Any, bytes]:
    """Compress and encrypt numbers, or texts; with what it takes to read them."""
    form: Any = None
    if isinstance(each, np.ndarray):
        form, data = (each.dtype.str, each.shape), np.ascontiguousarray(each).data
    else:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, pa.schema([("texts", each.type)])) as stream:
            stream.write_batch(pa.record_batch([each], names=["texts"]))
        data = memoryview(sink.getvalue())
    return (data.nbytes, form), key.encrypt(pa.compress(data, "zstd", asbytes=True))


def _unpacked(data: bytes, form: Any) -> Any:
    """What was packed."""
    size, kind = form
    plain = pa.decompress(data, size, "zstd")
    if kind is not None:
        return np.frombuffer(plain, kind[0]).reshape(kind[1])
    return pa.ipc.open_stream(plain).read_all().column(0).combine_chunks()
