"""How fast and how small `tacit import` is on a large log in AOL's format.

Claim: a log of AOL's size (36,389,567 records) is imported in under 4 GB of memory, at a rate of the same
order as plain DuckDB turning the same file into Parquet, although every line is checked and every query
normalised. The floor is `wc -l`, which only looks at each byte.

    python benchmarks/import_speed.py                       # 5 million records
    python benchmarks/import_speed.py --quick               # 300 thousand
    python benchmarks/import_speed.py --records 36389567    # all of AOL's

The file comes from `tacit synth` and `tacit export`, so its records are as many as the synthetic log of that
many users has. With `--folder` it is kept, to be measured again.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

_USERS_A_RECORD = 657_426 / 36_389_567
_TACIT = [sys.executable, "-m", "tacit"]

_DUCKDB = """
import duckdb, sys
duckdb.sql('''
    COPY (SELECT * FROM read_csv('{source}', delim='\\t', header=true, quote='', escape='', auto_detect=false,
        columns={{'AnonID': 'VARCHAR', 'Query': 'VARCHAR', 'QueryTime': 'TIMESTAMP', 'ItemRank': 'INTEGER',
                 'ClickURL': 'VARCHAR'}}))
    TO '{output}' (FORMAT parquet, COMPRESSION zstd)
''')
"""


@dataclass(frozen=True)
class Run:
    """What a process took."""

    seconds: float
    peak_bytes: int


def measured(command: list[str]) -> Run:
    """Run ``command`` to its end, and give its wall time and its peak of resident memory."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    # The kernel's own high-water mark; wait4's would count this process's memory before the exec.
    while process.poll() is None:
        with contextlib.suppress(OSError, StopIteration):
            status = Path(f"/proc/{process.pid}/status").read_text()
            mark = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
            peak = max(peak, int(mark.split()[1]) * 1024)
        time.sleep(0.01)
    if process.returncode:
        raise SystemExit(f"{command[:4]} ended with {process.returncode}")
    return Run(time.perf_counter() - begun, peak)


def make_source(folder: Path, records: int) -> Path:
    """A synthetic log of about ``records`` records as text in AOL's format; kept from an earlier run."""
    users = max(1, round(records * _USERS_A_RECORD))
    source, log = folder / f"aol-{users}-users.txt", folder / f"aol-{users}-users.parquet"
    if not source.exists():
        made = measured(
            [*_TACIT, "synth", "--users", str(users), "--seed", "2006", "-o", str(log), "--force"]
        )
        print(f"made in {made.seconds:.0f} s", end=", ")
        exported = measured([*_TACIT, "export", str(log), "-o", str(source), "--format", "aol"])
        print(f"exported in {exported.seconds:.0f} s")
        log.unlink()
    return source


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--quick", action="store_true", help="300 thousand records")
    parser.add_argument("--folder", type=Path, help="where to make the file, and keep it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tacit-import-speed-") as temporary:
        folder = given.folder or Path(temporary)
        source = make_source(folder, 300_000 if given.quick else given.records)
        lines = subprocess.run(["wc", "-l", str(source)], capture_output=True, text=True, check=True).stdout
        records = int(lines.split()[0]) - 1  # without the header
        output = Path(temporary) / "log.parquet"
        # The file was read just now, so no run pays for a cold disk.
        runs = {
            "wc -l": measured(["wc", "-l", str(source)]),
            "DuckDB read_csv to Parquet": measured(
                [sys.executable, "-c", _DUCKDB.format(source=source, output=output)]
            ),
            "tacit import": measured([*_TACIT, "import", str(source), "-o", str(output), "--force"]),
            "tacit stats": measured([*_TACIT, "stats", str(output)]),
        }
    ours = runs["tacit import"].seconds
    print(f"{records:,} records, {source.name}, {os.cpu_count()} cores\n")
    print("| | seconds | records/s | peak memory | time against tacit import |")
    print("|---|---:|---:|---:|---:|")
    for name, run in runs.items():
        print(
            f"| {name} | {run.seconds:.1f} | {records / run.seconds:,.0f} | {run.peak_bytes / 1e6:,.0f} MB "
            f"| {run.seconds / ours:.2f} |"
        )
    if runs["tacit import"].peak_bytes > 4e9:
        raise SystemExit("tacit import took more than 4 GB")


if __name__ == "__main__":
    main()
