"""The formats of the published logs, with fixed columns between tabs: AOL's and Excite's."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from tacit.searchlog.readers.delimited import HEADER, DelimitedReader, Layout, Numbers, in_aol_order
from tacit.searchlog.readers.inspection import ADDRESS, NUMBER
from tacit.searchlog.readers.protocol import Block, Reading, Reason
from tacit.searchlog.readers.records import Written
from tacit.searchlog.readers.source import Opening
from tacit.searchlog.readers.times import compact_instants
from tacit.searchlog.schema import WORDLESS

_LEAST = 3
_SAMPLE = 100


class AolReader(DelimitedReader):
    """The format of AOL's log of 2006: a header like its, or times in the third of three columns or more."""

    def __init__(self, reading: Reading) -> None:
        super().__init__("tsv", reading)
        self.name = "aol"

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

    def laid_out(self, opening: Opening) -> Layout:
        del opening
        places = {"user": 0, "query": 1, "time": 2, "rank": 3, "url": 4}
        return Layout("\t", places, frozenset({_LEAST}), tuple(name.encode() for name in HEADER), _LEAST)

    def written(self, block: Block) -> tuple[Written, list[tuple[Reason, Numbers]], int]:
        found, misfits, blank = super().written(block)
        clicks = _told_apart(*found.columns[3:])
        return replace(found, columns=(*found.columns[:3], *clicks)), misfits, blank


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


_WORDLESS = pa.scalar(WORDLESS.encode(), pa.binary())


class ExciteReader(DelimitedReader):
    """The format of Excite's logs of 1997 to 2001: three columns, times of twelve digits in the second."""

    def __init__(self, reading: Reading) -> None:
        super().__init__("tsv", replace(reading, time_format="compact"))
        self.name = "excite"

    def laid_out(self, opening: Opening) -> Layout:
        del opening
        return Layout("\t", {"user": 0, "time": 1, "query": 2}, frozenset({3}))

    def recognises(self, opening: Opening) -> bool:
        lines = [line.split(b"\t") for line in opening.lines[:_SAMPLE]]
        fitting = [line[1] for line in lines if len(line) == 3]
        _, readable = compact_instants(pa.array(fitting, pa.binary()))
        return int(readable.sum()) * 2 > len(lines)

    def written(self, block: Block) -> tuple[Written, list[tuple[Reason, Numbers]], int]:
        found, misfits, blank = super().written(block)
        user, query, *more = found.columns
        query = pc.if_else(pc.equal(pc.binary_length(query), 0), _WORDLESS, query)
        return replace(found, columns=(user, query, *more)), misfits, blank
