"""How long and how large a whole release is, against the bounded histogram that DuckDB makes of the same log.

Whole commands from start to exit (start of Python, check, the ledger opened anew, bounding, charge, noise,
thresholds, files, page, manifest, note in the ledger), each in turn with the plain SQL histogram of the same
bound, which neither scrubs nor protects. The median ratio is given, of the clock and of processor time:
on a machine with other work the clock says more about that.

    python benchmarks/release_speed.py                        # tacit synth, 90,500 users, 5 million records
    python benchmarks/release_speed.py --zipf                 # 5 million records of half a million users
    python benchmarks/release_speed.py --quick                # 5,000 users
    python benchmarks/release_speed.py --users 657426         # AOL's size
    python benchmarks/release_speed.py --log LOG --memory 1GB --rounds 1
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

FIRST, ALL = 5, 200
PLAIN = """
import sys, duckdb
log, folder, bound, memory, threads = sys.argv[1:]
limits = {"memory_limit": f"{memory}MiB", "threads": int(threads), "temp_directory": folder}
with duckdb.connect(config=limits) as connection:
    connection.execute(f'''CREATE TABLE histogram AS SELECT query, count(*) AS users FROM (
        SELECT "user", query, row_number() OVER (PARTITION BY "user" ORDER BY min("time"), query) AS place
        FROM read_parquet('{log}') GROUP BY "user", query) WHERE place <= {bound} GROUP BY query''')
"""
RELEASES = {
    "zealous --no-scrub": (f"zealous --epsilon 1 --per-user {FIRST} --no-scrub", FIRST),
    "zealous": (f"zealous --epsilon 1 --per-user {FIRST}", FIRST),
    "adaptive": (f"adaptive --epsilon 1 --per-user {ALL}", ALL),
    "click": ("click --epsilon 4", FIRST),
    "session": ("session --epsilon 8", FIRST),
}


@dataclass(frozen=True)
class Taken:
    """What a process took: seconds by the clock and of processors, bytes at the most, and spilled at once."""

    clock: float
    processors: float
    peak: int
    spilled: int = 0


def taken(command: list[str], folder: str) -> Taken:
    """Run a command to its end; the caches of noise and loops stay, the register of ledgers is new."""
    begun = time.perf_counter()
    (spill := Path(folder) / "spill").mkdir(exist_ok=True)
    given = {**os.environ, "TACIT_STATE": f"{folder}/state", "TMPDIR": str(spill)}
    given.pop("PYTHONDONTWRITEBYTECODE", None)  # compiled once, as where it is installed
    most, ended = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not ended.wait(0.5):
            with suppress(OSError):  # a file that has gone in the meantime
                most = max(most, sum(file.stat().st_size for file in spill.rglob("*")))

    (watching := threading.Thread(target=watch)).start()
    with (Path(folder) / "said").open("w+") as said:
        process = subprocess.Popen(command, env=given, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        ended.set()
        watching.join()
        if status:
            raise SystemExit((Path(folder) / "said").read_text())
    processors = used.ru_utime + used.ru_stime
    return Taken(time.perf_counter() - begun, processors, used.ru_maxrss * 1024, most)


def plain(log: Path, bound: int, memory: int, threads: int) -> Taken:
    """The histogram as one writes it in SQL, with the engine's limits of the release."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", PLAIN, str(log), folder, str(bound), str(memory >> 20), str(threads)]
        return taken(command, folder)


def released(log: Path, asked: str, memory: int, threads: int) -> Taken:
    """A release into a ledger of its own."""
    mechanism, *words = asked.split()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tacit", "release", mechanism, str(log), *words]
        command += ["--threads", str(threads), "--memory", f"{memory >> 20}MiB", "--output", f"{folder}/out"]
        command += ["--ledger", f"{folder}/ledger", "--budget-epsilon", "10", "--budget-delta", "1e-5"]
        return taken(command, folder)


def main() -> None:
    """Make the log (unless given) and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, default=90_500)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--zipf", action="store_true", help="the log of adaptive_selection.py")
    parser.add_argument("--log", type=Path, help="use this log instead of making one")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", help="that each may take; as a release takes by itself unless given")
    parser.add_argument("--releases", nargs="+", choices=RELEASES, default=list(RELEASES))
    options = parser.parse_args()
    import pyarrow.parquet as pq

    from tacit.engines import memory_for
    from tacit.validation import size

    with tempfile.TemporaryDirectory() as folder:
        log = options.log or Path(folder) / "log.parquet"
        if options.log is None and options.zipf:
            from adaptive_selection import write_log

            write_log(log, 5_000_000, 1)
        elif options.log is None:
            from tacit.world.synth import SyntheticLog

            SyntheticLog(5_000 if options.quick else options.users, seed=1).write(log)
        records = pq.ParquetFile(log).metadata.num_rows
        memory = size("memory", options.memory) if options.memory else memory_for(log)
        print(
            f"{records:,} records, {options.threads} threads, {memory / 1e9:.1f} GB, {options.rounds} rounds"
        )
        for name in options.releases:
            asked, bound = RELEASES[name]
            pairs = [
                (plain(log, bound, memory, options.threads), released(log, asked, memory, options.threads))
                for _ in range(options.rounds)
            ]
            clock = statistics.median(mine.clock / other.clock for other, mine in pairs)
            work = statistics.median(mine.processors / other.processors for other, mine in pairs)
            least = min((mine for _, mine in pairs), key=lambda each: each.processors)
            base = min(other.processors for other, _ in pairs)
            print(
                f"{name:20} {least.processors:6.2f} s of processors against {base:6.2f} ({work:.2f} times), "
                f"by the clock {clock:.2f} times, peak {max(mine.peak for _, mine in pairs) / 1e9:.2f} GB, "
                f"spilled {max(mine.spilled for _, mine in pairs) / 1e9:.2f} GB",
                flush=True,
            )


if __name__ == "__main__":
    main()
