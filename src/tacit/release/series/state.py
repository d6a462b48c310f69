"""The state of a series between its weeks: encrypted, in files, and a key that lies elsewhere.

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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import InputError, IntegrityError
from tacit.files import atomic_file
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.mechanisms.adaptive_holdings import each_once, encoded, numbered, words_of
from tacit.release.schedule import SeriesRounds
from tacit.release.series.course import Course

_MAGIC = b"tacit series 3\n"
_KEY_BYTES = 32
_HASH_BYTES = 16
_STEADY = (
    "held",
    "words",
    "owners",
    "items",
    "joined",
    "window",
    "tallied",
    "last",
    "weights",
    "before",
    "texts",
    "users",
)
"""What no round changes: replaced as a whole by what does, never in place."""


def parts_of(state: Path) -> Path:
    """The folder of the parts that no round changes."""
    return state.with_name(f"{state.name}-parts")


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
        """Hash users: AES of a block (the name if it fits, else its hash), and the block added bit by bit.

        So not even the key turns a hash back into a name.
        """
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        blocks = pc.ascii_rpad(pc.binary_join_element_wise(names, "\1", ""), _HASH_BYTES, padding="\0")
        long, blocks = pc.greater(pc.binary_length(blocks), _HASH_BYTES), blocks.cast(pa.binary())
        made: dict[str, Any] = {"key": self._for("long names"), "digest_size": _HASH_BYTES}
        hashes = [hashlib.blake2b(name, **made).digest() for name in blocks.filter(long).to_pylist()]
        plain = pc.replace_with_mask(blocks, long, pa.array(hashes, pa.binary()))
        cipher = Cipher(algorithms.AES(self._for("users")), modes.ECB()).encryptor()
        taken = np.frombuffer(plain.cast(pa.binary(_HASH_BYTES)).buffers()[1] or b"", np.uint8)
        data = np.frombuffer(cipher.update(taken.data), np.uint8) ^ taken
        return pa.Array.from_buffers(pa.binary(_HASH_BYTES), len(names), [None, pa.py_buffer(data)])

    def mark(self, file: Any, use: str) -> str:
        """Hash an open file under the key."""
        return hashlib.file_digest(file, lambda: hmac.new(self._for(use), digestmod="sha256")).hexdigest()

    def encrypt(self, data: Any) -> bytes:
        """Encrypt into a file that only this key opens, under a key of its own."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        salt = OperatingSystemRandomness().bits(_KEY_BYTES)
        cipher = AESGCM(hmac.digest(self._for("state"), salt, "sha256"))
        return salt + cipher.encrypt(bytes(12), memoryview(data), _MAGIC)

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
    _steady: dict[str, tuple[Any, list[tuple[Any, str]]]] = field(default_factory=dict)
    """What is in files of their own: how to read each part, and its salt, which is the file's name."""

    @classmethod
    def empty(cls, rounds: SeriesRounds) -> KeptCourse:
        """Before the first week."""
        return cls(Course(rounds), pa.array([], pa.string()), pa.array([], pa.binary(_HASH_BYTES)))

    def write(self, path: Path, key: SeriesKey) -> None:
        """Write it whole or not at all, synced.

        What no round changes has files of its own beside it, which are there before the note that names them.
        The note names the salt of every part, so that parts of two writings never make one state.
        """
        plain = {n: each for n, each in vars(self.course).items() if isinstance(each, int)}
        named = {n: each for n, each in vars(self.course).items() if isinstance(each, np.ndarray)}
        named |= {"texts": self.texts, "users": self.users}
        folder, parts, inside = parts_of(path), list[Any](), list[bytes]()
        folder.mkdir(mode=0o700, exist_ok=True)
        with ThreadPoolExecutor(2) as threads:
            made = threads.map(lambda name: self._sealed(folder, name, named[name], key), named)
            for name, (forms, part) in zip(named, made, strict=True):
                parts += [(name, form, len(part), salt) for form, salt in forms]
                inside.append(part)
        note = key.encrypt(json.dumps({**plain, "logs": self.logs, "parts": parts}).encode())
        with atomic_file(path, mode=0o600) as temporary, temporary.open("wb") as file:
            file.writelines([_MAGIC, len(note).to_bytes(8), note, *inside])
        self.mark = key.mark(io.BytesIO(note), "mark")
        salts = {salt for *_, salt in parts}
        for old in (file for file in folder.iterdir() if file.name not in salts):
            old.unlink()

    def _sealed(self, folder: Path, name: str, each: Any, key: SeriesKey) -> tuple[list[Any], bytes]:
        """Encrypt what changes, or see to it that the rest is in files: of names, which grow, what is new."""
        if name not in _STEADY:
            form, part = _packed(each, key)
            return [(form, part[:_KEY_BYTES].hex())], part
        known, parts = self._steady.get(name, (each[:0], []))
        if each is not known and not (isinstance(each, pa.Array) and each[: len(known)].equals(known)):
            known, parts = each[:0], []
        if len(each) > len(known) or not parts:
            form, part = _packed(each[len(known) :], key)
            parts = [*parts, (form, part[:_KEY_BYTES].hex())]
            with atomic_file(folder / parts[-1][1], mode=0o600) as temporary:
                temporary.write_bytes(part)
        self._steady[name] = each, parts
        if isinstance(each, np.ndarray):
            each.flags.writeable = False  # so that what is in the file is what is there
        return parts, b""

    @classmethod
    def read(cls, path: Path, key: SeriesKey, rounds: SeriesRounds) -> KeptCourse:
        """Read back what was written; FileNotFoundError if a part is gone."""
        file, begin = path.read_bytes(), len(_MAGIC) + 8
        if not file.startswith(_MAGIC):
            raise IntegrityError(
                f"{path} begins with {file[: len(_MAGIC)]!r}, not with {_MAGIC!r}.",
                "Go on with the version of Tacit that wrote it; or restore it, if it is damaged.",
            )
        end = begin + int.from_bytes(file[len(_MAGIC) : begin])
        note, stored, known = memoryview(file)[begin:end], dict[str, Any](), dict[str, Any]()
        plain = json.loads(key.decrypt(path, note))
        logs = plain.pop("logs")
        for name, form, size, salt in plain.pop("parts"):
            part = memoryview(file)[end : end + size] if size else (parts_of(path) / salt).read_bytes()
            end += size
            each = _unpacked(key.decrypt(path, part, bytes.fromhex(salt)), form)
            old, parts = known.get(name, (None, []))
            stored[name] = each if old is None else pa.concat_arrays([old, each])
            known[name] = stored[name], [*parts, (form, salt)]
        names = {name: stored.pop(name) for name in ("texts", "users")}
        kept = cls(
            Course(rounds, **plain, **stored), **names, logs=logs, mark=key.mark(io.BytesIO(note), "mark")
        )
        kept._steady = {name: each for name, each in known.items() if name in _STEADY}
        return kept

    def take_in(self, asked: pa.Table, key: SeriesKey) -> Any:
        """Pairs of numbers, each once, for a table of ``user`` and ``query``; makes room for new ones."""
        known = len(self.texts)

        def users() -> tuple[pa.Array, Any]:
            names, who = encoded(asked.column("user"))
            known, people = numbered(self.users, key.users(names))
            return known, people[who]

        with ThreadPoolExecutor(1) as beside:
            coming = beside.submit(users)
            queries, what = encoded(asked.column("query"))
            self.texts, items = numbered(self.texts, queries)
            self.users, people = coming.result()
        self.course.make_room(len(self.users), np.append(self.course.words, words_of(self.texts[known:])))
        pairs = each_once(people << 32 | items[what])
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
    """Encrypt numbers, or texts, compressed; with what it takes to read them."""
    if isinstance(each, np.ndarray):
        written = each.astype(np.int32) if each.dtype == np.int64 else each
        written = written if np.array_equal(written, each) else each
        data = np.ascontiguousarray(written).reshape(-1).view(np.uint8)
        return (written.dtype.str, each.shape, each.dtype.str), key.encrypt(data)
    sink = pa.BufferOutputStream()
    compressed = pa.ipc.IpcWriteOptions(compression="zstd" if each.type == pa.string() else None)
    with pa.ipc.new_stream(sink, pa.schema([("names", each.type)]), options=compressed) as stream:
        stream.write_batch(pa.record_batch([each], names=["names"]))
    return None, key.encrypt(np.frombuffer(sink.getvalue(), np.uint8))


def _unpacked(data: bytes, form: Any) -> Any:
    """What was packed."""
    if form is not None:
        return np.frombuffer(bytearray(data), form[0]).reshape(form[1]).astype(form[2], copy=False)
    return pa.ipc.open_stream(data).read_all().column(0).combine_chunks()
