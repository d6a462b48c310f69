"""CSV and TSV with a header, a column mapping, or AOL's columns in AOL's order; the logs of AOL and Excite.

A record is a line. In CSV a field may stand in quotes, with a quote inside it doubled, and run over line ends
(RFC 4180), which become spaces. A stray quote spoils one line instead of the rest of the file: lines are
joined only where that makes a whole record. In TSV quotes mean nothing.

Where neither a mapping nor a header names the columns, the order of AOL's is recognised by the times in the
third; whether a rank or a url follows is inferred from what the columns hold.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import LogError
from tacit.searchlog.readers.inspection import ADDRESS, NUMBER, ColumnKind, Values, kind_of, split_line
from tacit.searchlog.readers.protocol import Block, ColumnMapping, Parsed, Reader, Reading, Reason
from tacit.searchlog.readers.records import Fields, Written, enclosing_quotes, split_fields, to_records
from tacit.searchlog.readers.source import Opening, Source
from tacit.searchlog.readers.times import TimeReader, compact_instants
from tacit.searchlog.schema import COLUMNS, WORDLESS

HEADER = ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL")
"""The names of AOL's columns."""

Row = list[bytes]

_NAME = re.compile(rb"\s*\"?[^\W\d][^\d:/]*\"?\s*")
"""What the name of a column looks like, and no time."""
_NUMBERS = (ColumnKind.WHOLE, ColumnKind.WHOLE_DECIMALS, ColumnKind.DECIMALS)
_NEEDED = 3


@dataclass(frozen=True)
class Layout:
    """Where a line keeps what."""

    delimiter: str
    positions: dict[str, int]  # column of the log → place in the line, from 0
    widths: frozenset[int]  # how many fields a line has
    header: tuple[bytes, ...] | None = None  # the names in the first line, which may come again
    least_width: int | None = None
    """With this many fields, or more, a line will do: what is missing are clicks, what is over is not
    needed.
    """

    @property
    def shifts_show(self) -> bool:
        """Whether a delimiter inside a query would move the time out of its place, and so be noticed."""
        return self.positions["time"] > self.positions["query"]

    def takes(self, row: Row) -> bool:
        """Tell whether a line of these fields has as many as it should, or more that hold nothing."""
        if len(row) in self.widths or (self.least_width is not None and len(row) >= self.least_width):
            return True
        return self.shifts_show and len(row) > min(self.widths) and not any(row[min(self.widths) :])


def _usual_width(rows: Sequence[Row]) -> int:
    return Counter(len(row) for row in rows).most_common(1)[0][0]


def by_name(rows: Sequence[Row], mapping: ColumnMapping, delimiter: str) -> Layout | None:
    """The layout of a file whose first row names its columns; None when what is needed is not named."""
    names = [name.decode("utf-8", "replace") for name in rows[0]] if rows else []
    if mapping.missing(names):
        return None
    positions = mapping.found_in(names)
    widths = {len(names)}
    if len(rows) > 1 and (usual := _usual_width(rows[1:])) > len(names):
        widths.add(usual)  # columns that the header has no names for
    # A tab inside a query would move the time out of its place, and be noticed: then more columns do no harm.
    loose = delimiter == "\t" and positions["time"] > positions["query"]
    return Layout(delimiter, positions, frozenset(widths), tuple(rows[0]), len(names) if loose else None)


def by_position(rows: Sequence[Row], positions: dict[str, int], delimiter: str) -> Layout | None:
    """The layout of a file without a header; None when its first row is too short for ``positions``."""
    if not rows or max(positions.values()) >= len(rows[0]):
        return None
    loose = delimiter == "\t" and positions["time"] > positions["query"]
    width = max(positions.values()) + 1
    return Layout(delimiter, positions, frozenset({len(rows[0])}), None, width if loose else None)


def _clicks(rows: Sequence[Row]) -> dict[str, int]:
    """Find where the rank and the url stand, after user, query and time."""
    kinds = [kind_of([row[place] for row in rows if len(row) > place]) for place in (3, 4)]
    if _usual_width(rows) == _NEEDED + 1:
        return {"url" if kinds[0] is ColumnKind.ADDRESSES else "rank": 3}
    if kinds[0] in (ColumnKind.ADDRESSES, ColumnKind.TEXT) or kinds[1] in _NUMBERS:
        return {"url": 3} | ({"rank": 4} if kinds[1] in _NUMBERS else {})
    return {"rank": 3, "url": 4}


