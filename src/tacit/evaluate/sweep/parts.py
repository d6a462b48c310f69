"""A fold of a log that need not fit into memory: the part to release on disk, the part to test on in memory.

The log is read a batch at a time. Records to release go into files of some users each; every file is counted
by itself, and since a user is in one file only, the counts add up, which the engine does within its own
memory. Of test users so many are taken, by a keyed hash of their names, that their records stay below
:data:`MOST_TESTED`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tacit.engines import Engine
from tacit.evaluate.data import LEFT_OUT, LogPart, fold_of_records, keyed_numbers
from tacit.searchlog.sessions import SessionCut

A_PART = 250_000
"""Records of a file, about."""
MOST_TESTED = 250_000
"""Records of test users, about: enough for intervals of a percent."""
MOST_ROWS = 1_000_000
"""Rows of a table of the whole log. Beyond, those with the largest counts stay, and beside them as many of
queries that test users asked: the others could serve nobody who is tested."""
_BATCH = 1 << 20


@dataclass(frozen=True, eq=False)
class SpilledLog:
    """The users of a fold that are released, on disk.

    Args:
        files: some users' records each.
        cut: how histories are split into sessions.
        engine: adds up counts.
        wanted: queries of test users.
    """

    files: tuple[Path, ...]
    cut: SessionCut
    engine: Engine
    wanted: pa.Array

    def log(self) -> Any:
        return self.engine.logs(self.files)

    @cached_property
    def tables(self) -> Mapping[str, pa.Table]:
        """Keywords, queries, clicks, steps and later queries, with how many users had each."""
        if len(self.files) == 1:
            return LogPart(pq.read_table(self.files[0]), self.cut).tables
        for number, file in enumerate(self.files):
            tables = LogPart(pq.read_table(file), self.cut).tables
            for kind, table in tables.items():
                pq.write_table(table, self._counted(kind, number))
        return {kind: self._added_up(kind) for kind in tables}

    def _counted(self, kind: str, number: int) -> Path:
        return self.files[0].with_name(f"counted-{kind}-{number}.parquet")

    def _added_up(self, kind: str) -> pa.Table:
        files = [self._counted(kind, number) for number in range(len(self.files))]
        listed = self.engine.logs(files)
        keys = [name for name in listed.columns if name != "count"]
        counted = self.engine.keep(listed.group_by(keys).aggregate(count=listed["count"].sum().cast("int64")))
        least = self._least(counted)
        kept = counted.filter(counted["count"] >= least)
        if least > 1 and "query" in keys:
            asked = self.engine.load(pa.table({"query": self.wanted}))
            asked = counted.filter(counted["count"] < least).semi_join(asked, "query")
            kept = ibis.union(kept, asked.filter(asked["count"] >= self._least(asked)))
        found = self.engine.table(kept.order_by([kept[key] for key in keys]))
        [every] = self.engine.table(counted.aggregate(every=counted["count"].sum())).to_pylist()
        left_out = (every["every"] or 0) - (pc.sum(found.column("count")).as_py() or 0)
        self.engine.drop(counted)
        for file in files:
            file.unlink()
        return found.replace_schema_metadata({LEFT_OUT: str(left_out)})

    def _least(self, counted: Any) -> int:
        """The least count for which no more rows have it than may stay."""
        sizes = self.engine.table(counted.group_by("count").aggregate(rows=counted.count()))
        sizes = sizes.sort_by([("count", "descending")])
        beyond = np.cumsum(sizes.column("rows").to_numpy()) > MOST_ROWS
        return int(sizes.column("count").to_numpy()[beyond][0]) + 1 if beyond.any() else 1


def spill(
    log: Path,
    period: tuple[datetime | None, datetime | None],
    fold: tuple[int, int, int],
    cut: SessionCut,
    engine: Engine,
) -> tuple[SpilledLog, LogPart]:
    """Split a log into the part to release, on disk beside the engine's own files, and the part to test on.

    Args:
        log: canonical Parquet.
        period: only records from the one time on, and before the other.
        fold: which of how many folds is tested, and the seed of the split.
        cut: how histories are split into sessions.
        engine: whose folder is used.
    """
    number, folds, seed = fold
    file = pq.ParquetFile(log)
    rows = file.metadata.num_rows
    parts = max(1, round(rows * (folds - 1) / folds / A_PART))
    share = min(1.0, MOST_TESTED * folds / max(rows, 1))
    paths = tuple(engine.scratch / f"part-{part}.parquet" for part in range(parts))
    writers = [pq.ParquetWriter(path, file.schema_arrow, compression="snappy") for path in paths]
    tested = [file.schema_arrow.empty_table()]
    for batch in _of_period(file, period):
        users = batch.column("user")
        folded = fold_of_records(users, folds, seed)
        chosen = (folded == number) & (keyed_numbers(users, f"tested-{seed}") < share * 2.0**64)
        tested.append(batch.filter(pa.array(chosen)))
        kept = batch.filter(pa.array(folded != number))
        part = (keyed_numbers(kept.column("user"), "parts") % np.uint64(parts)).astype(np.int64)
        order = np.argsort(part, kind="stable")
        kept, ends = kept.take(pa.array(order)), np.searchsorted(part[order], np.arange(parts + 1))
        for writer, begin, end in zip(writers, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            writer.write_table(kept.slice(begin, end - begin))
    for writer in writers:
        writer.close()
    test = LogPart(pa.concat_tables(tested), cut)
    return SpilledLog(paths, cut, engine, test.queries.texts), test


def _of_period(file: pq.ParquetFile, period: tuple[datetime | None, datetime | None]) -> Iterator[pa.Table]:
    time, kind, kept = pc.field("time"), file.schema_arrow.field("time").type, pc.scalar(True)
    kept = kept & (time >= pa.scalar(period[0], kind)) if period[0] else kept
    kept = kept & (time < pa.scalar(period[1], kind)) if period[1] else kept
    for batch in file.iter_batches(_BATCH):
        yield pa.Table.from_batches([batch]).filter(kept)
