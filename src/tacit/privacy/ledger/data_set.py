"""How a data set is known again: by its first records, and by a sketch of all of them.

A ledger opened for a log keeps a keyed hash of the log's first records, and so notices when it is charged
for another log by mistake. It suits logs that only grow; where old records are deleted, rely on the label.
How many records there were is not kept: a log that has grown since is recognised by trying its openings of
every length up to the longest.

The register of ledgers keeps a sketch, by which a copy, a part, or a log grown by a week is recognised.

A record's **mark** is the first half of the SHA-256 of a secret key and its time, user and query: what was
clicked plays no part, for a log without its addresses is about the same people. The **sketch** of a log is
the smallest :data:`MARKS` marks of its records: a uniform random sample of them. How many of them another
log's records have estimates which share of the sketched records is in that log. To save time a large log is
thinned first, by the second of a record's time and public constants; how far (a power of two) is kept beside
the marks. What they tell, and how surely logs are told apart: docs/guarantees/ledger.md.

Limits. A log of other weeks has no record in common, although it may concern the same people; nor has one
whose user numbers were drawn anew, or whose queries were normalised otherwise. Such logs need their ledger
to be named.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

LONGEST_OPENING = 1000
"""Records that take part: the earliest ones of the log, or all of a shorter one."""
MARKS = 256
"""Marks in a sketch; fewer where a log has fewer records."""
LEAST_SHARE = 0.05
"""The share of a sketch's marks from which on another log is the same data set."""

_THINNED_TO = 1 << 16
_DEEPEST = 20

_COLUMNS = ("time", "user", "query")
_NO_TIME = (1 << 63) - 1
"""Microseconds, after or before 1970, that stand for no time."""


@dataclass(frozen=True)
class Sketch:
    """Marks of a sample of a log's records."""

    level: int  # how often the log was halved before marks were made
    marks: tuple[str, ...]  # ascending, 32 hexadecimal digits each
    urls: bool = False  # whether addresses are in the marks, as they were in older registers