def _in_question(other: Values) -> bool:
    """Tell whether a column after the time is no rank and no url: it may be what tells people apart."""
    return other.phrases is not None and not other.ranks and other.kind is not ColumnKind.ADDRESSES


def in_aol_order(rows: Sequence[Row], read_times: TimeReader, delimiter: str) -> Layout | None:
    """The layout of lines whose third column holds times; None when it does not."""
    lines = [row for row in rows if any(row)]
    kept = [row for row in lines if len(row) >= _NEEDED]
    third = [row[2].strip() for row in kept]
    sure = [value for value in third if not value.isdigit() or len(value) >= 9]  # no plain short numbers
    if int(read_times(pa.array(sure, pa.binary()))[1].sum()) * 2 <= len(lines):
        return None
    columns = [Values.of([row[at] for row in kept if len(row) > at]) for at in range(_usual_width(kept))]
    users, queries, _, *others = columns
    if queries.phrases is not None:  # there are lines enough to say
        numbered = queries.phrases == 0 and queries.differing > 0.95
        named = (users.phrases or 0) >= 0.1 or users.kind is ColumnKind.DECIMALS
        if queries.kind is not ColumnKind.TEXT or numbered or named or any(map(_in_question, others)):
            return None
    positions = {"user": 0, "query": 1, "time": 2} | _clicks(kept)
    header = tuple(kept[0]) if all(map(_NAME.fullmatch, kept[0])) else None
    return Layout(delimiter, positions, frozenset({_usual_width(kept)}), header, _NEEDED)


Numbers = npt.NDArray[np.int64]
_NONE = np.empty(0, np.int64)
_SAMPLE = 200
_USUAL_DELIMITERS = (",", ";", "|")


@dataclass(frozen=True)
class _Piece:
    text: bytes
    layout: Layout
    joined: int = 0
    """Blank lines that stand where the rest of a record over several lines stood, to keep their numbers."""


