"""The formats of the published logs, with fixed columns between tabs: AOL's and Excite's."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.searchlog.readers.delimited import HEADER, in_aol_order, without_headers
from tacit.searchlog.readers.inspection import ADDRESS, NUMBER
from tacit.searchlog.readers.protocol import Block, Parsed, Reader, Reason
from tacit.searchlog.readers.records import Written, split_fields, to_records
from tacit.searchlog.readers.source import Opening
from tacit.searchlog.readers.times import compact_instants
from tacit.searchlog.schema import WORDLESS

_LEAST = 3
_SAMPLE = 100


class AolReader(Reader):
    """The format of AOL's log of 2006: a header like its, or times in the third of three columns or more."""

    name = "aol"

    def recognises(self, opening: Opening) -> bool:
        rows = [line.split(b"\t") for line in opening.lines[:_SAMPLE] if line.strip()]
        if rows and rows[0][:_LEAST] == [name.encode() for name in HEADER[:_LEAST]]:
            return True
        return in_aol_order(rows, self.reading.read_times, "\t") is not None

    def placed(self, opening: Opening) -> dict[str, int]:
        rows = [line.split(b"\t") for line in opening.lines if line.count(b"\t") >= _LEAST - 1]
        layout = in_aol_order(rows, self.reading.read_times, "\t") if rows else None
        clicks = {"rank": 3, "url": 4} if layout is None else layout.positions
        return {"user": 0, "query": 1, "time": 2} | clicks

    def parse(self, block: Block) -> Parsed:
        fields = split_fields(block.content, b"\t")
        blank = fields.empty
        fitting = (fields.width >= _LEAST) & ~blank
        lines = np.flatnonzero(fitting)
        misfits = np.flatnonzero(~(fitting | blank))
        columns = [fields.column(position, lines) for position in range(len(HEADER))]
        columns[3], columns[4] = _told_apart(columns[3], columns[4])
        written = Written(block.first_line + lines, tuple(columns), fields.is_ascii)
        written, headers = without_headers(written, [name.encode() for name in HEADER[:2]])
        passed_over = {"headers": headers, "blank": int(blank.sum())}
        bad = [(Reason.COLUMNS, block.first_line + misfits)]
        return to_records(written, self.reading, bad, passed_over)


def _told_apart(fourth: pa.BinaryArray, fifth: pa.BinaryArray) -> tuple[pa.BinaryArray, pa.BinaryArray]:
    """Rank and url, line by line: a fourth column with an address is the url, and the fifth then the rank."""
    written = fourth.view(pa.string())
    plain = pc.or_kleene(pc.ascii_is_decimal(written), pc.equal(pc.binary_length(fourth), 0))
    if pc.all(plain, skip_nulls=True).as_py() is not False:
        return fourth, fifth
    is_url = pc.fill_null(
        pc.and_(
            pc.match_substring_regex(fourth, ADDRESS), pc.invert(pc.match_substring_regex(fourth, NUMBER))
        ),
        False,
    )
    return pc.if_else(is_url, fifth, fourth), pc.if_else(is_url, fourth, fifth)


_WIDTH = 3
_WORDLESS = pa.scalar(WORDLESS.encode(), pa.binary())


class ExciteReader(Reader):
    """The format of Excite's logs of 1997 to 2001: three columns, times of twelve digits in the second."""

    name = "excite"

    def placed(self, _opening: Opening) -> dict[str, int]:
        return {"user": 0, "time": 1, "query": 2}

    def recognises(self, opening: Opening) -> bool:
        lines = [line.split(b"\t") for line in opening.lines[:100]]
        fitting = [line[1] for line in lines if len(line) == _WIDTH]
        _, readable = compact_instants(pa.array(fitting, pa.binary()))
        return int(readable.sum()) * 2 > len(lines)

    def parse(self, block: Block) -> Parsed:
        fields = split_fields(block.content, b"\t")
        blank = fields.blank
        fitting = fields.width == _WIDTH
        lines = np.flatnonzero(fitting)
        misfits = np.flatnonzero(~(fitting | blank))
        user, time, query = (fields.column(position, lines) for position in range(_WIDTH))
        query = pc.if_else(pc.equal(pc.binary_length(query), 0), _WORDLESS, query)
        none = pa.nulls(len(lines), pa.binary())
        written = Written(block.first_line + lines, (user, query, time, none, none), fields.is_ascii)
        bad, clock = [(Reason.COLUMNS, block.first_line + misfits)], self.reading.clock
        times = {"read_times": lambda column: compact_instants(column, clock)}
        return to_records(written, self.reading, bad, {"blank": int(blank.sum())}, **times)
