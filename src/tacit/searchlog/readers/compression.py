"""Compressed files, told by how they begin and not by their names: gzip, bzip2, xz and Zstandard."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import pyarrow as pa

from tacit.errors import LogError

__all__ = ["COMPRESSED_SUFFIXES", "compression_of", "text_of"]

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
