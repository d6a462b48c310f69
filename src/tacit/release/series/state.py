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
from numpy.typing import NDArray

from tacit.errors import InputError, IntegrityError
from tacit.files import atomic_file, sync
from tacit.privacy.noise.randomness import OperatingSystemRandomness, RandomSource
from tacit.release.mechanisms.adaptive_holdings import each_once, words_of
from tacit.release.schedule import SeriesRounds
from tacit.release.series.course import Course, Whole
from tacit.row_groups import encoded

_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)
_MAGIC = b"tacit series 5\n"
_KEY_BYTES = 32
_HASH_BYTES, _SOME = 16, 1 << 16
_PLACES, _SHIFT = 1 << 23, np.uint32(32 - 23)


def parts_of(state: Path) -> Path:
    """The folder of its parts."""
    return state.with_name(f"{state.name}-parts")


def _write_anew(path: Path, *parts: bytes) -> None:
    """Write a file for its owner alone where none is, synced."""
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.writelines(parts)
    sync(path)


@dataclass(frozen=True, repr=False)
class SeriesKey:
    """The key of a series: hashes of users, the state's encryption, and its marks in the ledger."""

    _secret: bytes

    @classmethod
    def make(cls, path: Path) -> SeriesKey:
        """Draw a key, in a file for its owner alone."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        secret = OperatingSystemRandomness().bits(_KEY_BYTES)
        try:
            _write_anew(path, secret)
        except FileExistsError:
            raise InputError(f"{path} exists already.", "Choose another place for the key.") from None
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

    def users(self, names: pa.Array) -> NDArray[np.uint64]:
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
        return (np.frombuffer(cipher.update(taken.data), np.uint8) ^ taken).view(np.uint64).reshape(-1, 2)

    def mark(self, file: Any, use: str) -> str:
        """Hash an open file under the key."""
        return hashlib.file_digest(file, lambda: hmac.new(self._for(use), digestmod="sha256")).hexdigest()

    def encrypt(self, data: Any) -> tuple[bytes, bytes]:
        """Encrypt what only this key opens, under a key of its own: its salt, and the rest."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        salt = OperatingSystemRandomness().bits(_KEY_BYTES)
        cipher = AESGCM(hmac.digest(self._for("state"), salt, "sha256"))
        return salt, cipher.encrypt(bytes(12), memoryview(data), _MAGIC)

    def decrypt(self, path: Path, begin: int = 0, salt: bytes | None = None) -> bytes:
        """Decrypt a file; IntegrityError if it is another, damaged or cut short."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            data = np.memmap(path, mode="r", offset=begin).data
            cipher = AESGCM(hmac.digest(self._for("state"), salt or data[:_KEY_BYTES], "sha256"))
            return cipher.decrypt(bytes(12), data[_KEY_BYTES:], _MAGIC)
        except (InvalidTag, ValueError):
            raise IntegrityError(
                f"{path} is not the state that this key encrypted, or is damaged.",
                "Restore state and key; if there is no copy, `restart=True` goes on without them.",
            ) from None


Coded = tuple[pa.Array, NDArray[np.int32]]


def coded(records: pa.Table) -> tuple[Coded, Coded]:
    """Make of ``query`` and ``user`` the different texts, and which of them each record has. Secret."""
    with ThreadPoolExecutor(1) as beside:
        coming = beside.submit(encoded, records.column("user"))
        return encoded(records.column("query")), coming.result()


@dataclass
class KeptCourse:
    """A course with the names of what is numbered in it. Secret."""

    course: Course
    texts: pa.ChunkedArray = field(default_factory=lambda: pa.chunked_array([], pa.string()))  # of items
    users: NDArray[np.uint64] = field(default_factory=lambda: np.zeros((0, 2), np.uint64))  # keyed hashes
    logs: dict[str, int] = field(default_factory=dict)
    """Keyed hashes of the logs that were taken in, with the week of each."""
    mark: str = ""  # a keyed hash of the state as it was last written or read
    # what is in files: how to read each, and its salt, which is its name
    _files: dict[str, tuple[Any, list[Any]]] = field(default_factory=dict)

    def write(self, path: Path, key: SeriesKey) -> None:
        """Write it whole or not at all, synced: parts in files, and then the note that names them.

        It names the salt of every part, so that parts of two writings never make one state.
        """
        plain = {n: each for n, each in vars(self.course).items() if isinstance(each, int)}
        named: dict[str, Any] = {"texts": self.texts, "users": self.users}
        named |= {n: each for n, each in vars(self.course).items() if isinstance(each, np.ndarray)}
        folder = parts_of(path)
        folder.mkdir(mode=0o700, exist_ok=True)
        with ThreadPoolExecutor(2) as threads:
            made = threads.map(lambda name: self.in_files(path, name, named[name], key), named)
            parts = dict(zip(named, made, strict=True))
        sync(folder)
        note = b"".join(key.encrypt(json.dumps({**plain, "logs": self.logs, "parts": parts}).encode()))
        with atomic_file(path, mode=0o600) as temporary:
            temporary.write_bytes(_MAGIC + note)
        self.mark = key.mark(io.BytesIO(note), "mark")
        salts = {salt for each in parts.values() for _, salt in each}
        for old in (file for file in folder.iterdir() if file.name not in salts):
            old.unlink()

    def in_files(self, path: Path, name: str, each: Any, key: SeriesKey) -> list[Any]:
        """See to it that it is in files: of what grows what is new, of what has not changed nothing."""
        known, parts = self._files.get(name, (each[:0], []))
        first = each[: len(known)]
        same = each is known or (first.equals(known) if name == "texts" else np.array_equal(first, known))
        if name == "standings" or not same or len(each) > len(known) == 0:  # those change in their place
            known, parts = each[:0], []
        if len(each) > len(known) or not parts:
            form, sealed = _packed(each[len(known) :], key)
            parts = [*parts, (form, sealed[0].hex())]
            _write_anew(parts_of(path) / parts[-1][1], *sealed)
        self._files[name] = each, parts
        if name not in ("texts", "standings"):
            each.flags.writeable = False  # so that what is in the file is what is there
        return parts

    @classmethod
    def read(cls, path: Path, key: SeriesKey, rounds: SeriesRounds) -> KeptCourse:
        """Read back what was written; FileNotFoundError if a part is gone."""
        file = path.read_bytes()
        if not file.startswith(_MAGIC):
            raise IntegrityError(
                f"{path} begins with {file[: len(_MAGIC)]!r}, not with {_MAGIC!r}.",
                "Go on with the version of Tacit that wrote it; or restore it, if it is damaged.",
            )
        plain = json.loads(key.decrypt(path, len(_MAGIC)))
        logs, parts = plain.pop("logs"), plain.pop("parts")

        def part(name: str, form: Any, salt: str) -> Any:
            data = key.decrypt(parts_of(path) / salt, 0, bytes.fromhex(salt))
            if name == "texts":
                return pa.ipc.open_stream(data).read_all()
            return np.frombuffer(data, form[0]).reshape(form[1]).astype(form[2], copy=name == "standings")

        with ThreadPoolExecutor(2) as threads:
            coming = {name: [threads.submit(part, name, *each) for each in parts[name]] for name in parts}
            read = {name: [each.result() for each in coming[name]] for name in parts}
        texts = pa.concat_tables(read.pop("texts")).column(0)
        stored: Any = {n: each[0] if len(each) == 1 else np.concatenate(each) for n, each in read.items()}
        files = {name: (stored.get(name, texts), parts[name]) for name in parts}
        users = stored.pop("users")
        mark = key.mark(io.BytesIO(file[len(_MAGIC) :]), "mark")
        return cls(Course(rounds, **plain, **stored), texts, users, logs, mark, files)

    def take_in(self, asked: tuple[Coded, Coded], path: Path, key: SeriesKey, source: RandomSource) -> None:
        """Begin a week with what was asked; new texts are written meanwhile."""
        (queries, what), (names, who) = asked

        def people() -> Whole:
            numbers = self.numbers_of(hashed := key.users(names))
            self.users = np.concatenate([self.users, hashed[numbers >= len(self.users)]])
            return (numbers << 32)[who]

        with ThreadPoolExecutor(1) as beside:
            coming = beside.submit(people)
            new, items = _numbered(self.texts, queries)
            words = beside.submit(words_of, new)
            pairs = coming.result()
            pairs |= items[what]
            pairs = each_once(pairs)
            self.texts = pa.chunked_array([*self.texts.chunks, new], pa.string())
            self.course.make_room(len(self.users), np.append(self.course.words, words.result()))
            beside.submit(self.in_files, path, "texts", self.texts, key)  # where that fails, so will the rest
            self.course.begin_week(pairs, source)

    def numbers_of(self, users: NDArray[np.uint64]) -> Whole:
        """Number users by their hashes, all different; new ones after those that are known."""
        all_known, named = (each.view(np.complex128).ravel() for each in (self.users, users))  # 16 bytes each
        places, left, known = np.full(len(users), -1), np.arange(len(users)), np.arange(len(self.users))
        slots, times = np.zeros(1 << 22, np.int32), np.uint64(0)
        while known.size:  # until each of those known has had a slot for itself
            both = (each.view(np.uint64).reshape(-1, 2) for each in (all_known[known], named[left]))
            theirs, mine = ((each[:, 0] + each[:, 1] * times) * _ODD[0] >> np.uint64(42) for each in both)
            slots[theirs] = known
            at = slots[mine]
            hit = (all_known[at].view(np.uint64) == named[left].view(np.uint64)).view(np.uint16) == 0x0101
            places[left[hit]] = at[hit]
            left, known, times = left[~hit], known[slots[theirs] != known], times + np.uint64(1)
        places[left] = len(self.users) + np.arange(left.size)
        return places

    def know(self, texts: pa.Array, found: Any = 0) -> None:
        """Let published texts be known from the start, found in these weeks."""
        first = len(self.texts)
        self.texts = pa.chunked_array([*self.texts.chunks, texts], pa.string())
        self.course.make_room(0, words_of(self.texts))
        self.course.found[first:], self.course.held[first:] = found, True

    def compact(self) -> None:
        """Forget texts that nobody has held and that wait for no count."""
        stay = self.course.compact()
        self.texts = self.texts if stay.all() else self.texts.filter(pa.array(stay))


def _packed(each: Any, key: SeriesKey) -> tuple[Any, tuple[bytes, bytes]]:
    """Encrypt numbers, or texts; with what it takes to read them."""
    if isinstance(each, np.ndarray):
        small = each.dtype == np.int64 and -(1 << 31) <= each.min(initial=0) <= each.max(initial=0) < 1 << 31
        written = each.astype(np.int32) if small else each
        data = np.ascontiguousarray(written).reshape(-1).view(np.uint8)
        return (written.dtype.str, each.shape, each.dtype.str), key.encrypt(data)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("texts", pa.string())])) as stream:
        stream.write_table(pa.table([each], names=["texts"]), _SOME)
    return None, key.encrypt(np.frombuffer(sink.getvalue(), np.uint8))


def _numbered(known: pa.ChunkedArray, named: pa.Array) -> tuple[pa.Array, Whole]:
    """Return new texts, and the numbers of all, which are different; those alike at a glance are compared."""
    theirs = _glances(known.chunks)
    mine = _glances([named[begin : begin + _SOME] for begin in range(0, len(named), _SOME)])
    last, own = np.zeros(_PLACES, np.int32), np.arange(len(named), dtype=np.int32)
    last[mine >> _SHIFT] = own  # what is known there is compared with it; if there are several, with all
    numbers, open_at = np.full(len(named), -1), np.zeros(_PLACES, np.bool_)
    open_at[mine[last[mine >> _SHIFT] != own] >> _SHIFT] = True
    if len(named):
        alike = mine[at := last[theirs >> _SHIFT]] == theirs
        places, at = np.flatnonzero(alike), at[alike]
        same = np.asarray(pc.equal(known.filter(pa.array(alike)), named.take(pa.array(at))))
        numbers[at[same]] = places[same]
    left, alike = np.flatnonzero(open_at[mine >> _SHIFT] & (numbers < 0)), open_at[theirs >> _SHIFT]
    at = pc.index_in(named.take(pa.array(left)), value_set=known.filter(pa.array(alike))).fill_null(-1)
    numbers[left] = np.append(np.flatnonzero(alike), -1)[at]
    new = numbers < 0
    numbers[new] = len(known) + np.arange(new.sum())
    return named.filter(pa.array(new)), numbers


def _glances(chunks: list[pa.Array]) -> NDArray[np.uint32]:
    """Make 32 bits of each text's length, first and last eight bytes; of nothing but the text."""
    found = [np.zeros(0, np.uint32)]
    for texts in filter(len, chunks):
        _, offsets, data = texts.buffers()
        bounds = np.frombuffer(offsets, np.int32)[texts.offset :][: len(texts) + 1]
        text = np.frombuffer(data or b"", np.uint8)[bounds[0] : bounds[-1]]
        words = np.ndarray(text.size + 1, np.uint64, np.append(text, np.zeros(8, np.uint8)), strides=(1,))
        starts, ends = bounds[:-1] - bounds[0], bounds[1:] - bounds[0]
        sizes = (ends - starts).astype(np.uint64)
        own = ~np.uint64(0) >> (64 - 8 * np.minimum(sizes, 8))
        first, last = words[starts] & own, words[np.maximum(ends - 8, starts)] & own
        mixed = first * _ODD[0] + last * _ODD[1] + sizes * _ODD[2]
        found.append((mixed >> np.uint64(32)).astype(np.uint32))
    return np.concatenate(found)
