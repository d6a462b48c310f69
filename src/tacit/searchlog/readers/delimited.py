"""CSV and TSV with a column mapping. A record is a line.

In CSV a field may stand in quotes, with a quote inside it doubled (RFC 4180), but not run over a line
end: search queries hold none, and so a stray quote spoils one line instead of the rest of the file. In
TSV quotes mean nothing.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import LogError
from tacit.searchlog.bad_lines import Reason
from tacit.searchlog.readers.fields import Fields, split_fields
from tacit.searchlog.readers.instants import TIME_FORMATS
from tacit.searchlog.readers.mapping import ColumnMapping
from tacit.searchlog.readers.protocol import Block, Parsed
from tacit.searchlog.readers.quoting import enclosing_quotes
from tacit.searchlog.readers.records import Written, to_records
from tacit.searchlog.readers.source import Opening, Source
from tacit.searchlog.readers.text import lines_in_blocks
from tacit.searchlog.schema import COLUMNS

__all__ = ["DelimitedReader"]

Numbers = npt.NDArray[np.int64]
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class _Layout:
    """How the lines of one file are laid out."""

    positions: dict[str, int]
    width: int
    header: bool


@dataclass(frozen=True)
class _Piece:
    text: bytes
    layout: _Layout


class DelimitedReader:
    """Fields between delimiters, with or without quoting."""

    def __init__(
        self, name: str, delimiter: str, quoted: bool, mapping: ColumnMapping, time_format: str
    ) -> None:
        self.name = name
        self._delimiter = delimiter
        self._quoted = quoted
        self._mapping = mapping
        self._read_times = TIME_FORMATS[time_format]

    def _split(self, line: bytes) -> list[bytes] | None:
        """The fields of one line; None when its quotes do not close."""
        if not self._quoted:
            return line.split(self._delimiter.encode())
        # Latin-1 maps bytes to characters one to one, so the bytes come through unchanged.
        try:
            fields = next(csv.reader((line.decode("latin-1"),), delimiter=self._delimiter, strict=True))
        except (csv.Error, StopIteration):
            return None
        return [field.encode("latin-1") for field in fields]

    def recognises(self, opening: Opening) -> bool:
        """A header with the columns of the mapping; or the extension, when they go by position."""
        if self._mapping.positions is not None:
            return opening.suffix == f".{self.name}"
        header = self._split(opening.lines[0]) if opening.lines else None
        return header is not None and not self._mapping.missing(
            [n.decode("utf-8", "replace") for n in header]
        )

    def _layout(self, source: Source) -> _Layout:
        lines = source.opening().lines
        first = (self._split(lines[0]) if lines else None) or []
        positions = self._mapping.positions
        if positions is not None:
            if max(positions.values()) >= len(first):
                raise LogError(
                    f"{source.path} has {len(first)} columns in its first line, fewer than --columns counts.",
                    "Check the positions and the --format.",
                )
            return _Layout(positions, len(first), header=False)
        names = [name.decode("utf-8", "replace") for name in first]
        if missing := self._mapping.missing(names):
            # The first line may be data, so its content is not shown.
            raise LogError(
                f"{source.path} has no {', '.join(missing)} among the {len(names)} names in its first line.",
                "Say which are which with --columns user=…,query=…,time=…; use positions (user=1,…) when"
                " the file has no header.",
            )
        found = {column: names.index(name) for column, name in self._mapping.names.items() if name in names}
        return _Layout(found, len(first), header=True)

    def blocks(self, source: Source) -> Iterator[Block]:
        """Blocks of whole lines, with the file's layout."""
        layout = self._layout(source)
        for block in lines_in_blocks(source):
            yield Block(_Piece(block.content, layout), block.first_line, block.lines)

    def parse(self, block: Block) -> Parsed:
        """The records of a block of lines."""
        written, misfits, blank = self.written(block)
        headers = self._headers(written) if block.content.layout.header else None
        passed_over = {"blank": blank}
        if headers is not None and headers.any():
            passed_over["headers"] = int(headers.sum())
            written = written.only(~headers)
        return to_records(written, self._read_times, misfits, passed_over)

    def written(self, block: Block) -> tuple[Written, list[tuple[Reason, Numbers]], int]:
        """The fields of the lines of the right form, the lines of a wrong one, and how many are blank."""
        text, layout = block.content.text, block.content.layout
        delimiter = self._delimiter.encode()
        quotes, hard = enclosing_quotes(text, delimiter) if self._quoted else (None, _NONE)
        fields = split_fields(text, delimiter, quotes)
        blank = fields.blank & (fields.width < layout.width)
        fitting = (fields.width == layout.width) & ~blank
        fitting[hard] = blank[hard] = False
        misfits = ~(fitting | blank)
        misfits[hard] = False
        bad = [(Reason.COLUMNS, np.flatnonzero(misfits))]
        lines = np.flatnonzero(fitting)
        columns = self._columns(layout, fields, lines)
        if len(hard):
            lines, columns = self._second_look(text, layout, hard, lines, columns, bad)
        numbered = [(reason, np.sort(block.first_line + numbers)) for reason, numbers in _merged(bad)]
        return Written(block.first_line + lines, columns, fields.is_ascii), numbered, int(blank.sum())

    def _columns(self, layout: _Layout, fields: Fields, lines: Numbers) -> tuple[pa.Array, ...]:
        return tuple(
            fields.column(layout.positions[column], lines)
            if column in layout.positions
            else pa.nulls(len(lines), pa.binary())
            for column in COLUMNS
        )

    def _second_look(
        self,
        text: bytes,
        layout: _Layout,
        hard: Numbers,
        lines: Numbers,
        columns: tuple[pa.Array, ...],
        bad: list[tuple[Reason, Numbers]],
    ) -> tuple[Numbers, tuple[pa.Array, ...]]:
        """Read the ``hard`` lines one by one, and put them among the others in order."""
        whole = text.split(b"\n")
        found: list[int] = []
        rows: list[list[bytes]] = []
        wrong: dict[Reason, list[int]] = {Reason.SYNTAX: [], Reason.COLUMNS: []}
        for number in hard.tolist():
            row = self._split(whole[number].removesuffix(b"\r"))
            if row is None:
                wrong[Reason.SYNTAX].append(number)
            elif len(row) != layout.width:
                wrong[Reason.COLUMNS].append(number)
            else:
                found.append(number)
                rows.append(row)
        bad.extend((reason, np.array(numbers, np.int64)) for reason, numbers in wrong.items())
        both = np.concatenate([lines, np.array(found, np.int64)])
        order = np.argsort(both, kind="stable")
        merged = []
        for column, values in zip(COLUMNS, columns, strict=True):
            place = layout.positions.get(column)
            more = pa.array([None if place is None else row[place] for row in rows], pa.binary())
            merged.append(pa.concat_arrays([values, more]).take(pa.array(order)))
        return both[order], tuple(merged)

    def _headers(self, written: Written) -> npt.NDArray[np.bool_]:
        """Which lines repeat the names of the columns."""
        same = [
            pc.equal(values, self._mapping.names[column].encode())
            for column, values in zip(COLUMNS[:3], written.columns[:3], strict=True)
        ]
        return np.asarray(pc.and_(pc.and_(same[0], same[1]), same[2]))


def _merged(bad: list[tuple[Reason, Numbers]]) -> list[tuple[Reason, Numbers]]:
    """One entry a reason."""
    return [
        (reason, np.concatenate([numbers for found, numbers in bad if found is reason]))
        for reason in dict.fromkeys(found for found, _ in bad)
    ]
