"""From a block of lines to records: split into fields, normalise the queries, validate each line.

All of it works on whole arrays. The fields of a block become one Arrow column, whose buffer is the block
without its separators; the j-th column of the log is every field that stands j-th in its line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.searchlog.readers.protocol import Parsed, Reading, Reason
from tacit.searchlog.readers.times import Instants, TimeReader
from tacit.searchlog.schema import COLUMNS, SCHEMA, WORDLESS
from tacit.text import normalise_column

_NEWLINE, _RETURN, _QUOTE, _SPACE, _DELETE = ord("\n"), ord("\r"), ord('"'), 0x20, 0x7F


def enclosing_quotes(block: bytes, delimiter: bytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find where the quotes of plainly quoted lines stand, and which lines (from 0) need a second look."""
    none = np.empty(0, np.int64)
    if b'"' not in block:
        return none, none
    data = np.frombuffer(block, np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    line_ends = np.flatnonzero(data == _NEWLINE)
    line = np.searchsorted(line_ends, quotes)
    in_line = np.bincount(line, minlength=len(line_ends))
    # The first quote of a line opens, the second closes, and so on.
    opens = (np.arange(len(quotes)) - (np.cumsum(in_line) - in_line)[line]) % 2 == 0
    before = np.where(quotes > 0, data[quotes - 1], _NEWLINE)
    after = data[quotes + 1]  # there is one: the block ends with a line end
    ends_line = (after == _NEWLINE) | ((after == _RETURN) & (quotes + 1 == line_ends[line] - 1))
    sound = np.where(
        opens, (before == ord(delimiter)) | (before == _NEWLINE), (after == ord(delimiter)) | ends_line
    )
    hard = in_line % 2 == 1
    hard[line[~sound]] = True
    return quotes[~hard[line]], np.flatnonzero(hard)


@dataclass(frozen=True)
class Fields:
    """The fields of a block, line after line."""

    values: pa.BinaryArray
    first: npt.NDArray[np.int64]  # for each line, the position of its first field in ``values``
    width: npt.NDArray[np.int64]  # for each line, how many fields it has
    is_ascii: bool

    @property
    def empty(self) -> npt.NDArray[np.bool_]:
        """The lines with nothing, or nothing but white space, between their delimiters."""
        offsets = np.frombuffer(self.values.buffers()[1], np.int32)
        begin, end = offsets[self.first], offsets[self.first + self.width]
        empty: npt.NDArray[np.bool_] = begin == end
        data = np.frombuffer(self.values.buffers()[2] or b"", np.uint8)
        suspects = np.flatnonzero(~empty)
        suspects = suspects[data[begin[suspects]] <= _SPACE]
        for line in suspects:  # lines that begin with white space are few
            empty[line] = not data[begin[line] : end[line]].tobytes().strip()
        return empty

    def nothing_after(self, lines: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.bool_]:
        """Find which of ``lines`` (wider than ``width``) hold nothing after their first ``width`` fields."""
        offsets = np.frombuffer(self.values.buffers()[1], np.int32)
        first = self.first[lines]
        return np.asarray(offsets[first + width] == offsets[first + self.width[lines]])

    def column(self, position: int, lines: npt.NDArray[np.int64]) -> pa.BinaryArray:
        """The field at ``position`` (from 0) of each of ``lines``; null where a line is shorter."""
        where = self.first[lines] + position
        shorter = self.width[lines] <= position
        indices = pa.array(where, mask=shorter if shorter.any() else None)
        return self.values.take(indices)


def split_fields(block: bytes, delimiter: bytes, quotes: npt.NDArray[np.int64] | None = None) -> Fields:
    """Cut ``block``, which ends with a line end, at every ``delimiter`` and at LF or CRLF line ends.

    ``quotes`` that enclose fields are given in pairs: they are no part of the field, a delimiter between
    them is.
    """
    data = np.frombuffer(block, np.uint8)
    separators = data == _NEWLINE
    if quotes is None or not len(quotes):
        separators |= data == ord(delimiter)
    else:
        delimiters = np.flatnonzero(data == ord(delimiter))
        separators[delimiters[np.searchsorted(quotes, delimiters) % 2 == 0]] = True
    ends = np.flatnonzero(separators)
    last = np.flatnonzero(data[ends] == _NEWLINE)
    first = np.empty_like(last)
    first[0], first[1:] = 0, last[:-1] + 1

    # Bytes dropped up to the end of each field: one separator each, the CR of a CRLF, and quotes.
    dropped = np.arange(len(ends), dtype=np.int64)
    line_ends = ends[last]
    returns = (line_ends > 0) & (data[line_ends - 1] == _RETURN)
    if returns.any():
        separators[line_ends[returns] - 1] = True
        before_end = np.zeros(len(ends), np.int64)
        before_end[last[returns]] = 1
        dropped += np.cumsum(before_end)
    if quotes is not None and len(quotes):
        separators[quotes] = True
        dropped += np.searchsorted(quotes, ends)
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends - dropped
    kept = data[~separators]
    values = pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(kept)])
    return Fields(values, first, last - first + 1, bool(data.max(initial=0) < 0x80))


