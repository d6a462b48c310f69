"""Sources of lines: plain or compressed files, or the standard input, in large blocks cut at line ends.

Compression (gzip, bzip2, xz, Zstandard) is recognised by a file's first bytes, not by its name.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from tacit.errors import InputError, LogError, ParameterError

COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
"""Endings of names that say how a file is compressed, and nothing about its format."""

LONGEST_MAGIC = 6

_MAGIC: dict[bytes, str] = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}


def _zstd(stored: IO[bytes]) -> Any:
    # Arrow's stream complains about a file that is cut short; the others' own stop quietly.
    return pa.CompressedInputStream(pa.PythonFile(stored, mode="r"), "zstd")


_OPENERS: dict[str, Callable[[IO[bytes]], Any]] = {
    "gzip": lambda stored: gzip.GzipFile(fileobj=stored),
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zstd": _zstd,
}
_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, pa.ArrowException)


def compression_of(head: bytes) -> str | None:
    """What a file that begins with ``head`` is compressed with; None for a plain one."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


@contextmanager
def text_of(stored: IO[bytes], head: bytes, name: str) -> Iterator[IO[bytes]]:
    """The text of a ``stored`` file that begins with ``head``, decompressed while it is read.

    Args:
        stored: the file, at its beginning.
        head: its first bytes.
        name: what to call it when it is damaged.
    """
    kind = compression_of(head)
    if kind is None:
        yield stored
        return
    try:
        with _OPENERS[kind](stored) as text:
            yield text
    except _DAMAGED as error:
        raise _damaged(name, kind) from error
    except OSError as error:
        if error.errno is not None:  # the disk's complaint, not the decompressor's
            raise
        raise _damaged(name, kind) from error


def _damaged(name: str, kind: str) -> LogError:
    return LogError(f"{name} is a {kind} file that is damaged or cut short.", "Fetch or make it again.")


STANDARD_INPUT = Path("-")
"""What the standard input is called where a file is named."""

BLOCK_BYTES = 8 << 20
"""How much text is parsed at a time: enough for whole-array work to pay, few enough to stay in bounds."""

ENCODINGS = ("utf-8", "latin-1")
"""Every sequence of bytes is Latin-1, so it must be said: a wrong guess would garble words quietly."""

_LONGEST_LINE = 64 << 20
_OPENING_BYTES = 64 << 10
_REMEMBERED_BYTES = 1 << 20
"""How much of the standard input, as it comes, is kept to infer its format from."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Opening:
    """The beginning of a file, from which its format is inferred."""

    path: Path
    head: bytes
    """Its first bytes, decompressed, without a byte order mark."""

    @cached_property
    def lines(self) -> list[bytes]:
        """The whole lines at the beginning, without line ends; a file of one unfinished line gives that."""
        lines = self.head.split(b"\n")
        whole = lines[:-1] if len(lines) > 1 else lines
        return [stripped for line in whole if (stripped := line.removesuffix(b"\r"))]

    @property
    def suffix(self) -> str:
        """The extension that tells the format: of ``log.csv.gz`` it is ``.csv``."""
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        if suffixes and suffixes[-1] in COMPRESSED_SUFFIXES:
            suffixes.pop()
        return suffixes[-1] if suffixes else ""


class _Remembered(io.RawIOBase):
    """A stream from its beginning, although ``head`` was read of it before."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head = memoryview(head)
        self._rest = rest
        self._given = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._given

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size = len(buffer)
        piece = self._head[:size] if len(self._head) else self._rest.read(size)
        self._head = self._head[size:]
        buffer[: len(piece)] = piece
        self._given += len(piece)
        return len(piece)


