"""Excite's format: user, ``yymmddHHMMSS`` and query, between tabs; no clicks.

A line with an empty query is no defect here: one line in eight of the sample is like this, a request
without words. Its query becomes ``-``, which is how AOL's log writes such a request, so that no record and no
user is lost.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.searchlog.bad_lines import Reason
from tacit.searchlog.readers.fields import split_fields
from tacit.searchlog.readers.instants import compact_instants
from tacit.searchlog.readers.protocol import Block, Parsed
from tacit.searchlog.readers.reading import Reading
from tacit.searchlog.readers.records import Written, to_records
from tacit.searchlog.readers.source import Opening, Source
from tacit.searchlog.readers.text import lines_in_blocks

__all__ = ["ExciteReader"]

_WIDTH = 3
_WORDLESS = pa.scalar(b"-", pa.binary())


class ExciteReader:
    """The format of Excite's logs of 1997 to 2001."""

    name = "excite"

    def __init__(self, reading: Reading | None = None) -> None:
        self._clock = (reading or Reading()).clock

    def placed(self, _opening: Opening) -> dict[str, int]:
        """Where the file keeps which column of the log."""
        return {"user": 0, "time": 1, "query": 2}

    def recognises(self, opening: Opening) -> bool:
        """Lines of three columns with a time of twelve digits in the second."""
        lines = [line.split(b"\t") for line in opening.lines[:100]]
        fitting = [line[1] for line in lines if len(line) == _WIDTH]
        _, readable = compact_instants(pa.array(fitting, pa.binary()))
        return int(readable.sum()) * 2 > len(lines)

    def blocks(self, source: Source) -> Iterator[Block]:
        """Blocks of whole lines."""
        return lines_in_blocks(source)

    def parse(self, block: Block) -> Parsed:
        """The records of a block of lines."""
        fields = split_fields(block.content, b"\t")
        blank = fields.blank
        fitting = fields.width == _WIDTH
        lines = np.flatnonzero(fitting)
        misfits = np.flatnonzero(~(fitting | blank))
        user, time, query = (fields.column(position, lines) for position in range(_WIDTH))
        query = pc.if_else(pc.equal(pc.binary_length(query), 0), _WORDLESS, query)
        none = pa.nulls(len(lines), pa.binary())
        written = Written(block.first_line + lines, (user, query, time, none, none), fields.is_ascii)
        passed_over = {"blank": int(blank.sum())}
        return to_records(
            written,
            lambda column: compact_instants(column, self._clock),
            [(Reason.COLUMNS, block.first_line + misfits)],
            passed_over,
        )
