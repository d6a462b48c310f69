"""Readers of log formats by name, and how the right one is found."""

from tacit.errors import LogError, ParameterError
from tacit.searchlog.readers.access import AccessReader
from tacit.searchlog.readers.delimited import AolReader, DelimitedReader, ExciteReader
from tacit.searchlog.readers.inspection import looked_at
from tacit.searchlog.readers.objects import EXPORTS, ObjectsReader
from tacit.searchlog.readers.protocol import ColumnMapping, Reader, Reading
from tacit.searchlog.readers.source import Source, find_sources, foreign
from tacit.searchlog.readers.typed import DatabaseReader, ParquetReader

__all__ = ["FORMATS", "ColumnMapping", "Reading", "Source", "find_sources", "reader_for", "readers"]

_DATABASES = ("sqlite", "duckdb")
FORMATS = ("aol", "excite", "csv", "tsv", "jsonl", *EXPORTS, "access", "parquet", *_DATABASES)
_FIXED = ("aol", "excite", "access", *EXPORTS)
"""Formats whose columns are what they are, so that no mapping applies."""


def readers(reading: Reading | None = None) -> dict[str, Reader]:
    """List all readers by name, the surest to be recognised first."""
    reading = reading or Reading()
    found: list[Reader] = [
        ParquetReader(reading),
        *(DatabaseReader(name, reading) for name in _DATABASES),
        *(ObjectsReader(name, reading) for name in (*EXPORTS, "jsonl")),
        AccessReader(reading),
        DelimitedReader("csv", reading),
        DelimitedReader("tsv", reading),
        AolReader(reading),
        ExciteReader(reading),
    ]
    if reading.pattern is not None:
        found = [reader for reader in found if reader.name == "access"]
    if reading.delimiter is not None:
        wanted = {"tsv", "aol"} if reading.delimiter == "\t" else {"csv"}
        found = [reader for reader in found if reader.name in wanted]
    # AOL's columns in their order are recognised between commas, too, but surely only where no tab separates
    # them.
    found.sort(key=lambda reader: reader.name == "csv")
    return {reader.name: reader for reader in found if not (reading.mapping.given and reader.name in _FIXED)}


def reader_for(source: Source, format_name: str | None, reading: Reading | None = None) -> Reader | None:
    """The reader for ``source``: the one named, or the first that recognises how the file begins.

    None for a file that no reader recognises and nobody named: it lay in a folder, as a README does.
    """
    opening = source.opening
    reading = (reading or Reading()).told_from(opening)
    available = readers(reading)
    if format_name is not None:
        if format_name not in FORMATS:
            raise ParameterError.outside("format", repr(format_name), f"one of {', '.join(FORMATS)}")
        if format_name == "aol" and reading.delimiter is not None and not reading.mapping.given:
            return next(iter(available.values()))  # its columns between other delimiters
        if format_name not in available:
            option = "`columns`" if reading.mapping.given and format_name in _FIXED else "`delimiter`"
            raise ParameterError(f"{option} does not apply to the format {format_name}.", "Leave it out.")
        return available[format_name]
    known = foreign(opening.head)
    for reader in available.values() if known is None or b"\0" not in opening.head else ():
        if reader.recognises(opening):
            return reader
    if not source.asked_for:
        return None
    if not opening.head:
        raise LogError(f"{source.name} is empty.")
    if known is not None:
        raise LogError(f"{source.name} is {known[0]}, not a log that can be read.", known[1])
    for reader in available.values():
        if isinstance(reader, DelimitedReader) and (names := reader.named(opening)):
            raise LogError(
                f"{source.name} has no column {', '.join(reading.mapping.missing(names))}; its first line"
                f" names {', '.join(names)}.",
                "Correct `columns`.",
            )
    seen = looked_at(opening, reading)
    raise LogError(
        f"{source.name} begins like none of the known formats{seen.complaint}.",
        f"{seen.remedy}Name its format with `format` ({', '.join(FORMATS)}), and for csv, tsv, jsonl,"
        " parquet and databases its columns with `columns=user=…,query=…,time=…`.",
    )
