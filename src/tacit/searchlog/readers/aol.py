"""AOL's text format: ``AnonID``, ``Query``, ``QueryTime``, ``ItemRank``, ``ClickURL``, between tabs.

A line without a click has an empty rank and url; files that lost their trailing tabs have three columns
there, which is just as clear. Quotes are part of a query and mean nothing. Headers may stand anywhere,
as when files were put together. The query ``-``, which is frequent in that log, is kept as it stands, so
that counts agree with those published about it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.searchlog.bad_lines import Reason
from tacit.searchlog.readers.fields import split_fields
from tacit.searchlog.readers.instants import plain_instants
from tacit.searchlog.readers.protocol import Block, Parsed
from tacit.searchlog.readers.records import Written, to_records
from tacit.searchlog.readers.source import Opening, Source
from tacit.searchlog.readers.text import lines_in_blocks

__all__ = ["HEADER", "AolReader"]

HEADER = ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL")
_WIDTHS = (3, 5)


class AolReader:
    """The format of AOL's log of 2006."""

    name = "aol"

    def recognises(self, opening: Opening) -> bool:
        """A header like AOL's, or lines of five (or three) columns with a time in the third."""
        lines = [line.split(b"\t") for line in opening.lines[:100]]
        if not lines:
            return False
        if tuple(lines[0]) == tuple(name.encode() for name in HEADER):
            return True
        fitting = [line[2] for line in lines if len(line) in _WIDTHS]
        _, readable = plain_instants(pa.array(fitting, pa.binary()))
        return int(readable.sum()) * 2 > len(lines)

    def blocks(self, source: Source) -> Iterator[Block]:
        """Blocks of whole lines."""
        return lines_in_blocks(source)

    def parse(self, block: Block) -> Parsed:
        """The records of a block of lines."""
        fields = split_fields(block.content, b"\t")
        blank = fields.blank
        fitting = np.isin(fields.width, _WIDTHS)
        lines = np.flatnonzero(fitting)
        misfits = np.flatnonzero(~(fitting | blank))
        columns = tuple(fields.column(position, lines) for position in range(len(HEADER)))
        written = Written(block.first_line + lines, columns, fields.is_ascii)
        headers = _headers(written)
        if headers.any():
            written = written.only(~headers)
        passed_over = {"headers": int(headers.sum()), "blank": int(blank.sum())}
        return to_records(
            written, plain_instants, [(Reason.COLUMNS, block.first_line + misfits)], passed_over
        )


def _headers(written: Written) -> npt.NDArray[np.bool_]:
    """Which lines repeat the names of the columns."""
    user, query = written.columns[:2]
    named = pc.equal(user, HEADER[0].encode())
    if pc.any(named).as_py():
        named = pc.and_(named, pc.equal(query, HEADER[1].encode()))
    return np.asarray(named)
