"""What a ZEALOUS release costs on Spark: a start, a price a record and one a distinct pair of user and query.

Processor time of the whole release (driver, executors, Python), on two worker processes of this machine, as
/proc has it: the clock would say more about what else the machine does. Three sizes, each as it is and with
searches that seldom come again, so that pairs and records are told apart. No price is below 0. Of larger logs
it is an extrapolation.

    python benchmarks/spark_cost.py                # 1, 4 and 8 million records
    python benchmarks/spark_cost.py --log LOG      # this log, and 4 and 8 times of it under other users
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
import warnings
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy.optimize import nnls

MASTER = "local-cluster[2,1,1024]"
TIMES = (1, 4, 8)
SEVERAL = 20
LARGE = 10_000_000_000


def repeated(log: Path, times: int, to: Path, different: bool) -> tuple[int, int]:
    """The log so many times under other users, half of the queries made different: records, and pairs.

    Where searches seldom come again, one of twenty words goes with each.
    """
    records = pq.read_table(log)
    with pq.ParquetWriter(to, records.schema, compression="zstd") as writer:
        for copy in range(times):
            user = pc.binary_join_element_wise(records["user"].cast(pa.string()), f"{copy}", "-")
            query = records["query"].cast(pa.string())
            even = pc.equal(pc.bit_wise_and(pc.utf8_length(query), 1), 0)
            if copy:
                query = pc.if_else(even, pc.binary_join_element_wise(query, f"{copy}", " "), query)
            if different:
                word = pa.array(np.arange(len(query)) % SEVERAL).cast(pa.string())
                query = pc.binary_join_element_wise(query, word, " ")
            columns = dict(zip(records.schema.names, records.columns, strict=True))
            columns |= {"user": user, "query": query}
            writer.write_table(pa.table(columns).cast(records.schema))
    pairs = duckdb.sql(f"SELECT count(*) FROM (SELECT DISTINCT \"user\", query FROM '{to}')").fetchall()
    return records.num_rows * times, int(pairs[0][0])


class ProcessorTime:
    """Of this process and all below it, also of those that ended in the meantime."""

    def __init__(self) -> None:
        self.seen: dict[int, float] = {}
        self._ended = threading.Event()
        self._look()
        self.before = dict(self.seen)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(0.2):
            self._look()

    def _look(self) -> None:
        parents, times = {}, {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                parents[int(folder.name)] = int(fields[1])
                times[int(folder.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        for process, spent in times.items():
            above = process
            while above not in (0, 1, os.getpid()):
                above = parents.get(above, 0)
            if above == os.getpid():
                self.seen[process] = spent

    def seconds(self) -> float:
        """Spent since it began."""
        self._look()
        self._ended.set()
        self._thread.join()
        return sum(spent - self.before.get(process, 0.0) for process, spent in self.seen.items())


def main() -> None:
    """Release at three sizes, once before at the first, which starts Java."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        os.environ["TACIT_STATE"] = f"{folder}/state"
        from tacit import PrivacyWarning, Zealous
        from tacit.engines.spark import start_session
        from tacit.release.publication import publish

        log = options.log
        if log is None:
            from tacit.world.synth import SyntheticLog

            log = folder / "log.parquet"
            SyntheticLog(18_000, seed=1).write(log)
        warnings.simplefilter("ignore", PrivacyWarning)  # each release weakens the same log
        session = start_session(MASTER)
        found: list[tuple[int, int, float]] = []
        for number, (times, different) in enumerate(
            [(1, False), *((times, different) for times in TIMES for different in (False, True))]
        ):
            path = folder / "repeated.parquet"
            records, pairs = repeated(log, times, path, different)
            spent, begun = ProcessorTime(), time.perf_counter()
            budget = {"budget_epsilon": 20.0, "budget_delta": 1e-4, "ledger": folder / f"ledger-{different}"}
            publish(path, Zealous(epsilon=1), to=folder / f"out-{number}", engine=MASTER, **budget)
            cold = " (the first: everything is loaded)" if number == 0 else ""
            seconds = spent.seconds()
            clock = time.perf_counter() - begun
            print(
                f"{records:11,} records {pairs:12,} pairs {seconds:7.1f} s CPU {clock:6.1f} s{cold}",
                flush=True,
            )
            if number:
                found.append((records, pairs, seconds))
        session.stop()
    measured = np.array(found)
    parts = np.column_stack([np.ones(len(found)), measured[:, :2] / 1e6])
    # Weighed by what each took, so that the line fits small logs as well as large ones, in percent.
    (start, record, pair), _ = nnls(parts / measured[:, 2:], np.ones(len(found)))
    off = parts @ (start, record, pair) / measured[:, 2] - 1
    print(f"fitted: {start:.1f} s + {record:.2f} µs a record + {pair:.2f} µs a pair")
    print(f"off by {', '.join(f'{each:+.0%}' for each in off)}")
    share = measured[-2, 1] / measured[-2, 0]
    large = start + (record + pair * share) * LARGE / 1e6
    print(f"extrapolated to {LARGE:,} records, {share:.2f} pairs a record: {large:,.0f} s of processors")


if __name__ == "__main__":
    main()
