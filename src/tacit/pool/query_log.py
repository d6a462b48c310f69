"""The log of queries that a service collects, with what only an audit knows: who asked, with which record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.errors import InputError
from tacit.files import atomic_file

__all__ = ["AuditedLog", "read_audited_log", "write_audited_log"]

_COLUMNS = ("time", "sender", "record", "low", "high", "guarded")


@dataclass(frozen=True)
class AuditedLog:
    """Entries of a query log, in any order; a row an entry.

    Attributes:
        time: when the query was asked.
        sender: a number for its sender; a service never sees it.
        record: the sender's own record d; a service never sees it.
        low, high: the region d' that the query carried.
        guarded: d' came from a group; otherwise it is d*, for want of one.
    """

    time: npt.NDArray[np.float64]
    sender: npt.NDArray[np.int64]
    record: npt.NDArray[np.int64]
    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]
    guarded: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.time)


def write_audited_log(log: AuditedLog, path: str | Path) -> None:
    """Write the log as Parquet, for its owner only."""
    width = log.record.shape[1]

    def lists(codes: npt.NDArray[np.int64]) -> pa.Array:
        return pa.FixedSizeListArray.from_arrays(pa.array(codes.astype(np.uint16).ravel()), width)

    columns = [
        pa.array(log.time),
        pa.array(log.sender),
        lists(log.record),
        lists(log.low),
        lists(log.high),
        pa.array(log.guarded),
    ]
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
        raise InputError(
            f"{path} has no column {missing[0]!r}.", f"An audited log has {', '.join(_COLUMNS)}."
        )

    def codes(name: str) -> npt.NDArray[np.int64]:
        column = table.column(name).combine_chunks()
        width = column.type.list_size
        return np.asarray(column.flatten().to_numpy(), np.int64).reshape(-1, width)

    return AuditedLog(
        np.asarray(table.column("time").to_numpy(), np.float64),
        np.asarray(table.column("sender").to_numpy(), np.int64),
        codes("record"),
        codes("low"),
        codes("high"),
        np.asarray(table.column("guarded").to_numpy(zero_copy_only=False), np.bool_),
    )
