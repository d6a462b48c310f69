"""Sources of lines: plain or compressed files, or the standard input, in large blocks cut at line ends.

Compression (gzip, bzip2, xz, Zstandard) is recognised by a file's first bytes, not by its name.
"""

import bz2
import codecs
import gzip
import io
import itertools
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from tacit.errors import InputError, LogError, ParameterError
from tacit.searchlog.readers.workbook import is_workbook, rows_as_csv

COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
"""Endings of names that say how a file is compressed, and nothing about its format."""

_LONGEST_MAGIC = 6
_ZIP = b"PK\x03\x04"


_COMPRESSIONS: dict[bytes, tuple[str, Callable[[IO[bytes]], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda stored: gzip.GzipFile(fileobj=stored)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMAFile),
    # Arrow's stream complains about a file that is cut short; the others' own stop quietly.
    b"\x28\xb5\x2f\xfd": (
        "zstd",
        lambda stored: pa.CompressedInputStream(pa.PythonFile(stored, mode="r"), "zstd"),
    ),
}
"""How compressed files begin, what the compression is called, and what reads them."""
_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, pa.ArrowException)


class _Stream(io.RawIOBase):
    """A stream of what comes in pieces."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = memoryview(b"")
        self._given = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._given

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not len(self._piece):
            if (piece := next(self._pieces, None)) is None:
                return 0
            self._piece = memoryview(piece)
        given = self._piece[: len(buffer)]
        self._piece = self._piece[len(given) :]
        buffer[: len(given)] = given
        self._given += len(given)
        return len(given)


@contextmanager
def text_of(stored: IO[bytes], head: bytes, name: str) -> Iterator[IO[bytes]]:
    """The text of a ``stored`` file that begins with ``head``, decompressed while it is read."""
    found = next((each for magic, each in _COMPRESSIONS.items() if head.startswith(magic)), None)
    whole = stored.seekable() and not isinstance(stored, io.BytesIO)  # neither a stream nor the head of one
    if whole and head.startswith(_ZIP) and is_workbook(stored):
        yield io.BufferedReader(_Stream(rows_as_csv(stored, name)))
        return
    if found is None:
        yield stored
        return
    kind, opened = found
    try:
        with opened(stored) as text:
            yield text
    except (OSError, *_DAMAGED) as error:
        if not isinstance(error, _DAMAGED) and getattr(error, "errno", None) is not None:
            raise  # the disk's complaint, not the decompressor's
        problem = f"{name} is a {kind} file that is damaged or cut short."
        raise LogError(problem, "Fetch or make it again.") from error


STANDARD_INPUT = Path("-")
"""What the standard input is called where a file is named."""

BLOCK_BYTES = 8 << 20
"""How much text is parsed at a time: enough for whole-array work to pay, few enough to stay in bounds."""

ENCODINGS = ("utf-8", "latin-1", "utf-16")
"""Every sequence of bytes is Latin-1, so it must be said: a wrong guess would garble words quietly. UTF-16
shows itself, by its byte order mark or by a zero in every other byte.
"""

_LONGEST_LINE = 64 << 20
_OPENING_BYTES = 64 << 10
_REMEMBERED_BYTES = 1 << 20
"""How much of the standard input, as it comes, is kept to infer its format from."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def _utf16(head: bytes) -> str | None:
    """The UTF-16 that text beginning with ``head`` is written in; None for text in bytes."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    pairs = min(len(head), 400) // 2
    even, odd = (head[place : 2 * pairs : 2].count(0) for place in (0, 1))
    if pairs < 4 or 10 * min(even, odd) > pairs or 10 * max(even, odd) < 8 * pairs:
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


_UNPACK = "Unpack it and import the files."
_FOREIGN: tuple[tuple[bytes, str, str], ...] = (
    (b"\xd0\xcf\x11\xe0", "an Excel workbook (.xls)", "Save the sheet as CSV and import that."),
    (b"Obj\x01", "an Avro file", "Export the table as Parquet or JSON lines."),
    (b"ORC", "an ORC file", "Export the table as Parquet."),
    (b"%PDF", "a PDF document", "Ask for the data behind it, as CSV."),
    (b"7z\xbc\xaf", "a 7-Zip archive", _UNPACK),
    (b"Rar!", "a RAR archive", _UNPACK),
)


def foreign(head: bytes) -> tuple[str, str] | None:
    """Name what a file that begins with ``head`` is, and the way in, when its known kind is no log."""
    if head.startswith(_ZIP):
        if b"[Content_Types].xml" in head or b"xl/" in head:  # of a stream: a file would have been read
            return "an Excel workbook (.xlsx)", "Name its file, or save the sheet as CSV and import that."
        return "a zip archive", _UNPACK
    if head[257:262] == b"ustar":
        return "a tar archive", _UNPACK
    if b"webapp=/solr" in head or (b"path=/select" in head and b"params={" in head):
        return (
            "Solr's own log, which names no user",
            "Import the request log of its web server (`format=access`), or give a `pattern` whose group"
            " `user` finds what tells people apart.",
        )
    return next(((what, way) for magic, what, way in _FOREIGN if head.startswith(magic)), None)


@dataclass(frozen=True)
class Opening:
    """The beginning of a file, from which its format is inferred."""

    path: Path
    head: bytes  # its first bytes, decompressed, without a byte order mark

    @cached_property
    def lines(self) -> list[bytes]:
        """The whole lines at the beginning, without line ends; a file of one unfinished line gives that."""
        lines = self.head.split(b"\n")
        whole = lines[:-1] if len(lines) > 1 else lines
        return [stripped for line in whole if (stripped := line.removesuffix(b"\r"))]

    @property
    def suffix(self) -> str:
        """The extension that tells the format: of ``log.csv.gz`` it is ``.csv``."""
        lowered = map(str.lower, self.path.suffixes)
        suffixes = [each for each in lowered if each not in COMPRESSED_SUFFIXES]
        return suffixes[-1] if suffixes else ""


@dataclass
class Source:
    """One file of a log, plain or compressed (recognised by content, not by name), or a stream."""

    path: Path
    asked_for: bool = True  # named by the user, rather than found in a folder
    encoding: str = "utf-8"  # what its text is written in; one of :data:`ENCODINGS`
    bytes_read: int = 0  # how far reading has come, in bytes on the disk
    stream: IO[bytes] | None = field(default=None, repr=False)
    """Where to read from, when it is no file: the text can be read to its end once."""
    _written_in: str = field(default="utf-8", init=False, repr=False)

    @property
    def size(self) -> int:
        """Its bytes on the disk; 0 for a stream, of which nobody knows."""
        return 0 if self.stream is not None else self.path.stat().st_size

    @property
    def name(self) -> str:
        return "the standard input" if self.stream is not None else str(self.path)

    @cached_property
    def _head(self) -> bytes:
        if self.stream is not None:
            return self.stream.read(_REMEMBERED_BYTES)
        with self.path.open("rb") as stored:
            return stored.read(_LONGEST_MAGIC)

    @contextmanager
    def _open(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        head = self._head
        if self.stream is not None:
            rest = iter(partial(self.stream.read, io.DEFAULT_BUFFER_SIZE), b"")
            remembered: IO[bytes] = io.BufferedReader(_Stream(itertools.chain((head,), rest)))
            with text_of(remembered, head, self.name) as text:
                yield remembered, text
            return
        with self.path.open("rb") as stored, text_of(stored, head, self.name) as text:
            yield stored, text

    @cached_property
    def opening(self) -> Opening:
        if self.stream is not None:
            with text_of(io.BytesIO(self._head), self._head, self.name) as text:
                head = text.read(_OPENING_BYTES)
        else:
            with self._open() as (_, text):
                head = text.read(_OPENING_BYTES)
        self._written_in = self.encoding if self.encoding != "utf-8" else _utf16(head) or "utf-8"
        begun = b"".join(self._in_utf8(iter((head,)), whole=False))
        return Opening(self.path, begun.removeprefix(_BYTE_ORDER_MARK))

    def _in_utf8(self, chunks: Iterator[bytes], *, whole: bool = True) -> Iterator[bytes]:
        """``chunks`` of the text in UTF-8, whatever it is written in; ``whole`` if they reach its end."""
        if self._written_in == "utf-8":
            yield from chunks
            return
        decoder = codecs.getincrementaldecoder(self._written_in)()
        try:
            for chunk in chunks:
                yield decoder.decode(chunk).encode("utf-8")
            decoder.decode(b"", final=whole)
        except UnicodeError as error:
            problem = f"{self.name} is not written in {self._written_in.upper()} throughout."
            raise LogError(problem, "Convert it to UTF-8, for example with iconv.") from error

    def text(self) -> Iterator[bytes]:
        """The text in order, in pieces that may end anywhere."""
        _ = self.opening  # says what the text is written in
        with self._open() as (stored, text):
            started = False
            for chunk in self._in_utf8(iter(lambda: text.read(BLOCK_BYTES), b"")):
                self.bytes_read = stored.tell()
                yield chunk if started else chunk.removeprefix(_BYTE_ORDER_MARK)
                started = True

    def blocks_of_lines(self) -> Iterator[bytes]:
        """The text in order, in blocks of about :data:`BLOCK_BYTES` that end with a line end."""
        rest = b""
        for chunk in self.text():
            end = chunk.rfind(b"\n") + 1
            if not end:
                rest += chunk
                if len(rest) > _LONGEST_LINE:
                    problem = f"{self.name} has a line of more than {_LONGEST_LINE >> 20} MiB."
                    raise LogError(problem, "It is no text log.")
                continue
            yield rest + chunk[:end] if rest else chunk[:end]
            rest = chunk[end:]
        if rest:
            yield rest + b"\n"


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
