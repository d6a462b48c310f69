"""How fast and how small `tacit import` is on a large log in AOL's format.

Claim: a log of AOL's size (36,389,567 records) is imported in under 4 GB of memory, at a rate of the same
order as plain DuckDB turning the same file into Parquet, although every line is checked and every query
normalised. The floor is `wc -l`, which only looks at each byte.

    python benchmarks/import_speed.py                       # 5 million records
    python benchmarks/import_speed.py --quick               # 300 thousand
    python benchmarks/import_speed.py --records 36389567    # all of AOL's

The file is made once in the work folder and kept there (`--folder`) to be measured again. With
`--log LOG.parquet` it is exported from that log (`tacit synth` makes one) instead of the plain generator's.
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

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_CHUNK = 500_000
_USERS_A_RECORD = 657_426 / 36_389_567
_CLICKS_A_RECORD = 19_442_629 / 36_389_567

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


def make_log(path: Path, records: int) -> None:
    """A log with AOL's sizes: heavy-tailed queries of a few words, half of the records with a click."""
    from tacit.searchlog import SCHEMA, LogWriter

    generator = np.random.default_rng(2006)
    syllables = pa.array([a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "in", "or", "u", "al")])
    users = max(1, round(records * _USERS_A_RECORD))
    begin = np.datetime64("2006-03-01", "s")

    def syllable(numbers: npt.NDArray[np.int64]) -> pa.Array:
        return syllables.take(pa.array(numbers % len(syllables)))

    with LogWriter(path) as writer:
        for start in range(0, records, _CHUNK):
            size = min(_CHUNK, records - start)
            user = pa.array(np.sort(generator.integers(0, users, size))).cast(pa.string())
            popularity = generator.zipf(1.25, size) % 50_000_000
            parts = [syllable(popularity // divisor) for divisor in (1, 96, 7, 9_216, 884_736)]
            first, second = (pc.binary_join_element_wise(*pair, "") for pair in (parts[:2], parts[2:4]))
            query = pc.binary_join_element_wise(first, second, parts[4], " ")
            time_ = begin + generator.integers(0, 92 * 86_400, size).astype("timedelta64[s]")
            clicked = generator.random(size) < _CLICKS_A_RECORD
            rank = pa.array(generator.integers(1, 11, size), pa.int32(), mask=~clicked)
            site = pa.array(popularity % 9_973).cast(pa.string())
            host = pc.binary_join_element_wise("http://www.", parts[0], site, ".example", "")
            url = pc.if_else(pa.array(clicked), host, None)
            columns = [user, query, pa.array(time_.astype("datetime64[us]")), rank, url]
            writer.write(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))


def make_source(folder: Path, records: int, log: Path | None) -> tuple[Path, int]:
    """The file to import and its number of records; made unless it is there from an earlier run."""
    from tacit.searchlog.export import export_log

    if log is not None:
        source = folder / f"{log.stem}.txt"
        return source, export_log(log, source, "aol").records
    source = folder / f"aol-{records}.txt"
    if not source.exists():
        made = folder / f"aol-{records}.parquet"
        make_log(made, records)
        export_log(made, source, "aol")
        made.unlink()
    return source, records


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--quick", action="store_true", help="300 thousand records")
    parser.add_argument("--log", type=Path, help="a search log to export instead of the generator's")
    parser.add_argument("--folder", type=Path, help="where to make the file, and keep it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tacit-import-speed-") as temporary:
        folder = given.folder or Path(temporary)
        source, records = make_source(folder, 300_000 if given.quick else given.records, given.log)
        output = Path(temporary) / "log.parquet"
        # Read the file once before, so that no run pays for a cold disk.
        measured(["cat", str(source)])
        runs = {
            "wc -l": measured(["wc", "-l", str(source)]),
            "DuckDB read_csv to Parquet": measured(
                [sys.executable, "-c", _DUCKDB.format(source=source, output=output)]
            ),
            "tacit import": measured(
                [sys.executable, "-m", "tacit", "import", str(source), "-o", str(output)]
            ),
            "tacit stats": measured([sys.executable, "-m", "tacit", "stats", str(output)]),
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
