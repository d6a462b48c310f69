"""How a data set is known again: by its first records, and by a sketch of all of them.

A ledger opened for a log keeps a keyed hash of the log's first records, and so notices when it is charged
for another log by mistake. It suits logs that only grow; where old records are deleted, rely on the label.
How many records there were is not kept: a log that has grown since is recognised by trying its openings of
every length up to the longest.

The register of ledgers keeps a sketch, by which a copy, a part, or a log grown by a week is recognised.

A record's **mark** is the first half of the SHA-256 of a secret key and the record. The **sketch** of a log
is the smallest :data:`MARKS` marks of its records: a uniform random sample of them, drawn by the key. How
many of the sketch's marks another log's records have estimates which share of the sketched records is in
that log, however much it has grown since and in whatever order and file it comes. A twentieth is enough to
call it the same data set: records are a user, a time and a query, which two logs share only if they come
from the same people.

Without the key the marks are random numbers (SHA-256 with a secret prefix is a pseudorandom function, and
half of its output cannot be extended): nothing about a record can be tested. With the key one could test a
guess of a whole record, so it lies in its owner's state folder and nowhere else. To save time a large log
is thinned first, by the second of a record's time and public constants; how far (a power of two) is kept
beside the marks and hints at the log's length.

Limits. A log of other weeks has no record in common, although it may concern the same people; nor has one
whose user numbers were drawn anew, or whose queries were normalised otherwise. Such logs need their ledger
to be named.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tacit.errors import LogError
from tacit.files import literal_path

LONGEST_OPENING = 1000
"""Records that take part: the earliest ones of the log, or all of a shorter one."""
MARKS = 256
"""Marks in a sketch; fewer where a log has fewer records."""
LEAST_SHARE = 0.05
"""The share of a sketch's marks from which on another log is the same data set."""

_THINNED_TO = 1 << 16
_DEEPEST = 20

_RECORD = (
    """$key || chr(31) || epoch_us("time")::VARCHAR || chr(31) || "user" || chr(31) || query || chr(31)"""
    """ || coalesce(url, '')"""
)
_MARK = f"left(sha256({_RECORD}), 32)"
# A multiplicative hash of the second (Knuth): which seconds stay is the same in every copy of a log.
_THIN = """(abs(epoch_us("time") // 1000000) % 4294967296) * 1640531527 % 4294967296 < $bound"""
_LOG = "read_parquet($log, hive_partitioning=false)"
_LAST = f"""SELECT max("time") FROM (SELECT "time" FROM {_LOG} ORDER BY "time" LIMIT {LONGEST_OPENING})"""
_OPENING = f"""min(row(epoch_us("time"), "user", query, coalesce(url, '')), {LONGEST_OPENING})"""
_READ = f"""SELECT {_OPENING} FILTER ("time" <= $last), list({_MARK}) FILTER ({_THIN}) FROM {_LOG}
WHERE "time" <= $last OR {_THIN}"""


@dataclass(frozen=True)
class Sketch:
    """Marks of a sample of a log's records."""

    level: int  # how often the log was halved before marks were made
    marks: tuple[str, ...]  # ascending, 32 hexadecimal digits each


class Traces:
    """What a log is known by. Its texts are read once, and not before they are needed; secret.

    Args:
        log: the log.
        key: of the marks, where they are looked at.
    """

    def __init__(self, log: str | Path, key: bytes = b"") -> None:
        self.log = Path(log)
        self._key = key.hex()
        self._connection: Any = None

    def is_of(self, log: str | Path, key: bytes) -> bool:
        """Tell whether they are of this log, marked with this key."""
        return self.log == Path(log) and self._key == key.hex()

    @contextmanager
    def being_read(self) -> Iterator[None]:
        """While they are read beside something else, which ends the reading when it ends."""
        import duckdb  # here, and what follows: two threads that load the same may see half of it
        import pyarrow.parquet

        del duckdb, pyarrow

        def read() -> None:
            with suppress(LogError):  # said by whoever needs them
                _ = self._read

        reading = threading.Thread(target=read)
        reading.start()
        try:
            yield
        finally:
            while reading.is_alive():
                if self._connection is not None:
                    with suppress(Exception):  # closed in this moment
                        self._connection.interrupt()
                reading.join(0.01)

    @classmethod
    def of(cls, log: Traces | str | Path, key: bytes = b"") -> Traces:
        """Return the traces of a log, read unless they are known."""
        return log if isinstance(log, Traces) else cls(log, key)

    @cached_property
    def _level(self) -> int:
        import pyarrow.parquet as pq

        records = int(pq.read_metadata(self.log).num_rows)
        return min(_DEEPEST, max(0, math.ceil(math.log2(max(records, 1) / _THINNED_TO))))

    @cached_property
    def _read(self) -> tuple[list[tuple[Any, ...]], frozenset[str]]:
        """The earliest records in order, and all marks of the log's own level."""
        last = self._query(_LAST, {})[0][0]
        known = {"key": self._key, "last": last, "bound": _bound(self._level)}
        ((opening, marks),) = self._query(_READ, known)
        return opening or [], frozenset(marks or ())

    def _query(self, sql: str, parameters: Mapping[str, object]) -> list[tuple[Any, ...]]:
        import duckdb

        with duckdb.connect() as connection:
            self._connection = connection
            try:
                asked = {"log": literal_path(self.log), **parameters}
                rows: list[tuple[Any, ...]] = connection.execute(sql, asked).fetchall()
            except duckdb.Error:
                # The message of the engine may quote data; the kind of the problem is enough.
                problem = f"{self.log} cannot be read as a search log."
                raise LogError(problem, "Check it with tacit stats.") from None
        return rows

    def fingerprint(self, salt: bytes) -> str:
        """HMAC-SHA-256 under ``salt`` of the log's earliest records (of an empty log: of nothing)."""
        return self._openings(salt)[-1]

    def begins_as(self, salt: bytes, fingerprint: str) -> bool:
        """Check whether the log of this fingerprint is the beginning of this; every log begins as the empty
        one."""
        # all of them, so that the time taken tells nothing either
        return sum(hmac.compare_digest(opening, fingerprint) for opening in self._openings(salt)) > 0

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
        return Sketch(self._level, tuple(sorted(self._read[1])[:MARKS]))

    def shows(self, sketches: Iterable[Sketch]) -> list[bool]:
        """Find which of ``sketches`` are of the data set that the log is a state of."""
        listed = list(sketches)
        fuller = [sketch for sketch in listed if sketch.level < self._level]  # of records that were thinned
        found = self._read[1]
        if fuller:
            marks = sorted({mark for sketch in fuller for mark in sketch.marks})
            least = min(sketch.level for sketch in fuller)
            sql = f"SELECT {_MARK} FROM {_LOG} WHERE {_THIN} AND {_MARK} IN (SELECT unnest($marks))"
            known = {"key": self._key, "bound": _bound(least), "marks": marks}
            found |= {mark for (mark,) in self._query(sql, known)}
        return [
            sum(mark in found for mark in sketch.marks) >= max(1, math.ceil(LEAST_SHARE * len(sketch.marks)))
            for sketch in listed
        ]


def _bound(level: int) -> int:
    """Return the bound below which the hashes of the seconds that stay lie."""
    return 1 << (32 - level)
