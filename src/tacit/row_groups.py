"""Logs a row group at a time, with texts as dictionaries: far fewer texts than rows are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tacit.errors import LogError
from tacit.head_start import COLUMNS, ahead, numbered, read_group

T = TypeVar("T")
_TEXTS = 1 << 15
"""Texts that are looked through at a time: the processor's memory holds them."""


def rows_of(log: Path) -> int:
    """How many rows a log has."""
    with _errors(log):
        return int(pq.read_metadata(log).num_rows)


def work_through(
    log: Path, columns: Sequence[str], work: Callable[[pa.RecordBatch], T], threads: int | None = None
) -> Iterator[T]:
    """Do the work with each batch of rows, on one of several threads; in the order of the file."""

    def done(group: int) -> list[T]:
        begun = ahead.get((log, group)) if {*columns} <= {*COLUMNS} else None
        with _errors(log):
            read = begun.result() if begun else read_group(log, metadata, group, columns)
            return [work(batch.select(columns)) for batch in read]

    with _errors(log):
        metadata = pq.read_metadata(log)
    with ThreadPoolExecutor(threads or len(os.sched_getaffinity(0))) as workers:
        for found in workers.map(done, range(metadata.num_row_groups)):
            yield from found


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
    places = _places(texts)
    ahead = next((begun for each in numbered if (begun := each.result().pop(places, None))), None)
    _, known, which = ahead or (texts, *different(_known(texts)))
    return only_used(known, _codes(texts, which))


def number_texts(chunks: Sequence[Any], parts: Sequence[ByLength] = ()) -> dict[tuple[int, ...], Any]:
    """Number texts ahead, of which the dictionaries are by length already or not; by where these are."""
    texts = pa.chunked_array(chunks, TEXTS)
    found = (texts, *_alike(parts or [ByLength.of(_known(texts))]))  # held, so that their place stays theirs
    return {_places(texts): found}


def _places(texts: pa.ChunkedArray) -> tuple[int, ...]:
    """Where in memory the dictionaries are: those in the same places, while they are held, are the same."""
    letters = [chunk.dictionary.buffers()[2] for chunk in texts.chunks]
    return tuple(each.address if each else 0 for each in letters)


@dataclass(frozen=True)
class ByLength:
    """Texts by their length, of which the processor's memory holds those of one."""

    texts: pa.Array
    order: NDArray[np.int64]  # where each was
    ends: NDArray[np.int64]  # of those of each length; the last is of all that are longer

    @classmethod
    def of(cls, texts: pa.Array) -> ByLength:
        lengths = np.minimum(np.asarray(pc.binary_length(texts)), 255).astype(np.uint8)
        order = np.argsort(lengths, kind="stable")
        return cls(texts.take(pa.array(order)), order, np.cumsum(np.bincount(lengths, minlength=256)))


def different(texts: pa.Array) -> tuple[pa.Array, NDArray[np.int32]]:
    """The different texts, and which of them each is."""
    return _alike([ByLength.of(texts)])


def _alike(parts: Sequence[ByLength]) -> tuple[pa.Array, NDArray[np.int32]]:
    """The different texts of all parts, and which of them each is, of one part after the other."""
    begins = np.cumsum([0, *(len(part.texts) for part in parts)])
    which, known, number = np.empty(begins[-1], np.int32), [pa.array([], pa.string())], 0

    def of_length(length: int) -> tuple[list[NDArray[np.int64]], list[Any]]:
        """Where texts of a length are, part by part, and their numbers among those of this length."""
        some = [
            (part.texts[first:end], begin + part.order[first:end])
            for part, begin in zip(parts, begins, strict=False)
            for first, end in [(part.ends[length - 1] if length else 0, part.ends[length])]
            if first < end
        ]
        coded = pa.chunked_array([each for each, _ in some], pa.string()).dictionary_encode()
        return [places for _, places in some], coded.chunks if some else []

    with ThreadPoolExecutor(os.cpu_count()) as workers:
        each = workers.map if which.size > _TEXTS else map
        for places, coded in each(of_length, range(256)):
            for at, codes in zip(places, coded, strict=True):
                which[at] = number + np.asarray(codes.indices)
            known += [chunk.dictionary for chunk in coded[:1]]
            number += len(known[-1]) if coded else 0
    return pa.concat_arrays(known), which


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


def texts_with(texts: pa.Array, letter: str) -> NDArray[np.int64]:
    """Which texts hold a letter of ASCII that few do."""
    begins, letters = _letters(texts)
    at = begins[0] + np.flatnonzero(letters[begins[0] : begins[-1]] == ord(letter))
    return np.unique(np.searchsorted(begins, at, side="right") - 1)


def _letters(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Where each text begins, and the last ends, in the letters of all."""
    begins = np.frombuffer(texts.buffers()[1] or bytes(4), np.int32)[texts.offset :][: len(texts) + 1]
    return begins, np.frombuffer(texts.buffers()[2] or b"", np.uint8)


def times_in(texts: pa.Array, letter: str) -> NDArray[np.int64]:
    """How often a letter of ASCII is in each text: it is looked for in many of them as one."""
    begins, letters = _letters(texts)
    times = np.empty(len(texts), np.int64)
    for first in range(0, len(texts), _TEXTS):
        ends = begins[first : first + _TEXTS + 1]
        passed = np.cumsum(letters[ends[0] : ends[-1]] == ord(letter), dtype=np.int32)
        times[first : first + _TEXTS] = np.diff(np.concatenate(([0], passed))[ends - ends[0]])
    return times
