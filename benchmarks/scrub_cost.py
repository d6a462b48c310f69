"""What scrubbing adds to a release, on the synthetic log and on a log full of digits.

Claim: a ZEALOUS release of queries and clicks takes at most 1.1 times as long with scrubbing as without, on
either log. Both sides run in turn in one process, after a first run that counts for neither. Processor time
of all threads is measured, since the machine may have other work to do; the median of the ratios counts. On
a log so small that compiling the statements takes most of the time (--quick), nothing is claimed.

    python benchmarks/scrub_cost.py             # 20,000 synthetic users, and 1 million records with digits
    python benchmarks/scrub_cost.py --quick     # 3,000, and 200 thousand
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_ROUNDS = 7
_LARGEST_RATIO = 1.1


def digits_log(path: Path, records: int) -> Path:
    """A log in which every query holds digits, and one in ten a number that names somebody."""
    random = np.random.default_rng(1)
    users = random.integers(0, records // 20, records)
    numbers = random.zipf(1.3, records) % 100_000
    kinds = (
        "part {0:05d}",
        "area {0:05d} code",
        "model 555-{0:04d}",
        "{0:03d}.45.6789",
        "call 555-867-{0:04d}",
    )
    columns = {
        "user": [f"u{user}" for user in users],
        "query": [kinds[min(n % 40, 4)].format(n % 10_000) for n in numbers],
        "time": [datetime(2006, 3, 1) + timedelta(seconds=int(n)) for n in range(records)],
        "rank": [1] * records,
        "url": [f"http://www.example.com/{n % 5_000}/2006" for n in numbers],
    }
    from tacit.searchlog import SCHEMA

    pq.write_table(pa.table(columns, schema=SCHEMA), path)
    return path


def seconds(log: Path, folder: Path, scrub: bool, name: str) -> float:
    """Processor time of one release, from the check to the page."""
    from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
    from tacit.privacy.ledger.ledger import Ledger
    from tacit.release.mechanisms.zealous import Zealous
    from tacit.release.parameters import Item
    from tacit.release.preparation import Preparation
    from tacit.release.publication import Order, publish_log

    ledger = folder / f"{log.name}.ledger"
    if not ledger.exists():
        Ledger.create(ledger, Guarantee(GuaranteeKind.APPROXIMATE, Neighbours.ADD_REMOVE, 1000.0, 1e-2))
    made = Zealous(epsilon=2.0, delta=1e-6, items=(Item.QUERIES, Item.CLICKS)).plan()
    order = Order(log, folder / name, made, Preparation(scrub=scrub), Ledger.open(ledger))
    begun = time.process_time()
    publish_log(order)
    return time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    from tacit.world.synth import SyntheticLog

    worst = 0.0
    print("| log | without scrubbing | with | ratio |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["TACIT_STATE"] = str(folder / "state")
        SyntheticLog(3_000 if quick else 20_000, seed=1).write(folder / "synthetic.parquet")
        digits_log(folder / "digits.parquet", 200_000 if quick else 1_000_000)
        for log in (folder / "synthetic.parquet", folder / "digits.parquet"):
            seconds(log, folder, True, f"{log.stem}-first")
            pairs = [
                (
                    seconds(log, folder, False, f"{log.stem}-{n}-without"),
                    seconds(log, folder, True, f"{log.stem}-{n}"),
                )
                for n in range(_ROUNDS)
            ]
            without, scrubbed = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
            ratio = statistics.median(pair[1] / pair[0] for pair in pairs)
            worst = max(worst, ratio)
            print(f"| {log.stem} | {without:.2f} s | {scrubbed:.2f} s | {ratio:.2f} |")
    if worst > _LARGEST_RATIO and not quick:
        sys.exit(f"scrubbing takes {worst:.2f} times as long")


if __name__ == "__main__":
    main()
