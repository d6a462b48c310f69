"""How far the rows expected before a release are from those published, on other synthetic logs.

Claim: for logs of AOL's shape of up to 100,000 users, the expectation lies within a factor of 1.5 of the mean
of ten releases wherever ten rows or more are published.

    python benchmarks/expectation.py                   # 3,000, 10,000, 30,000 and 100,000 users
    python benchmarks/expectation.py --users 30000     # one size
    python benchmarks/expectation.py --quick           # 3,000
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from tacit.engines import open_engine
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.forecast import expected_rows
from tacit.release.mechanisms.adaptive import Adaptive, HeldItem
from tacit.release.mechanisms.zealous import Zealous
from tacit.release.parameters import Item
from tacit.world.synth import SyntheticLog

_DRAWS = 10
_FACTOR = 1.5


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--users", type=int, action="append", help="a size of log; repeat it")
    asked = parser.parse_args()
    sizes = asked.users or ([3_000] if asked.quick else [3_000, 10_000, 30_000, 100_000])
    source, far = OperatingSystemRandomness(), False
    print("| users | ε | release | table | expected | published, mean |\n|---:|---:|---|---|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for users in sizes:
            path = Path(folder) / f"{users}.parquet"
            SyntheticLog(users, seed=77).write(path)
            for epsilon in (1.0, 4.0):
                for made in (
                    Zealous(epsilon=epsilon, delta=1e-5, items=(Item.QUERIES, Item.KEYWORDS, Item.CLICKS)),
                    Adaptive(epsilon=epsilon, delta=1e-5, items=(HeldItem.QUERIES, HeldItem.CLICKS)),
                ):
                    expected = expected_rows(made, users)
                    assert expected is not None
                    with open_engine() as engine:
                        counting = made.plan().count(engine, engine.log(path))
                        drawn = [made.plan().publish(engine, counting, source) for _ in range(_DRAWS)]
                    for table, foreseen in expected.items():
                        mean = statistics.fmean(tables[table].num_rows for tables in drawn)
                        said = f"{made.name} | {table} | {foreseen:,.1f} | {mean:,.1f}"
                        print(f"| {users:,} | {epsilon:g} | {said} |", flush=True)
                        far |= mean >= 10 and not mean / _FACTOR <= foreseen <= mean * _FACTOR
    if far:
        sys.exit(f"off by more than a factor of {_FACTOR}")


if __name__ == "__main__":
    main()