def _bytes_of(column: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Find where each value of a column of text begins and ends, in these bytes."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    return offsets, np.frombuffer(column.buffers()[2] or b"", np.uint8)


def _rough(queries: pa.StringArray) -> npt.NDArray[np.bool_]:
    """Find which queries may need more than lower-casing (a few that need no more may be among them)."""
    offsets, data = _bytes_of(queries)
    data = data[: offsets[-1]]
    odd = (data < _SPACE) | (data >= _DELETE)
    spaces = data == _SPACE
    odd[1:] |= spaces[1:] & spaces[:-1]
    filled = np.flatnonzero(np.diff(offsets))
    for edge in (offsets[filled], offsets[filled + 1] - 1):
        odd[edge] |= spaces[edge]
    places = np.flatnonzero(odd)
    rough = np.zeros(len(queries), np.bool_)
    rough[np.searchsorted(offsets, places[places >= offsets[0]], side="right") - 1] = True
    return rough


def normalise_queries(queries: pa.StringArray) -> pa.StringArray:
    """Normalise a column of queries; nulls stay null."""
    if not len(queries):
        return queries
    rough = pa.array(_rough(queries))
    lowered = pc.ascii_lower(queries)
    if not pc.any(rough).as_py():
        return lowered
    return pc.replace_with_mask(lowered, rough, normalise_column(queries.filter(rough)))


Mask = npt.NDArray[np.bool_]
_LARGEST_RANK = 2**31 - 1
_FIRST_INSTANT = int(np.datetime64("0001-01-01", "us").astype(np.int64))
_END_OF_INSTANTS = int(np.datetime64("10000-01-01", "us").astype(np.int64))
_FAULTS = (Reason.USER, Reason.QUERY, Reason.TIME, Reason.RANK)
_WHOLE_DECIMAL = r"^([0-9]+)[.,]0*$"
_MISSING = pa.array([b"NULL", b"null", b"\\N", b"None", b"NaN", b"nan", b"-"], pa.binary())
"""How texts write that a rank, a url or a user is not there."""


@dataclass(frozen=True)
class Written:
    """Lines as written, column by column."""

    lines: npt.NDArray[np.int64]  # their numbers in the file, ascending
    columns: tuple[pa.Array, ...]
    """Binary columns in the order of the log's schema, null where a line has no such field.

    Only the time may come as int64, microseconds since 1970, from formats that store times as such.
    """
    is_ascii: bool = False  # known to hold no byte above 127, so that there is no encoding to check
    typed: bool = False  # from a format that has a value for nothing, so that no word stands for it

    def only(self, kept: Mask) -> Written:
        mask = pa.array(kept)
        columns = tuple(column.filter(mask) for column in self.columns)
        return Written(self.lines[kept], columns, self.is_ascii, self.typed)


def _lengths(column: pa.BinaryArray) -> npt.NDArray[np.int32]:
    return np.asarray(pc.fill_null(pc.binary_length(column), 0))


def _not_blank(column: pa.Array) -> Mask:
    """Find which values hold anything but white space."""
    lengths = _lengths(column)
    present: Mask = lengths > 0
    # White space alone is rare, and short: look only where a value begins with it.
    if len(column) and present.any():
        offsets, data = _bytes_of(column)
        suspects = np.flatnonzero(present)
        for place in suspects[data[offsets[suspects]] <= _SPACE]:
            present[place] = bool(column[place].as_py().strip())
    return present


def _decodable(columns: Sequence[pa.BinaryArray]) -> Mask | None:
    """Find which lines are UTF-8 in all of ``columns``; None when every line is."""
    good: Mask | None = None
    for column in columns:
        if not pa.types.is_binary(column.type):
            continue
        try:
            column.cast(pa.string())
        except pa.ArrowInvalid:
            good = np.ones(len(column), np.bool_) if good is None else good
            # Only values with a byte above 127 can be at fault; the others need no look, one by one.
            plain = pc.fill_null(pc.string_is_ascii(column.view(pa.string())), True)
            for place in np.flatnonzero(~np.asarray(plain)):
                try:
                    column[place].as_py().decode("utf-8")
                except UnicodeDecodeError:
                    good[place] = False
    return good


def _present(column: pa.BinaryArray) -> pa.BinaryArray:
    """The column without values that say that nothing is there."""
    if not len(column) or column.null_count == len(column):
        return column
    missing = pc.is_in(column, value_set=_MISSING)
    return pc.if_else(missing, None, column) if pc.any(missing).as_py() else column


def _trimmed(users: pa.StringArray) -> pa.StringArray:
    """Users without white space around their names: with it, one person would be two."""
    offsets, data = _bytes_of(users)
    filled = np.flatnonzero(np.diff(offsets))
    edges = np.concatenate([offsets[filled], offsets[filled + 1] - 1])
    # A byte above 127 may belong to a space of another script; most users need no look.
    odd = (data[edges] <= _SPACE) | (data[edges] > _DELETE)
    return pc.utf8_trim_whitespace(users) if odd.any() else users


def _ranks(column: pa.BinaryArray, clicked: Mask, first_rank: int) -> tuple[pa.Array, Mask, int]:
    """Ranks as numbers from 1, which lines' ranks are sound, and how many were 0 and are left open.

    An empty rank is sound. A rank may be written as a decimal that is whole, ``1.0``, as tables with gaps
    often have it. Where ranks count from 1, a 0 says that no rank is known.
    """
    text = column.fill_null(b"").cast(pa.string()) if column.null_count else column.cast(pa.string())
    decimal = np.asarray(pc.ascii_is_decimal(text))
    if not (decimal | ~clicked).all():
        text = pc.replace_substring_regex(text, _WHOLE_DECIMAL, r"\1")
        decimal = np.asarray(pc.ascii_is_decimal(text))
    digits = decimal & (_lengths(text) <= 10)
    numbers = pc.cast(pc.if_else(pa.array(digits & clicked), text, None), pa.int64())
    if first_rank == 0:
        numbers = pc.add(numbers, 1)
    in_range = np.asarray(
        pc.fill_null(pc.and_(pc.greater_equal(numbers, 1), pc.less_equal(numbers, _LARGEST_RANK)), False)
    )
    unknown = np.asarray(pc.fill_null(pc.equal(numbers, 0), False))
    sound: Mask = in_range | unknown | ~clicked
    return pc.if_else(pa.array(in_range), numbers, None).cast(pa.int32()), sound, int(unknown.sum())


def _times(column: pa.Array, read_times: TimeReader) -> Instants:
    """Times as microseconds since 1970, and which of them could be read and lie in the years 1 to 9999."""
    if pa.types.is_int64(column.type):
        values, good = np.asarray(column.fill_null(0)), np.asarray(column.is_valid())
    else:
        values, good = read_times(column.fill_null(b"") if column.null_count else column)
    return values, good & (values >= _FIRST_INSTANT) & (values < _END_OF_INSTANTS)


def to_records(
    written: Written,
    reading: Reading,
    bad: Sequence[tuple[Reason, npt.NDArray[np.int64]]] = (),
    passed_over: dict[str, int] | None = None,
) -> Parsed:
    """Turn lines of the right form into records, and give each that cannot be one its first reason.

    ``bad`` lines were found to have the wrong form, those ``passed_over`` are rightly left out.
    """
    found = list(bad)
    if not written.is_ascii and (decodable := _decodable(written.columns)) is not None:
        found.append((Reason.ENCODING, written.lines[~decodable]))
        written = written.only(decodable)
    user, query, time, rank, url = written.columns
    if not written.typed:
        user, rank, url = _present(user), _present(rank), _present(url)
    queries = _text(query, written.is_ascii)
    normalised = normalise_queries(queries)
    instants, readable = _times(time, reading.read_times)
    has_rank, has_url = _lengths(rank) > 0, _lengths(url) > 0  # a click is a rank, a url, or both
    ranks, in_range, unknown_ranks = _ranks(rank, has_rank, reading.first_rank)

    fault = np.zeros(len(written.lines), np.int8)
    for number, sound in enumerate((_not_blank(user), _lengths(normalised) > 0, readable, in_range), start=1):
        if not sound.all():
            fault[~sound & (fault == 0)] = number
    urls = url if has_url.all() else pc.if_else(pa.array(has_url), url, None)
    columns = [
        _trimmed(_text(user, written.is_ascii)),
        queries,
        pa.array(instants).view(pa.timestamp("us")),
        ranks,
        _text(urls, written.is_ascii),
    ]
    if fault.any():
        for number, reason in enumerate(_FAULTS, start=1):
            found.append((reason, written.lines[fault == number]))
        whole = pa.array(fault == 0)
        columns = [column.filter(whole) for column in columns]
        normalised = normalised.filter(whole)
    records = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
    wordless = pc.sum(pc.equal(normalised, WORDLESS)).as_py() or 0
    remarks = {"rank 0, kept without a rank": unknown_ranks, "requests without words": wordless}
    return Parsed(records, normalised, tuple(found), passed_over or {}, remarks)


def _text(column: pa.BinaryArray, is_ascii: bool) -> pa.StringArray:
    return column.view(pa.string()) if is_ascii else column.cast(pa.string())


Row = Sequence[Any]
"""User, query, time, rank and url of a record, None where a line has none."""


def collected(
    reading: Reading,
    elements: Iterable[Any],
    first: int,
    read: Callable[[Any], Sequence[Row]],
    others: str,
    typed: bool = True,
) -> Parsed:
    """Read elements, numbered from ``first``, one by one, each a line or an object that holds some records.

    ``read`` gives those of an element, and raises where it is not well-formed; elements without a record are
    ``others``. A ``typed`` format has a value for nothing.
    """
    wrong: dict[Reason, list[int]] = {Reason.SYNTAX: [], Reason.ENCODING: []}
    numbers: list[int] = []
    rows: list[list[bytes | None]] = []
    passed_over = Counter[str]()
    for number, element in enumerate(elements, start=first):
        if isinstance(element, bytes) and not element.strip():
            passed_over["blank"] += 1
            continue
        try:
            found = [[_as_written(value) for value in row] for row in read(element)]
        except UnicodeError:
            wrong[Reason.ENCODING].append(number)
        except (ValueError, AttributeError, TypeError, RecursionError):
            wrong[Reason.SYNTAX].append(number)
        else:
            passed_over[others] += not found
            numbers += [number] * len(found)
            rows += found
    columns = tuple(pa.array([row[at] for row in rows], pa.binary()) for at in range(len(COLUMNS)))
    bad = [(reason, np.array(lines, np.int64)) for reason, lines in wrong.items()]
    return to_records(Written(np.array(numbers, np.int64), columns, typed=typed), reading, bad, passed_over)


def _as_written(value: Any) -> bytes | None:
    """A string or number as bytes; anything else is no value of a log."""
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value).encode()
    return None
