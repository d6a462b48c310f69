"""Readers of log formats, one file each, and how the right one is found.

==========  ==========================================================================
``aol``     AOL's text format
``excite``  Excite's text format
``csv``     fields between commas, with a header or a column mapping
``tsv``     the same between tabs, without quoting
``jsonl``   an object a line
``parquet`` any Parquet file with the columns of a log, under these or other names
==========  ==========================================================================
"""

from __future__ import annotations

from tacit.errors import LogError, ParameterError
from tacit.searchlog.readers.aol import AolReader
from tacit.searchlog.readers.delimited import DelimitedReader
from tacit.searchlog.readers.excite import ExciteReader
from tacit.searchlog.readers.instants import TIME_FORMATS
from tacit.searchlog.readers.jsonl import JsonLinesReader
from tacit.searchlog.readers.mapping import ColumnMapping
from tacit.searchlog.readers.parquet import ParquetReader
from tacit.searchlog.readers.protocol import Block, Parsed, Reader
from tacit.searchlog.readers.source import Opening, Source, find_sources

__all__ = [
    "FORMATS",
    "TIME_FORMATS",
    "Block",
    "ColumnMapping",
    "Opening",
    "Parsed",
    "Reader",
    "Source",
    "find_sources",
    "reader_for",
    "readers",
]

FORMATS = ("aol", "excite", "csv", "tsv", "jsonl", "parquet")
_FIXED = ("aol", "excite")
"""Formats whose columns are what they are, so that no mapping applies."""


def readers(mapping: ColumnMapping | None = None, time_format: str = "auto") -> dict[str, Reader]:
    """All readers by name, the surest to be recognised first."""
    if time_format not in TIME_FORMATS:
        raise ParameterError.outside("--time-format", repr(time_format), f"one of {', '.join(TIME_FORMATS)}")
    mapping = mapping or ColumnMapping()
    found: list[Reader] = [
        ParquetReader(mapping, time_format),
        JsonLinesReader(mapping, time_format),
        DelimitedReader("csv", ",", True, mapping, time_format),
        DelimitedReader("tsv", "\t", False, mapping, time_format),
        AolReader(),
        ExciteReader(),
    ]
    return {reader.name: reader for reader in found if not (mapping.given and reader.name in _FIXED)}


def reader_for(
    source: Source, format_name: str | None, mapping: ColumnMapping, time_format: str = "auto"
) -> Reader | None:
    """The reader for ``source``: the one named, or the first that recognises how the file begins.

    None for a file that no reader recognises and nobody named: it lay in a folder, as a README does.
    """
    available = readers(mapping, time_format)
    if format_name is not None:
        if format_name not in FORMATS:
            raise ParameterError.outside("--format", repr(format_name), f"one of {', '.join(FORMATS)}")
        if format_name not in available:
            raise ParameterError(f"--columns does not apply to the format {format_name}.", "Leave it out.")
        return available[format_name]
    opening = source.opening()
    for reader in available.values():
        if reader.recognises(opening):
            return reader
    if not source.asked_for:
        return None
    raise LogError(
        f"{source.path} begins like none of the formats {', '.join(available)}.",
        f"Name its format with --format ({', '.join(FORMATS)}), and for csv, tsv, jsonl and parquet its"
        " columns with --columns user=…,query=…,time=….",
    )
