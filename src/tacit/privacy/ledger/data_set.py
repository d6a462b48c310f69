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

import hashlib
import hmac
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import LogError
from tacit.files import literal_path

LONGEST_OPENING = 1000
"""Records that take part: the earliest ones of the log, or all of a shorter one."""


def opening_fingerprint(log: str | Path, salt: bytes) -> str:
    """HMAC-SHA-256 under ``salt`` of a log's earliest records (of an empty log: of nothing)."""
    *_, last = _digests(log)
    return hmac.new(salt, last, hashlib.sha256).hexdigest()


def begins_as(log: str | Path, salt: bytes, fingerprint: str) -> bool:
    """Whether the log of this fingerprint is the beginning of ``log``; every log begins as the empty one."""
    found = False
    for digest in _digests(log):  # all of them, so that the time taken tells nothing either
        found |= hmac.compare_digest(hmac.new(salt, digest, hashlib.sha256).hexdigest(), fingerprint)
    return found


def _digests(log: str | Path) -> Iterator[bytes]:
    """SHA-256 of the openings of 0, 1, 2, … records. Secret: they are derived from raw records."""
    digest = hashlib.sha256()
    yield digest.digest()
    earliest = _query(
        log,
        f"""SELECT epoch_us("time"), "user", query, coalesce(url, '') FROM {_LOG} """
        """ORDER BY "time", "user", query, url NULLS FIRST LIMIT $longest""",
        {"longest": LONGEST_OPENING},
    )
    for row in earliest:
        for field in row:
            text = str(field).encode()
            digest.update(len(text).to_bytes(8, "little") + text)
        yield digest.digest()


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


@dataclass(frozen=True)
class Sketch:
    """Marks of a sample of a log's records."""

    level: int
    """How often the log was halved before marks were made."""
    marks: tuple[str, ...]
    """Ascending, 32 hexadecimal digits each."""


def _query(log: str | Path, sql: str, parameters: dict[str, object]) -> list[tuple[object, ...]]:
    import duckdb

    with duckdb.connect() as connection:
        try:
            rows: list[tuple[object, ...]] = connection.execute(
                sql, {"log": literal_path(log), **parameters}
            ).fetchall()
        except duckdb.Error:
            # The message of the engine may quote data; the kind of the problem is enough.
            raise LogError(f"{log} cannot be read as a search log.", "Check it with tacit stats.") from None
    return rows


def sketch_of(log: str | Path, key: bytes) -> Sketch:
    import pyarrow.parquet as pq

    records = int(pq.read_metadata(log).num_rows)
    level = min(_DEEPEST, max(0, math.ceil(math.log2(max(records, 1) / _THINNED_TO))))
    sql = f"SELECT DISTINCT {_MARK} AS mark FROM {_LOG} WHERE {_THIN} ORDER BY mark LIMIT {MARKS}"
    rows = _query(log, sql, {"key": key.hex(), "bound": 1 << (32 - level)})
    return Sketch(level, tuple(str(mark) for (mark,) in rows))


def found_in(log: str | Path, sketches: Iterable[Sketch], key: bytes) -> list[bool]:
    """Find which of ``sketches`` are of the data set that ``log`` is a state of."""
    listed = list(sketches)
    found: set[object] = set()
    for level in {sketch.level for sketch in listed}:
        marks = sorted({mark for sketch in listed if sketch.level == level for mark in sketch.marks})
        if marks:
            sql = f"SELECT DISTINCT mark FROM (SELECT {_MARK} AS mark FROM {_LOG} WHERE {_THIN}) " + (
                "WHERE mark IN (SELECT unnest($marks))"
            )
            known = {"key": key.hex(), "bound": 1 << (32 - level), "marks": marks}
            found |= {mark for (mark,) in _query(log, sql, known)}
    return [
        sum(mark in found for mark in sketch.marks) >= max(1, math.ceil(LEAST_SHARE * len(sketch.marks)))
        for sketch in listed
    ]
