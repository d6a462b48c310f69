"""What a ZEALOUS release costs on Spark, by the number of records: a line fitted at three sizes.

Processor time of the whole release (driver, executors, Python), on two worker processes of this machine, as
/proc has it: the clock would say more about what else the machine does. Of larger logs the line is an
extrapolation.

    python benchmarks/spark_cost.py                # 0.1, 0.4 and 1.6 million records
    python benchmarks/spark_cost.py --log LOG      # this log, and 4 and 16 times of it under other users
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

MASTER = "local-cluster[2,1,1024]"
TIMES = (1, 4, 16)
LARGE = 10_000_000_000


def repeated(log: Path, times: int, to: Path) -> int:
    """The log so many times under other users; half of the queries made different."""
    records = pq.read_table(log)
    writer = pq.ParquetWriter(to, records.schema, compression="zstd")
    for copy in range(times):
        user = pc.binary_join_element_wise(records["user"].cast(pa.string()), f"{copy}", "-")
        query = records["query"].cast(pa.string())
        other = pc.binary_join_element_wise(query, f"{copy}", " ")
        hashed = np.array([len(text) % 2 == 0 for text in query.to_pylist()])
        query = pc.if_else(pa.array(hashed), other, query) if copy else query
        table = records.set_column(
            0, records.schema.field("user"), user.cast(records.schema.field("user").type)
        )
        place = table.schema.get_field_index("query")
        table = table.set_column(
            place, table.schema.field("query"), query.cast(table.schema.field("query").type)
        )
        writer.write_table(table.select(records.schema.names).cast(records.schema))
    writer.close()
    return records.num_rows * times


class ProcessorTime:
    """Of this process and all below it, also of those that ended in the meantime."""

    def __init__(self) -> None:
        self.seen: dict[int, float] = {}
        self._ended = threading.Event()
        self._look()
        self.before = dict(self.seen)
        self._thread = threading.Thread(target=self._watch)
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
    """Release at three sizes, twice at the first, whose first run starts Java."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        os.environ["TACIT_STATE"] = f"{folder}/state"
        from tacit import Zealous
        from tacit.release.publication import publish
        from tacit.release.spark import start_session

        log = options.log
        if log is None:
            from tacit.world.synth import SyntheticLog

            log = folder / "log.parquet"
            SyntheticLog(1_800, seed=1).write(log)
        session = start_session(MASTER)
        found = []
        for number, times in enumerate((TIMES[0], *TIMES)):
            path = folder / f"log-{number}.parquet"
            records = repeated(log, times, path)
            spent, begun = ProcessorTime(), time.perf_counter()
            budget = {"budget_epsilon": 10.0, "budget_delta": 1e-5}
            publish(path, Zealous(epsilon=1), to=folder / f"out-{number}", engine=MASTER, **budget)
            cold = " (the first: everything is loaded)" if number == 0 else ""
            seconds = spent.seconds()
            clock = time.perf_counter() - begun
            print(f"{records:12,} records {seconds:8.1f} s of processors {clock:8.1f} s{cold}", flush=True)
            if number:
                found.append((records, seconds))
        session.stop()
    sizes, seconds = np.array(found).T
    slope, start = np.polyfit(sizes, seconds, 1)
    print(
        f"fitted: {start:.1f} s + {1e6 * slope:.1f} µs a record; residuals {seconds - start - slope * sizes}"
    )
    print(f"extrapolated to {LARGE:,} records: {start + slope * LARGE:,.0f} s of processors")


if __name__ == "__main__":
    main()
