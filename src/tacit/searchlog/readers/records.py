"""From the fields of lines to records of the log, with the reason of each line that cannot be one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.searchlog.bad_lines import Reason
from tacit.searchlog.normalising import normalise_queries
from tacit.searchlog.readers.instants import Instants
from tacit.searchlog.readers.protocol import Parsed
from tacit.searchlog.schema import SCHEMA

__all__ = ["Written", "to_records"]

Mask = npt.NDArray[np.bool_]
_LARGEST_RANK = 2**31 - 1
_FIRST_INSTANT = int(np.datetime64("0001-01-01", "us").astype(np.int64))
_END_OF_INSTANTS = int(np.datetime64("10000-01-01", "us").astype(np.int64))
_FAULTS = (Reason.USER, Reason.QUERY, Reason.TIME, Reason.RANK)
_WHOLE_DECIMAL = r"^([0-9]+)\.0*$"


@dataclass(frozen=True)
class Written:
    """Lines as written, column by column."""

    lines: npt.NDArray[np.int64]
    """Their numbers in the file, ascending."""
    columns: tuple[pa.Array, ...]
    """Binary columns in the order of the log's schema, null where a line has no such field.

    Only the time may come as int64, microseconds since 1970, from formats that store times as such.
    """
    is_ascii: bool = False
    """Known to hold no byte above 127, so that there is no encoding to check."""

    def only(self, kept: Mask) -> Written:
        """Those lines where ``kept`` is true."""
        mask = pa.array(kept)
        return Written(self.lines[kept], tuple(column.filter(mask) for column in self.columns), self.is_ascii)


def _lengths(column: pa.BinaryArray) -> npt.NDArray[np.int32]:
    """Bytes of each value; 0 for null."""
    return np.asarray(pc.fill_null(pc.binary_length(column), 0))


def _not_blank(column: pa.Array) -> Mask:
    """Which values hold anything but white space."""
    lengths = _lengths(column)
    present: Mask = lengths > 0
    # White space alone is rare, and short: look only where a value begins with it.
    if len(column) and present.any():
        offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column)]
        data = np.frombuffer(column.buffers()[2], np.uint8)
        suspects = np.flatnonzero(present)
        suspects = suspects[data[offsets[suspects]] <= 0x20]
        for place in suspects:
            present[place] = bool(column[place].as_py().strip())
    return present


def _decodable(columns: Sequence[pa.BinaryArray]) -> Mask | None:
    """Which lines are UTF-8 in all of ``columns``; None when every line is."""
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


def _ranks(column: pa.BinaryArray, clicked: Mask) -> tuple[pa.Array, Mask]:
    """Ranks as numbers, and which lines' ranks are sound; an empty rank is sound.

    A rank may be written as a decimal that is whole, ``1.0``, as tables with gaps often have it.
    """
    text = column.fill_null(b"").cast(pa.string()) if column.null_count else column.cast(pa.string())
    decimal = np.asarray(pc.ascii_is_decimal(text))
    if not (decimal | ~clicked).all():
        text = pc.replace_substring_regex(text, _WHOLE_DECIMAL, r"\1")
        decimal = np.asarray(pc.ascii_is_decimal(text))
    digits = decimal & (_lengths(text) <= 10)
    numbers = pc.cast(pc.if_else(pa.array(digits & clicked), text, None), pa.int64())
    in_range = np.asarray(
        pc.fill_null(pc.and_(pc.greater_equal(numbers, 1), pc.less_equal(numbers, _LARGEST_RANK)), False)
    )
    sound: Mask = in_range | ~clicked
    return pc.if_else(pa.array(in_range), numbers, None).cast(pa.int32()), sound


def _times(column: pa.Array, read_times: Callable[[pa.BinaryArray], Instants]) -> Instants:
    """Times as microseconds since 1970, and which of them could be read and lie in the years 1 to 9999."""
    if pa.types.is_int64(column.type):
        values, good = np.asarray(column.fill_null(0)), np.asarray(column.is_valid())
    else:
        values, good = read_times(column.fill_null(b"") if column.null_count else column)
    return values, good & (values >= _FIRST_INSTANT) & (values < _END_OF_INSTANTS)


def to_records(
    written: Written,
    read_times: Callable[[pa.BinaryArray], Instants],
    bad: Sequence[tuple[Reason, npt.NDArray[np.int64]]] = (),
    passed_over: dict[str, int] | None = None,
) -> Parsed:
    """Turn lines into records, and give each line that cannot be one its first reason.

    Args:
        written: the fields of the lines that have the right form.
        read_times: how this log writes times.
        bad: lines already found to have the wrong form.
        passed_over: lines already left out by rights.
    """
    found = list(bad)
    if not written.is_ascii and (decodable := _decodable(written.columns)) is not None:
        found.append((Reason.ENCODING, written.lines[~decodable]))
        written = written.only(decodable)
    user, query, time, rank, url = written.columns
    queries = _text(query, written.is_ascii)
    normalised = normalise_queries(queries)
    instants, readable = _times(time, read_times)
    has_rank, has_url = _lengths(rank) > 0, _lengths(url) > 0  # a click is a rank, a url, or both
    ranks, in_range = _ranks(rank, has_rank)

    fault = np.zeros(len(written.lines), np.int8)
    for number, sound in enumerate((_not_blank(user), _lengths(normalised) > 0, readable, in_range), start=1):
        if not sound.all():
            fault[~sound & (fault == 0)] = number
    urls = url if has_url.all() else pc.if_else(pa.array(has_url), url, None)
    columns = [
        _text(user, written.is_ascii),
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
    return Parsed(records, normalised, tuple(found), passed_over or {})


def _text(column: pa.BinaryArray, is_ascii: bool) -> pa.StringArray:
    return column.view(pa.string()) if is_ascii else column.cast(pa.string())