class DelimitedReader(Reader):
    """Fields between delimiters: quotes count, unless the delimiter is a tab.

    Without a delimiter said, ``csv`` looks for commas, semicolons and bars, ``tsv`` for tabs.
    """

    def __init__(self, name: str, reading: Reading) -> None:
        super().__init__(reading)
        self.name = name
        usual = ("\t",) if name == "tsv" else _USUAL_DELIMITERS
        self._delimiters = (reading.delimiter,) if reading.delimiter else usual

    def _rows(self, opening: Opening, delimiter: str) -> list[Row]:
        """The first lines, cut into fields; those whose quotes do not close are left out."""
        rows = (split_line(line, delimiter) for line in opening.lines[:_SAMPLE])
        return [row for row in rows if row is not None]

    def laid_out(self, opening: Opening) -> Layout | None:
        """Detect how the file's lines are laid out, by the first delimiter that makes sense of them."""
        cut = [(self._rows(opening, delimiter), delimiter) for delimiter in self._delimiters]
        positions = self.reading.mapping.positions
        if positions is not None:
            found = [by_position(rows, positions, delimiter) for rows, delimiter in cut]
        else:
            found = [by_name(rows, self.reading.mapping, delimiter) for rows, delimiter in cut]
            if not self.reading.mapping.given and self.name == "csv":
                found += [in_aol_order(rows, self.reading.read_times, delimiter) for rows, delimiter in cut]
        return next((layout for layout in found if layout is not None), None)

    def recognises(self, opening: Opening) -> bool:
        """See a header with the mapping's columns, or AOL's order; by position, an extension or delimiter."""
        layout = self.laid_out(opening)
        if layout is None:
            return False
        if self.reading.mapping.positions is not None:
            return opening.suffix == f".{self.name}" or self.reading.delimiter is not None
        if self.name != "tsv" or (layout.header or ())[:3] != tuple(name.encode() for name in HEADER[:3]):
            return True
        places = list(layout.positions.values())  # AOL's own reader takes its order, and is more forgiving
        return places != sorted(places) or max(places) >= len(HEADER)

    def named(self, opening: Opening) -> list[str]:
        """The names in the first line, if it holds some of those said and so is surely a header."""
        for delimiter in self._delimiters:
            first = next(iter(self._rows(opening, delimiter)), [])
            names = [name.decode("utf-8", "replace") for name in first]
            if self.reading.mapping.given and self.reading.mapping.found_in(names):
                return names
        return []

    def placed(self, opening: Opening) -> dict[str, int]:
        layout = self.laid_out(opening)
        return layout.positions if layout is not None else {}

    def _layout(self, source: Source) -> Layout:
        opening = source.opening
        if (layout := self.laid_out(opening)) is not None:
            return layout
        first = max(
            (self._rows(opening, delimiter)[:1] or [[]] for delimiter in self._delimiters),
            key=lambda r: len(r[0]),
        )[0]
        if self.reading.mapping.positions is not None:
            raise LogError(
                f"{source.name} has {len(first)} columns in its first line, fewer than `columns` counts.",
                "Check the positions, `format` and `delimiter`.",
            )
        # The first line may be data, so its content is not shown.
        missing = self.reading.mapping.missing([name.decode("utf-8", "replace") for name in first])
        raise LogError(
            f"{source.name} has no {', '.join(missing)} among the {len(first)} names in its first line.",
            "Say which are which with `columns=user=…,query=…,time=…`; use positions (user=1,…) when"
            " the file has no header; `tacit import --look FILE` tells what each column holds.",
        )

    def blocks(self, source: Source) -> Iterator[Block]:
        layout = self._layout(source)
        if layout.delimiter == "\t":
            for block in super().blocks(source):
                yield Block(_Piece(block.content, layout), block.first_line, block.lines)
            return
        first, rest = 1, b""
        for block in super().blocks(source):
            text, joined, rest = _on_one_line(rest + block.content, layout)
            lines = text.count(b"\n")
            if lines:
                yield Block(_Piece(text, layout, joined), first, lines)
            first += lines
        if rest:
            yield Block(_Piece(rest, layout), first, rest.count(b"\n"))

    def parse(self, block: Block) -> Parsed:
        written, misfits, blank = self.written(block)
        layout = block.content.layout
        names = [layout.header[layout.positions[column]] for column in COLUMNS[:3]] if layout.header else []
        written, headers = without_headers(written, names)
        passed_over = {"blank": blank, "continued": block.content.joined, "headers": headers}
        return to_records(written, self.reading, misfits, passed_over)

    def written(self, block: Block) -> tuple[Written, list[tuple[Reason, Numbers]], int]:
        """The fields of the lines of the right form, the lines of a wrong one, and how many are blank."""
        text, layout = block.content.text, block.content.layout
        delimiter = layout.delimiter.encode()
        quotes, hard = enclosing_quotes(text, delimiter) if delimiter != b"\t" else (None, _NONE)
        fields = split_fields(text, delimiter, quotes)
        blank = fields.empty & (min(layout.widths) > 1)
        fitting = _fits(layout, fields) & ~blank
        fitting[hard] = blank[hard] = False
        misfits = ~(fitting | blank)
        misfits[hard] = False
        lines = np.flatnonzero(fitting)
        columns = tuple(
            fields.column(layout.positions[column], lines)
            if column in layout.positions
            else pa.nulls(len(lines), pa.binary())
            for column in COLUMNS
        )
        unclosed = _NONE
        if len(hard):
            lines, columns, unclosed = _second_look(text, layout, hard, lines, columns, misfits)
        bad = [(Reason.COLUMNS, np.flatnonzero(misfits)), (Reason.SYNTAX, unclosed)]
        numbered = [(reason, block.first_line + numbers) for reason, numbers in bad]
        blank_lines = int(blank.sum()) - block.content.joined
        return Written(block.first_line + lines, columns, fields.is_ascii), numbered, blank_lines


def _second_look(
    text: bytes,
    layout: Layout,
    hard: Numbers,
    lines: Numbers,
    columns: tuple[pa.Array, ...],
    misfits: npt.NDArray[np.bool_],
) -> tuple[Numbers, tuple[pa.Array, ...], Numbers]:
    """Read the ``hard`` lines one by one, and put them among the others in order; those of a wrong width
    are added to ``misfits``, and those whose quotes do not close are returned.
    """
    whole = text.split(b"\n")
    rows: dict[int, Row] = {}
    unclosed: list[int] = []
    for number in hard.tolist():
        row = split_line(whole[number].removesuffix(b"\r"), layout.delimiter)
        if row is None:
            unclosed.append(number)
        elif layout.takes(row):
            rows[number] = row
        else:
            misfits[number] = True
    both = np.concatenate([lines, np.array(list(rows), np.int64)])
    order = np.argsort(both, kind="stable")
    merged = []
    for column, values in zip(COLUMNS, columns, strict=True):
        place = layout.positions.get(column, len(text))  # beyond any field where there is none
        more = [row[place] if place < len(row) else None for row in rows.values()]
        merged.append(pa.concat_arrays([values, pa.array(more, pa.binary())]).take(pa.array(order)))
    return both[order], tuple(merged), np.array(unclosed, np.int64)


