"""Check every entry of a query log against Definition 2 (k-identification).

Definitions: docs/guarantees/pool.md; the strongest attacker of Definition 1 knows exactly t - w to t + w.
An audited log holds what a service collects, and what only an audit knows: who asked, with which record.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.errors import InputError, ParameterError
from tacit.files import atomic_file
from tacit.pool.protocol.tree import Flags, Floats, Numbers
from tacit.validation import real, whole

_COLUMNS = ("time", "sender", "record", "low", "high", "guarded")


@dataclass(frozen=True)
class AuditedLog:
    """Entries of a query log, in any order; a row an entry.

    Attributes:
        sender, record: a number for its sender, and the sender's own d; a service never sees either.
        low, high: the region d' that the query carried.
        guarded: d' came from a group; otherwise it is d*, for want of one.
    """

    time: Floats
    sender: Numbers
    record: Numbers
    low: Numbers
    high: Numbers
    guarded: Flags

    def __len__(self) -> int:
        return len(self.time)


def write_audited_log(log: AuditedLog, path: str | Path) -> None:
    """Write the log as Parquet, for its owner only."""
    width, codes = log.record.shape[1], [each.astype(np.uint16) for each in (log.record, log.low, log.high)]
    lists_of = [pa.FixedSizeListArray.from_arrays(pa.array(each.ravel()), width) for each in codes]
    columns = [pa.array(log.time), pa.array(log.sender), *lists_of, pa.array(log.guarded)]
    with atomic_file(path, mode=0o600) as temporary:
        pq.write_table(pa.table(columns, names=list(_COLUMNS)), temporary)


def read_audited_log(path: str | Path) -> AuditedLog:
    """Read what :func:`write_audited_log` wrote."""
    if not Path(path).is_file():
        raise InputError(f"there is no file {path}.", "Make one with `tacit simulate --log`.")
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid as error:
        raise InputError(f"{path} is not a Parquet file.") from error
    missing = [name for name in _COLUMNS if name not in table.column_names]
    if missing:
        rule = f"An audited log has {', '.join(_COLUMNS)}."
        raise InputError(f"{path} has no column {missing[0]!r}.", rule)

    def read(name: str) -> Any:
        column = table.column(name).combine_chunks()
        if not pa.types.is_fixed_size_list(column.type):
            return column.to_numpy(zero_copy_only=False)
        return column.flatten().to_numpy().astype(np.int64).reshape(-1, column.type.list_size)

    return AuditedLog(*map(read, _COLUMNS))


@dataclass(frozen=True)
class AnonymityAudit:
    """The number of entries that fail, apart for entries with a group's region and for those with d*.

    Attributes:
        identified, identified_general: entries whose sender is k-identified (Definition 2).
        fewest: the least number of people who match a guarded entry, counted up to k.
    """

    entries: int
    guarded: int
    identified: int
    identified_general: int
    fewest: int

    @property
    def holds(self) -> bool:
        """Check that no sender of a guarded entry is k-identified."""
        return self.identified == 0

    def as_dict(self) -> dict[str, Any]:
        """For reports."""
        return {
            "entries": self.entries,
            "guarded": self.guarded,
            "definition_2_violations": self.identified,
            "general": self.entries - self.guarded,
            "definition_2_violations_general": self.identified_general,
            "fewest_companions": self.fewest,
        }


def companions(log: AuditedLog, k: int, window: float) -> Numbers:
    """Count for each entry the people (up to k) who asked under a d' that matches d; its own d' first."""
    corners, region = np.unique(np.hstack([log.low, log.high]), axis=0, return_inverse=True)
    low, high = np.hsplit(corners, 2)
    order = np.lexsort((log.time, region.ravel()))
    groups = np.split(order, np.searchsorted(region.ravel()[order], np.arange(1, len(corners))))
    times, senders = ([of[group].tolist() for group in groups] for of in (log.time, log.sender))
    reach = window * (1 + 1e-12)
    match = np.zeros(len(log), np.int64)
    for group, moments, people in zip(groups, times, senders, strict=True):
        near: Counter[int] = Counter()
        first = last = 0
        for entry, moment in zip(group.tolist(), moments, strict=True):
            while last < len(moments) and moments[last] <= moment + reach:
                near[people[last]] += 1
                last += 1
            while moments[first] < moment - reach:
                near[people[first]] -= 1
                if not near[people[first]]:
                    del near[people[first]]
                first += 1
            match[entry] = min(len(near), k)
    short = np.flatnonzero(match < k)
    records, which = np.unique(log.record[short], axis=0, return_inverse=True)
    matching = [np.flatnonzero(((low <= d) & (d <= high)).all(axis=1)).tolist() for d in records]
    for entry, record in zip(short.tolist(), which.ravel().tolist(), strict=True):
        moment, found = float(log.time[entry]), set[int]()
        for place in matching[record]:
            begin = bisect_left(times[place], moment - reach)
            found.update(senders[place][begin : bisect_right(times[place], moment + reach)])
            if len(found) >= k:
                break
        match[entry] = min(len(found), k)
    return match


def verify_log(log: AuditedLog | str | Path, k: int = 30, window: float = 50.0) -> AnonymityAudit:
    """Check every entry of a query log with its senders against Definition 2.

    Args:
        log: the log, or the file that :func:`tacit.simulate_pool` wrote.
        k: how many people must match each entry.
        window: how well an attacker knows the time of a query, plus or minus.
    """
    k, window = whole("k", k, 1), real("window", window)
    if window < 0:
        raise ParameterError.outside("window", window, "at least 0")
    log = log if isinstance(log, AuditedLog) else read_audited_log(log)
    match, guarded = companions(log, k, window), log.guarded
    return AnonymityAudit(
        entries=len(log),
        guarded=int(guarded.sum()),
        identified=int((match[guarded] < k).sum()),
        identified_general=int((match[~guarded] < k).sum()),
        fewest=int(match[guarded].min()) if guarded.any() else k,
    )
