"""How much memory an evaluation needs, and how slowly it grows with the log.

Asks whether a log of 36 million records (as many as AOL's published log has) is evaluated on all tasks
within 6 GB. ``tacit synth`` makes the log, ``tacit evaluate release`` evaluates it with one mechanism at two
budgets in two folds, and what all its processes hold is read twice a second (shared pages once; Linux only).

    python benchmarks/evaluate_memory.py                     # 36 million records: half an hour
    python benchmarks/evaluate_memory.py --users 20000       # 1.1 million
    python benchmarks/evaluate_memory.py --log log.parquet   # a log that is there
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq

GIGABYTES = 6.0
TRIED = "--epsilon 1 --epsilon 16 --folds 2 --draws 2".split()


def processes(parent: int) -> list[int]:
    """A process and all that it started."""
    found = [parent]
    with suppress(OSError):  # it has just ended
        for task in Path(f"/proc/{parent}/task").iterdir():
            found += [
                each for child in (task / "children").read_text().split() for each in processes(int(child))
            ]
    return found


def held(process: int) -> float:
    """Gigabytes that a process holds, what it shares divided among those who do."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024 / 1e9
    return 0.0


def most_held(command: list[str]) -> float:
    """Run a command; the most that its processes held together."""
    running, most = subprocess.Popen(command, stdout=subprocess.DEVNULL), 0.0
    while running.poll() is None:
        most = max(most, sum(map(held, processes(running.pid))))
        time.sleep(0.5)
    if running.returncode:
        raise SystemExit(running.returncode)
    return most


def main() -> None:
    """Make a log unless there is one, and evaluate it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, default=657_426)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--mechanism", default="zealous")
    options = parser.parse_args()
    tacit = str(Path(sys.executable).with_name("tacit"))
    with tempfile.TemporaryDirectory() as folder:
        log = options.log or Path(folder) / "log.parquet"
        if options.log is None:
            users = ["--users", str(options.users), "--seed", "1"]
            subprocess.run([tacit, "synth", *users, "-o", log], stdout=subprocess.DEVNULL, check=True)
        begun, before = time.monotonic(), os.times()
        tried = ["-o", f"{folder}/report", "-m", options.mechanism, *TRIED]
        most = most_held([tacit, "evaluate", "release", str(log), *tried])
        seconds, after = time.monotonic() - begun, os.times()
        processor = sum(after[2:4]) - sum(before[2:4])
        print(f"{pq.read_metadata(log).num_rows:,} records: {most:.2f} GB in all processes")
        print(f"{seconds:.0f} seconds, {processor:.0f} processor seconds")
        print(f"within {GIGABYTES:.0f} GB: {'yes' if most <= GIGABYTES else 'NO'}")


if __name__ == "__main__":
    main()
