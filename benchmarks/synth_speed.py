"""How fast and how small `tacit synth` is, against merely writing a table of the same shape.

Claim: a log of AOL's size (657,426 users, 36,389,567 records) is made in under 8 GB of memory at over
100,000 records a second on two cores. The floor is the time that writing alone takes: a table of the same
schema, size, share of clicks and length of queries, drawn at random beforehand, by the same writer.

    python benchmarks/synth_speed.py                    # 100,000 users, 5.5 million records
    python benchmarks/synth_speed.py --quick            # 10,000 users
    python benchmarks/synth_speed.py --users 657426     # AOL's size

Each side is a process of its own, timed from its start to its end; the loops are compiled before.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent


def _peak_bytes() -> int:
    """The kernel's high-water mark of this process's resident memory."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1]) * 1024


def make(users: int, output: Path) -> int:
    """Make a log; gives its number of records."""
    from tacit.world.synth import SyntheticLog

    return SyntheticLog(users, seed=1).write(output).got.records


def write_random(users: int, output: Path) -> int:
    """Write the floor's table; gives its number of records."""
    import numpy as np
    import pyarrow as pa

    from tacit.searchlog import SCHEMA, LogWriter
    from tacit.world.synth import target

    records, batch = target(users, 13).records, 1 << 18
    generator = np.random.default_rng(2006)
    letters = generator.integers(97, 123, (batch, 20), np.uint8)
    bounds = np.arange(0, batch * 20 + 1, 20, dtype=np.int32)
    clicked = generator.random(batch) < 0.534
    sites = pa.array([f"https://wordnet.example/document.{number:06d}" for number in range(82_115)])
    # The text is drawn once: pages are compressed apart, so writing it again costs the same again.
    table = pa.RecordBatch.from_arrays(
        [
            pa.array(np.char.mod("u%07d", np.repeat(np.arange(batch // 55 + 1), 55)[:batch])),
            pa.StringArray.from_buffers(batch, pa.py_buffer(bounds), pa.py_buffer(letters)),
            pa.array(np.sort(generator.integers(0, 91 * 86_400, batch)) * 1_000_000, pa.timestamp("us")),
            pa.array(generator.integers(1, 21, batch), pa.int32(), mask=~clicked),
            sites.take(pa.array(generator.integers(0, len(sites), batch), mask=~clicked)),
        ],
        schema=SCHEMA,
    )
    with LogWriter(output) as writer:
        for start in range(0, records, batch):
            writer.write(table.slice(0, min(batch, records - start)))
    return records


_SIDES = {"tacit synth": make, "writing a random table": write_random}


def _child(side: str, users: int, output: Path) -> None:
    records = _SIDES[side](users, output)
    print(json.dumps({"records": records, "peak": _peak_bytes(), "bytes": output.stat().st_size}))


def _measure(side: str, users: int, output: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", side, "--users", str(users), "--output", str(output)]
    environment = os.environ | {"PYTHONPATH": str(_ROOT / "src")}
    begun = time.perf_counter()
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found | {"seconds": time.perf_counter() - begun}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true", help="10,000 users")
    parser.add_argument("--child", choices=list(_SIDES), help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        _child(given.child, given.users, given.output)
        return
    users = 10_000 if given.quick else given.users
    with tempfile.TemporaryDirectory(prefix="tacit-synth-speed-") as folder:
        output = Path(folder) / "log.parquet"
        _measure("tacit synth", 1, output)  # compiles the loops, builds the index
        runs = {side: _measure(side, users, output) for side in reversed(_SIDES)}
    floor = runs["writing a random table"]["seconds"]
    print(f"{users:,} users, {os.cpu_count()} cores\n")
    print("| | records | seconds | records/s | peak memory | file | time against the floor |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for side, run in runs.items():
        print(
            f"| {side} | {run['records']:,} | {run['seconds']:.1f} | {run['records'] / run['seconds']:,.0f} "
            f"| {run['peak'] / 1e6:,.0f} MB | {run['bytes'] / 1e6:,.0f} MB | {run['seconds'] / floor:.2f} |"
        )
    ours = runs["tacit synth"]
    if ours["peak"] > 8e9:
        raise SystemExit("tacit synth took more than 8 GB")
    if not given.quick and ours["records"] / ours["seconds"] < 100_000:
        raise SystemExit("tacit synth made fewer than 100,000 records a second")


if __name__ == "__main__":
    main()
