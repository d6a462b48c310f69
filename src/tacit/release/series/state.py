"""The state of a series between its weeks: one encrypted file, and a key that lies elsewhere.

It tells which queries people asked, so it is kept like the log: for its owner alone, encrypted (AES-256 in
Galois/counter mode, under a key for every writing of its own), users only as keyed hashes. The texts of items
are in it, encrypted: were they hashes alone, only a new record could supply the text of an item whose holders
are erased, and an item would appear because one person asked it.

It is never made again from the log: noise drawn again is another look, and noise repeated from a seed would
show what was erased as an exact difference.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import InputError, IntegrityError
from tacit.files import atomic_file, state_directory, sync_directory
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.schedule import SeriesRounds
from tacit.release.series.course import Course

_MAGIC = b"tacit series 1\n"
_CHUNK = 1 << 24
_KEY_BYTES = 32
_HASH_BYTES = 16
_PER_ITEM = ("standings", "held", "found", "words", "last", "weights", "before")
_PER_USER = ("allowances", "balances", "erased")
_PER_HOLDING = ("owners", "items", "joined")


class SeriesKey:
    """The key of a series: hashes of users, the state's encryption, and its marks in the ledger."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    @classmethod
    def place(cls, name: str) -> Path:
        """Where the key of the series of this name lies: in the user's state folder, not in the series'."""
        return state_directory() / "series" / f"{name}.key"

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
        sync_directory(path.parent)
        return cls(secret)

    @classmethod
    def read(cls, path: Path) -> SeriesKey:
        """The key in a file."""
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
        """Keyed hashes of users."""
        key = self._for("users")
        hashed = [hmac.digest(key, name.encode(), "sha256")[:_HASH_BYTES] for name in names.to_pylist()]
        return pa.array(hashed, pa.binary(_HASH_BYTES))

    def mark(self, path: Path, use: str) -> str:
        """A keyed hash of a file."""
        digest = hmac.new(self._for(use), digestmod="sha256")
        with path.open("rb") as file:
            while part := file.read(_CHUNK):
                digest.update(part)
        return digest.hexdigest()

    def encrypted(self, data: memoryview) -> Iterator[bytes]:
        """The bytes of an encrypted file: chunks, each bound to its place and to being the last or not."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        salt = OperatingSystemRandomness().bits(_KEY_BYTES)
        cipher = AESGCM(hmac.digest(self._for("state"), salt, "sha256"))
        yield _MAGIC + salt
        for number, start in enumerate(range(0, max(1, len(data)), _CHUNK)):
            place = number.to_bytes(11) + bytes([start + _CHUNK >= len(data)])
            chunk = cipher.encrypt(place, bytes(data[start : start + _CHUNK]), _MAGIC)
            yield len(chunk).to_bytes(4) + chunk

    def decrypted(self, path: Path) -> bytes:
        """What was encrypted into a file; IntegrityError if it is another, damaged or cut short."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        parts: list[bytes] = []
        ended = False
        with path.open("rb") as file:
            begun = file.read(len(_MAGIC) + _KEY_BYTES)
            cipher = AESGCM(hmac.digest(self._for("state"), begun[len(_MAGIC) :], "sha256"))
            try:
                while not ended:
                    chunk = file.read(int.from_bytes(file.read(4)))
                    ended = not file.peek(1)
                    place = len(parts).to_bytes(11) + bytes([ended])
                    parts.append(cipher.decrypt(place, chunk, begun[: len(_MAGIC)]))
            except (InvalidTag, ValueError):
                raise IntegrityError(
                    f"{path} is not the state that this key encrypted, or is damaged.",
                    "Restore state and key from a copy of the same time; if there is none, `restart=True` "
                    "goes on without it.",
                ) from None
        return b"".join(parts)