class Traces:
    """What a log is known by. Its texts are read once, and not before they are needed; secret.

    Args:
        log: the log.
        key: of the marks, where they are looked at.
        urls: as ledgers and registers knew it when addresses took part.
    """

    def __init__(self, log: str | Path, key: bytes = b"", urls: bool = False) -> None:
        self.log, self._key, self._last = Path(log), key, _NO_TIME
        self._columns = (*_COLUMNS, "url") if urls else _COLUMNS

    @classmethod
    def of(cls, log: Traces | str | Path, key: bytes = b"") -> Traces:
        """Return the traces of a log, read unless they are known."""
        return log if isinstance(log, Traces) else cls(log, key)

    @cached_property
    def _older(self) -> Traces | None:
        return Traces(self.log, self._key, urls=True) if self._columns == _COLUMNS else None

    @cached_property
    def _level(self) -> int:
        from tacit.row_groups import rows_of

        return min(_DEEPEST, max(0, math.ceil(math.log2(max(rows_of(self.log), 1) / _THINNED_TO))))

    def _each(self, work: Callable[[pa.RecordBatch], T]) -> list[T]:
        from tacit.row_groups import work_through

        return list(work_through(self.log, self._columns, work))

    @cached_property
    def _read(self) -> tuple[list[tuple[Any, ...]], frozenset[str]]:
        """The earliest records in order, and all marks of the log's own level."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = self._each(lambda batch: (self._earliest(batch), self._marks(batch, self._level)))
        if not found:
            return [], frozenset()
        opening = self._earliest(pa.concat_tables([table for table, _ in found]))
        order = pc.sort_indices(opening, sort_keys=[(name, "ascending") for name in self._columns])
        rows = opening.take(order[:LONGEST_OPENING]).to_pylist()
        marks: frozenset[str] = frozenset().union(*(some for _, some in found))
        while len(marks) < MARKS and self._level:  # few times, such as days alone: most are thinned away
            self._level = max(0, self._level - 2)
            marks = frozenset().union(*self._each(lambda batch: self._marks(batch, self._level)))
        return [tuple(row.values()) for row in rows], marks

    def _earliest(self, records: Any) -> pa.Table:
        """The earliest of the records so far, and those of the same time as the last of them."""
        times = _times(records)
        early = times[times <= self._last]
        if early.size >= LONGEST_OPENING:
            self._last = np.partition(early, LONGEST_OPENING - 1)[LONGEST_OPENING - 1]
        return _records(records, (times <= self._last) & (np.abs(times) != _NO_TIME))

    def _marks(self, batch: pa.RecordBatch, level: int) -> list[str]:
        """Make the marks of the records of a batch that stay at this level."""
        import pyarrow.compute as pc

        size = np.abs(_times(batch)).view(np.uint64)
        # A multiplicative hash of the second (Knuth): which seconds stay is the same in every copy of a log.
        hashes = (size // 1_000_000).astype(np.uint32) * np.uint32(1640531527)
        time, *texts = _records(batch, (hashes < 1 << (32 - level)) & (size != _NO_TIME)).columns
        joined = (self._key.hex(), time.cast("string"), *texts, "\x1f")
        said = pc.binary_join_element_wise(*joined).cast("binary")
        return [hashlib.sha256(record).hexdigest()[:32] for record in said.to_pylist()]

    def fingerprint(self, salt: bytes) -> str:
        """HMAC-SHA-256 under ``salt`` of the log's earliest records (of an empty log: of nothing)."""
        return self._openings(salt)[-1]

    def begins_as(self, salt: bytes, fingerprint: str) -> bool:
        """Check whether the log of this fingerprint is the beginning of this; every log begins as the empty
        one."""
        # all of them, so that the time taken tells nothing either
        found = sum(hmac.compare_digest(opening, fingerprint) for opening in self._openings(salt)) > 0
        return found or (self._older is not None and self._older.begins_as(salt, fingerprint))

    def _openings(self, salt: bytes) -> list[str]:
        """Fingerprints of the openings of 0, 1, 2, … records."""
        digests, digest = [hashlib.sha256().digest()], hashlib.sha256()
        for row in self._read[0]:
            for field in row:
                text = str(field).encode()
                digest.update(len(text).to_bytes(8, "little") + text)
            digests.append(digest.digest())
        return [hmac.new(salt, each, hashlib.sha256).hexdigest() for each in digests]

    @property
    def sketch(self) -> Sketch:
        """Make what the register keeps of the log."""
        marks = self._read[1]
        return Sketch(self._level, tuple(sorted(marks)[:MARKS]))

    def shows(self, sketches: Iterable[Sketch]) -> list[bool]:
        """Find which of ``sketches`` are of the data set that the log is a state of."""
        listed = list(sketches)
        if self._older and any(sketch.urls for sketch in listed):
            older = iter(self._older.shows(sketch for sketch in listed if sketch.urls))
            same = iter(self.shows(sketch for sketch in listed if not sketch.urls))
            return [next(older if sketch.urls else same) for sketch in listed]
        found = self._read[1]
        fuller = [sketch for sketch in listed if sketch.level < self._level]  # of records that were thinned
        if fuller:
            known = {mark for sketch in fuller for mark in sketch.marks}
            least = min(sketch.level for sketch in fuller)
            found = found.union(*self._each(lambda batch: known & {*self._marks(batch, least)}))
        return [
            sum(mark in found for mark in sketch.marks) >= max(1, math.ceil(LEAST_SHARE * len(sketch.marks)))
            for sketch in listed
        ]


def _times(records: Any) -> NDArray[np.int64]:
    return np.asarray(records.column("time").cast("timestamp[us]")).view(np.int64)


def _records(records: Any, chosen: NDArray[np.bool_]) -> pa.Table:
    """Some records: microseconds, and plain texts."""
    import pyarrow as pa

    some, (time, *names) = records.take(pa.array(np.flatnonzero(chosen))), records.schema.names
    texts = [some.column(name).cast("string").fill_null("") for name in names]
    return pa.table([_times(some), *texts], [time, *names])
