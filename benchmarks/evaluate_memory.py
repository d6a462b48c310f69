"""How much memory an evaluation needs, and how slowly it grows with the log.

Asks whether one fold of a log of 36 million records (as many as AOL's published log has) is evaluated on all
tasks within 6 GB. The large log is a synthetic one of 20,000 people copied 33 times, with people of their own
and what one person alone asked made different in each copy, so that the tail grows as a real log's does.
It holds up to 8.9 million records; memory still grows with the log, more slowly than it does, so that 36
million are not shown to fit.

    python benchmarks/evaluate_memory.py               # 1.1 and 36 million records
    python benchmarks/evaluate_memory.py --copies 5    # 1.1 and 5.5 million
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

GIGABYTES = 6.0


def copied(log: Path, to: Path, copies: int) -> int:
    """Write a log of so many copies; how many records it has."""
    table = pq.read_table(log)
    asked = table.group_by("query").aggregate([("user", "count_distinct")])
    alone = asked.filter(pc.equal(asked.column("user_count_distinct"), 1)).column("query")
    rare = pc.is_in(table.column("query"), value_set=alone.combine_chunks())
    with pq.ParquetWriter(to, table.schema) as writer:
        for copy in range(copies):
            columns = {name: table.column(name) for name in table.column_names}
            columns["user"] = pc.binary_join_element_wise(table.column("user"), f"{copy:02d}", "-")
            if copy:
                other = pc.binary_join_element_wise(table.column("query"), f"w{copy}", " ")
                columns["query"] = pc.if_else(rare, other, table.column("query"))
            writer.write_table(pa.table(columns, schema=table.schema), row_group_size=1 << 17)
    return copies * int(table.num_rows)


def run_one_fold(log: Path) -> None:
    """One of five folds with the anchors and ZEALOUS at two budgets; prints the most memory it held."""
    from tacit.evaluate.sweep import SweepPlan, grid
    from tacit.evaluate.sweep.runs import RunStore
    from tacit.evaluate.sweep.sweeping import run_fold

    plan = SweepPlan(grid(["zealous"], [1.0, 16.0]), draws=2)
    begun = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        run_fold(log, RunStore(Path(folder) / "sweep", {"log": log.name}), plan, 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{peak:.2f} {time.process_time() - begun:.0f}")


def main() -> None:
    """Measure both logs, or be one side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--copies", type=int, default=33)
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--fold-of", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fold_of:
        run_one_fold(options.fold_of)
        return
    from tacit.world.synth import SyntheticLog

    found = []
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small.parquet", Path(folder) / "large.parquet"
        SyntheticLog(options.users, seed=1).write(small)
        sizes = [(small, pq.read_metadata(small).num_rows), (large, copied(small, large, options.copies))]
        for log, records in sizes:
            command = [sys.executable, __file__, "--fold-of", str(log)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            gigabytes, seconds = map(float, done.stdout.split())
            found.append(gigabytes)
            print(f"{records:>12,} records: {gigabytes:.2f} GB, {seconds:.0f} processor seconds", flush=True)
    print(f"{options.copies} times the records, {found[1] / found[0]:.1f} times the memory")
    print(f"within {GIGABYTES:.0f} GB: {'yes' if found[1] <= GIGABYTES else 'NO'}")


if __name__ == "__main__":
    main()
