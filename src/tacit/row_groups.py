"""Logs a row group at a time, with texts as dictionaries: far fewer texts than rows are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tacit.errors import LogError

T = TypeVar("T")
_MOST_AHEAD = 8_000_000
"""Rows of a log that is read before it is needed: some 300 MB."""
_ahead: dict[tuple[Path, int], Future[list[pa.RecordBatch]]] = {}
_ahead_columns: set[str] = set()


def rows_of(log: Path) -> int:
    """How many rows a log has."""
    with _errors(log):
        return int(pq.read_metadata(log).num_rows)


def work_through(
    log: Path, columns: Sequence[str], work: Callable[[pa.RecordBatch], T], threads: int | None = None
) -> Iterator[T]:
    """Do the work with each batch of rows, on one of several threads; in the order of the file."""

    def done(group: int) -> list[T]:
        ahead = _ahead.get((log, group)) if _ahead_columns >= {*columns} else None
        with _errors(log):
            read = ahead.result() if ahead else _read(log, metadata, group, columns)
            return [work(batch.select(columns)) for batch in read]

    with _errors(log):
        metadata = pq.read_metadata(log)
    with ThreadPoolExecutor(threads or len(os.sched_getaffinity(0))) as workers:
        for found in workers.map(done, range(metadata.num_row_groups)):
            yield from found


def _read(log: Path, metadata: Any, group: int, columns: Sequence[str]) -> list[pa.RecordBatch]:
    with pq.ParquetFile(log, metadata=metadata, read_dictionary=columns) as file:
        read = file.read_row_group(group, columns, use_threads=False)
    read.validate(full=True)
    return list(read.to_batches())


@contextmanager
def read_ahead(log: Path, columns: Sequence[str]) -> Iterator[None]:
    """While columns of a log are read, and kept, beside the loading of what they are needed for."""
    with suppress(pa.ArrowException, OSError):  # said when they are needed
        metadata = pq.read_metadata(log)
        if metadata.num_rows <= _MOST_AHEAD:
            workers = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
            for group in range(metadata.num_row_groups):
                _ahead[log, group] = workers.submit(_read, log, metadata, group, columns)
            workers.shutdown(wait=False)  # when all is done
            _ahead_columns.update(columns)
    try:
        yield
    finally:
        forget()


def forget() -> None:
    """Let go of what was read ahead."""
    for waiting in _ahead.values():
        waiting.cancel()
    _ahead.clear()
    _ahead_columns.clear()


@contextmanager
def _errors(log: Path) -> Iterator[None]:
    """Pass on that something failed: the message may quote a value."""
    try:
        yield
    except (pa.ArrowException, OSError, KeyError):
        raise LogError(f"{log} cannot be read as a search log.", "Check it with tacit stats.") from None


TEXTS = pa.dictionary(pa.int32(), pa.string())


def encoded(texts: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int32]]:
    """The different texts, and which of them each is."""
    if texts.type != TEXTS:
        texts = pa.chunked_array([chunk.dictionary_encode() for chunk in texts.chunks], TEXTS)
    known, which = different(_known(texts))
    return only_used(known, _codes(texts, which))


def different(texts: pa.Array) -> tuple[pa.Array, NDArray[np.int32]]:
    """The same of one array: those of one length at a time, which the processor's memory holds."""
    lengths = np.minimum(np.asarray(pc.binary_length(texts)), 255).astype(np.uint8)
    order, which = np.argsort(lengths, kind="stable"), np.empty(len(texts), np.int32)
    alike, ends = texts.take(pa.array(order)), [0, *np.cumsum(np.bincount(lengths)).tolist()]
    coded = [alike[begin:end].dictionary_encode() for begin, end in pairwise(ends) if begin < end]
    known, which[order] = together(pa.chunked_array(coded, TEXTS))
    return known, which


def together(texts: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int32]]:
    """The texts of all dictionaries, one after the other, and which of them each is."""
    known = _known(texts)
    return known, _codes(texts, np.arange(len(known), dtype=np.int32))


def _known(texts: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays([*(chunk.dictionary for chunk in texts.chunks), pa.array([], pa.string())])


def _codes(texts: pa.ChunkedArray, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """The number of each text, from those of all dictionaries."""
    ends = np.cumsum([len(chunk.dictionary) for chunk in texts.chunks])
    own = zip(np.split(numbers, ends), texts.chunks, strict=False)
    return np.concatenate([*(each[np.asarray(chunk.indices)] for each, chunk in own), numbers[:0]])


def only_used(texts: pa.Array, codes: NDArray[np.int32]) -> tuple[pa.Array, NDArray[np.int32]]:
    """The texts that these numbers are of, numbered anew where there are others."""
    used = np.zeros(len(texts), np.bool_)
    used[codes] = True
    if used.all():
        return texts, codes
    return texts.filter(pa.array(used)), (np.cumsum(used) - 1).astype(np.int32)[codes]


def times_in(texts: pa.Array, letter: str) -> NDArray[np.int64]:
    """How often a letter of ASCII is in each text: it is looked for in all of them as one."""
    begins = np.frombuffer(texts.buffers()[1] or bytes(4), np.int32)[texts.offset :][: len(texts) + 1]
    letters = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    return np.diff(np.searchsorted(np.flatnonzero(letters == ord(letter)), begins))