@dataclass
class Source:
    """One file of a log, plain or compressed (recognised by content, not by name), or a stream."""

    path: Path
    asked_for: bool = True
    """Named by the user, rather than found in a folder."""
    encoding: str = "utf-8"
    """What its text is written in; one of :data:`ENCODINGS`."""
    bytes_read: int = 0
    """How far reading has come, in bytes on the disk."""
    stream: IO[bytes] | None = field(default=None, repr=False)
    """Where to read from, when it is no file: the text can be read to its end once."""

    @property
    def size(self) -> int:
        """Its bytes on the disk; 0 for a stream, of which nobody knows."""
        return 0 if self.stream is not None else self.path.stat().st_size

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return "the standard input" if self.stream is not None else str(self.path)

    @cached_property
    def _head(self) -> bytes:
        """The first bytes as they are stored."""
        if self.stream is not None:
            return self.stream.read(_REMEMBERED_BYTES)
        with self.path.open("rb") as stored:
            return stored.read(LONGEST_MAGIC)

    @contextmanager
    def _open(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """The file as stored, and its text."""
        head = self._head
        if self.stream is not None:
            remembered: IO[bytes] = io.BufferedReader(_Remembered(head, self.stream))
            with text_of(remembered, head, self.name) as text:
                yield remembered, text
            return
        with self.path.open("rb") as stored, text_of(stored, head, self.name) as text:
            yield stored, text

    @cached_property
    def _opening(self) -> Opening:
        if self.stream is not None:
            with text_of(io.BytesIO(self._head), self._head, self.name) as text:
                head = text.read(_OPENING_BYTES)
        else:
            with self._open() as (_, text):
                head = text.read(_OPENING_BYTES)
        return Opening(self.path, self._as_utf8(head.removeprefix(_BYTE_ORDER_MARK)))

    def opening(self) -> Opening:
        """How the file begins."""
        return self._opening

    def _as_utf8(self, text: bytes) -> bytes:
        return (
            text if self.encoding == "utf-8" or text.isascii() else text.decode(self.encoding).encode("utf-8")
        )

    def blocks_of_lines(self) -> Iterator[bytes]:
        """The text in order, in blocks of about :data:`BLOCK_BYTES` that end with a line end."""
        with self._open() as (stored, text):
            rest = b""
            started = False
            while chunk := text.read(BLOCK_BYTES):
                self.bytes_read = stored.tell()
                if not started:
                    chunk = chunk.removeprefix(_BYTE_ORDER_MARK)
                    started = True
                end = chunk.rfind(b"\n") + 1
                if not end:
                    rest += chunk
                    if len(rest) > _LONGEST_LINE:
                        raise LogError(
                            f"{self.name} has a line of more than {_LONGEST_LINE >> 20} MiB.",
                            "It is no text log.",
                        )
                    continue
                yield self._as_utf8(rest + chunk[:end] if rest else chunk[:end])
                rest = chunk[end:]
            if rest:
                yield self._as_utf8(rest + b"\n")


def find_sources(
    paths: Sequence[Path], *, encoding: str = "utf-8", besides: Path | None = None
) -> list[Source]:
    """The files of ``paths`` in the order given; a folder stands for all files in it, by name, ``-`` for
    stdin.

    In folders, hidden files are passed over, and so is ``besides`` (the output of an earlier import). A
    file that is named twice, or named and in a folder, is taken once: its records must not count double.
    """
    if encoding not in ENCODINGS:
        raise ParameterError.outside("encoding", repr(encoding), f"one of {', '.join(ENCODINGS)}")
    sources: list[Source] = []
    for path in paths:
        if path == STANDARD_INPUT:
            sources.append(Source(path, encoding=encoding, stream=sys.stdin.buffer))
        elif path.is_dir():
            for found in sorted(path.rglob("*")):
                hidden = any(part.startswith(".") for part in found.relative_to(path).parts)
                output = besides is not None and found.resolve() == besides.resolve()
                if found.is_file() and not hidden and not output:
                    sources.append(Source(found, asked_for=False, encoding=encoding))
        elif path.is_file():
            sources.append(Source(path, encoding=encoding))
        else:
            raise InputError(f"there is no file or folder {path}.", "Check the name.")
    if not sources:
        raise InputError("the folders given hold no files.", "Name the files of the log.")
    once = {source.path.resolve(): source for source in reversed(sources)}
    return [source for source in sources if once[source.path.resolve()] is source]