_LONGEST_RECORD = 50
"""Lines of one record at most."""


def _on_one_line(text: bytes, layout: Layout) -> tuple[bytes, int, bytes]:
    """Lines in which every record stands on one, what was joined to make it so, and lines still unfinished.

    A record over several lines becomes one, with spaces for the line ends inside it, and blank lines after
    it, so that the lines that follow keep their numbers.
    """
    _, hard = enclosing_quotes(text, layout.delimiter.encode())
    lines = text.split(b"\n")[:-1]
    joined = done = 0
    for number in hard.tolist():
        if number < done or split_line(lines[number], layout.delimiter) is not None:
            continue
        for end in range(number + 2, min(number + _LONGEST_RECORD, len(lines)) + 1):
            if lines[end - 1].count(b'"') % 2 == 0:
                continue  # the quote that is open is not closed here
            whole = b" ".join(line.removesuffix(b"\r") for line in lines[number:end])
            row = split_line(whole, layout.delimiter)
            if row is not None and layout.takes(row):
                lines[number:end] = [whole, *[b""] * (end - number - 1)]
                joined += end - number - 1
                done = end
            break
        else:
            if number + _LONGEST_RECORD > len(lines):  # the record may go on in the next block
                return _ended(lines[:number]), joined, _ended(lines[number:])
    return (_ended(lines) if joined else text), joined, b""


def _ended(lines: Sequence[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _fits(layout: Layout, fields: Fields) -> npt.NDArray[np.bool_]:
    """Find the lines with as many fields as they should have, or more that hold nothing
    (:meth:`Layout.takes`)."""
    width = fields.width
    fitting = np.isin(width, list(layout.widths))
    if layout.least_width is not None:
        return fitting | (width >= layout.least_width)
    wider = np.flatnonzero(~fitting & (width > min(layout.widths)))
    if len(wider) and layout.shifts_show:
        fitting[wider] = fields.nothing_after(wider, min(layout.widths))
    return fitting


def without_headers(written: Written, names: Sequence[bytes]) -> tuple[Written, int]:
    """Leave out the lines whose first columns repeat ``names``, and say how many they are."""
    if not names:
        return written, 0
    same = pc.equal(written.columns[0], names[0])
    for values, name in zip(written.columns[1:], names[1:], strict=False):
        if pc.any(same).as_py():  # nearly all blocks have none
            same = pc.and_(same, pc.equal(values, name))
    headers = np.asarray(same)
    return (written.only(~headers), int(headers.sum())) if headers.any() else (written, 0)


class AolReader(DelimitedReader):
    """The format of AOL's log of 2006: a header like its, or times in the third of three columns or more."""

    def __init__(self, reading: Reading) -> None:
        super().__init__("tsv", reading)
        self.name = "aol"

    def recognises(self, opening: Opening) -> bool:
        rows = [line.split(b"\t") for line in opening.lines[:_SAMPLE] if line.strip()]
        if rows and rows[0][:_NEEDED] == [name.encode() for name in HEADER[:_NEEDED]]:
            return True
        return in_aol_order(rows, self.reading.read_times, "\t") is not None

    def placed(self, opening: Opening) -> dict[str, int]:
        rows = [line.split(b"\t") for line in opening.lines if line.count(b"\t") >= _NEEDED - 1]
        layout = in_aol_order(rows, self.reading.read_times, "\t") if rows else None
        clicks = {"rank": 3, "url": 4} if layout is None else layout.positions
        return {"user": 0, "query": 1, "time": 2} | clicks

    def laid_out(self, opening: Opening) -> Layout:
        del opening
        places = {"user": 0, "query": 1, "time": 2, "rank": 3, "url": 4}
        return Layout("\t", places, frozenset({_NEEDED}), tuple(name.encode() for name in HEADER), _NEEDED)

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