@dataclass
class Kept:
    """A course with the names of what is numbered in it. Secret.

    Args:
        course: the course.
        texts: of items.
        users: keyed hashes of users.
        log: the keyed hash of the log that was last taken in.
    """

    course: Course
    texts: pa.Array
    users: pa.Array
    log: str = ""

    @classmethod
    def empty(cls, rounds: SeriesRounds) -> Kept:
        """Before the first week."""
        return cls(Course(rounds), pa.array([], pa.string()), pa.array([], pa.binary(_HASH_BYTES)))

    def write(self, path: Path, key: SeriesKey) -> str:
        """Write it whole or not at all, synced; returns the file's mark."""
        course = self.course
        tables = [
            pa.table({"text": self.texts, **_columns(course, _PER_ITEM)}),
            pa.table({"user": self.users, **_columns(course, _PER_USER)}),
            pa.table(_columns(course, _PER_HOLDING)),
            pa.table(_columns(course, ("window",))),
        ]
        plain = {each.name: getattr(course, each.name) for each in fields(course) if each.type == "int"}
        note = json.dumps({**plain, "log": self.log}).encode()
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        for table in tables:
            named = table.replace_schema_metadata({"series": note})
            with pa.ipc.new_stream(sink, named.schema, options=options) as stream:
                stream.write_table(named)
        with atomic_file(path, mode=0o600) as temporary, temporary.open("wb") as file:
            file.writelines(key.encrypted(memoryview(sink.getvalue())))
        return key.mark(path, "mark")

    @classmethod
    def read(cls, path: Path, key: SeriesKey, rounds: SeriesRounds) -> Kept:
        """What was written."""
        source = pa.BufferReader(key.decrypted(path))
        tables = []
        for _ in range(4):
            with pa.ipc.open_stream(source) as stream:
                tables.append(stream.read_all().combine_chunks())
        note = json.loads(tables[0].schema.metadata[b"series"])
        course = Course(rounds, **{name: value for name, value in note.items() if name != "log"})
        for table in tables:
            _fill(course, table)
        texts, users = (_whole(tables[n].column(0)) for n in (0, 1))
        return cls(course, texts, users, note["log"])

    def take_in(self, asked: pa.Table, key: SeriesKey) -> Any:
        """Pairs of numbers for a table of different pairs ``user`` and ``query``; makes room for new ones."""
        names, queries = (asked.column(n).combine_chunks().dictionary_encode() for n in ("user", "query"))
        hashed = key.users(names.dictionary)
        self.users, people = _numbered(self.users, hashed)
        self.texts, items = _numbered(self.texts, queries.dictionary.cast(pa.string()))
        gaps = pc.subtract(pc.utf8_length(self.texts), pc.utf8_length(_without_spaces(self.texts)))
        words = np.minimum(np.asarray(gaps, np.int64) + 1, 255).astype(np.uint8)
        self.course.make_room(len(self.users), words)
        who, what = people[np.asarray(names.indices)], items[np.asarray(queries.indices)]
        return np.stack([who, what], axis=1).astype(np.int32)

    def compact(self) -> None:
        """Forget texts that nobody has held and that wait for no count."""
        self.texts = self.texts.take(pa.array(self.course.compact()))


def _without_spaces(texts: pa.Array) -> pa.Array:
    return pc.replace_substring(texts, " ", "")


def _numbered(known: pa.Array, named: pa.Array) -> tuple[pa.Array, Any]:
    """All names with their numbers: known ones first, and the numbers of ``named``."""
    places = pc.index_in(named, value_set=known)
    new = named.filter(pc.is_null(places))
    numbers = np.array(pc.fill_null(places, -1), np.int64)
    numbers[numbers < 0] = len(known) + np.arange(len(new))
    return pa.concat_arrays([known, new]), numbers


def _columns(course: Course, names: tuple[str, ...]) -> dict[str, Any]:
    """Arrays as columns; one of two columns as two."""
    made: dict[str, Any] = {}
    for name in names:
        values = getattr(course, name)
        if values.ndim == 1:
            made[name] = values
        else:
            made |= {f"{name}_{place}": np.ascontiguousarray(values[:, place]) for place in (0, 1)}
    return made


def _fill(course: Course, table: pa.Table) -> None:
    """The columns of a table as arrays of the course, which may be changed."""
    for name in table.column_names:
        base = name.removesuffix("_0")
        if base in vars(course) and base != name:
            pair = [np.array(table.column(f"{base}_{place}")) for place in (0, 1)]
            setattr(course, base, np.stack(pair, axis=1))
        elif name in vars(course):
            setattr(course, name, np.array(table.column(name)))


def _whole(column: Any) -> pa.Array:
    joined = column.combine_chunks()
    return joined if isinstance(joined, pa.Array) else pa.concat_arrays(joined.chunks)
