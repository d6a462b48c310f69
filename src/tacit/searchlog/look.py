"""What an import would take each column of a file for, before anything is imported.

Says what the columns hold in words of our own (:mod:`tacit.searchlog.readers.kinds`); no value is shown.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.errors import LogError
from tacit.searchlog.readers import Reading, Source, find_sources, reader_for
from tacit.searchlog.readers.look import DELIMITERS_IN_WORDS, looked_at
from tacit.searchlog.readers.protocol import Reader

__all__ = ["ColumnSeen", "FileSeen", "look_at"]

_SAMPLE = 200


@dataclass(frozen=True)
class ColumnSeen:
    """One column of a file."""

    name: str
    """Its position from 1, or its name where the format has names of its own."""
    holds: str
    taken_for: str | None
    """The column of the log that it becomes; None when it is left out."""


@dataclass(frozen=True)
class FileSeen:
    """One file, looked at."""

    path: Path
    format_name: str | None
    """What an import would read it as; None when it would refuse it."""
    delimiter: str | None
    time_format: str
    columns: tuple[ColumnSeen, ...]
    refusal: str = ""
    """Why an import would refuse it, and what would probably help."""


def look_at(
    path: Path, format_name: str | None = None, reading: Reading | None = None, encoding: str = "utf-8"
) -> FileSeen:
    """Look at one file (or the standard input)."""
    if path.is_dir():
        raise LogError(f"{path} is a folder.", "Look at its files one by one.")
    (source,) = find_sources([path], encoding=encoding)
    opening = source.opening()
    reading = (reading or Reading()).told_from(opening)
    try:
        reader = reader_for(source, format_name, reading)
    except LogError as error:
        return FileSeen(path, None, None, reading.time_format, _delimited(source, reading, {}), str(error))
    assert reader is not None  # a file that was named is recognised or refused
    delimiter = None
    if reader.name in ("parquet", "jsonl"):
        columns = _named(source, reader, reading)
    else:
        columns = _delimited(source, reading, reader.placed(opening))
        look = looked_at(opening, reading)
        delimiter = DELIMITERS_IN_WORDS.get(look.delimiter or "", look.delimiter)
    return FileSeen(path, reader.name, delimiter, reading.time_format, columns)


def _delimited(source: Source, reading: Reading, placed: dict[str, int]) -> tuple[ColumnSeen, ...]:
    taken = {place: column for column, place in placed.items()}
    kinds = looked_at(source.opening(), reading).columns
    return tuple(ColumnSeen(str(place + 1), str(kind), taken.get(place)) for place, kind in enumerate(kinds))


def _named(source: Source, reader: Reader, reading: Reading) -> tuple[ColumnSeen, ...]:
    """The columns of a Parquet file, with their types; the names that most objects of JSON lines have."""
    if reader.name == "parquet":
        if source.stream is not None:
            raise LogError("the standard input is a Parquet file.", "Name the file instead.")
        try:
            schema = pq.read_schema(source.path)
        except (pa.ArrowException, OSError) as error:
            raise LogError(f"{source.path} is a damaged Parquet file.", "Make it again.") from error
        held = {field.name: f"values of type {field.type}" for field in schema}
    else:
        held = dict.fromkeys(_usual_keys(source), "values of objects")
    names = list(held)
    taken = {names[place]: column for column, place in reading.mapping.found_in(names).items()}
    return tuple(ColumnSeen(name, held[name], taken.get(name)) for name in names)


def _usual_keys(source: Source) -> list[str]:
    """The names that at least half of the objects have: a name that few have could be somebody's."""
    counts: Counter[str] = Counter()
    objects = 0
    for line in source.opening().lines[:_SAMPLE]:
        try:
            found: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            objects += 1
            counts.update(found.keys())
    return [key for key, count in counts.items() if count * 2 >= objects]
