"""Documents of one's own for the search server: JSON lines with url, title and text, plain or gzipped."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import IO

from tacit.errors import InputError
from tacit.retrieval import Document

__all__ = ["read_documents"]


def read_documents(path: str | Path, advance: Callable[[int], None] = lambda _: None) -> list[Document]:
    """The documents of a file, numbered by their place.

    Raises:
        InputError: the file is missing, a line is no JSON object, or lacks a url or both title and text.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there are no documents at {path}.", "Give a file of JSON lines.")
    documents: list[Document] = []
    try:
        with _opened(path) as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    documents.append(_document(path, number, line, len(documents)))
                    advance(1)
    except (gzip.BadGzipFile, UnicodeDecodeError, EOFError) as error:
        raise InputError(f"{path} cannot be read as JSON lines in UTF-8.") from error
    if not documents:
        raise InputError(f"{path} holds no documents.")
    return documents


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def _document(path: Path, number: int, line: str, place: int) -> Document:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise InputError(f"line {number} of {path} is not JSON.") from error
    fields = row if isinstance(row, dict) else {}
    url, title, text = (str(fields.get(name) or "") for name in ("url", "title", "text"))
    if not url.startswith(("http://", "https://")) or not (title or text):
        raise InputError(
            f"line {number} of {path} lacks a url that begins with http, or both title and text.",
            'Each line is an object such as {"url": "https://…", "title": "…", "text": "…"}.',
        )
    return Document(place, title or url, text, url, 0)
