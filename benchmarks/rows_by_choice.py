"""How many rows a release of the synthetic log publishes, by which of a user's records are taken.

Claim: of histograms of queries, keywords and clicks, taking what each user has most puts more over the
threshold than taking the first or the last, at the same ε and δ.

    python benchmarks/rows_by_choice.py             # 10,000 users
    python benchmarks/rows_by_choice.py --quick     # 3,000
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from tacit.engines import open_engine
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.mechanisms.click import Click
from tacit.release.mechanisms.session import Session
from tacit.release.mechanisms.zealous import Zealous
from tacit.release.parameters import Choice, Item
from tacit.world.synth import SyntheticLog

_DRAWS = 5


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    users = 3_000 if parser.parse_args().quick else 10_000
    source = OperatingSystemRandomness()
    releases = {f"zealous, {item.value}": (Zealous, {"items": (item,)}) for item in Item}
    releases["click"] = (Click, {})
    releases["session"] = (Session, {"epsilon": 8.0})
    ahead = True
    print(f"{users:,} synthetic users, ε = 2 (session: 8), δ = 1e-6, mean of {_DRAWS} draws\n")
    print("| release | table | " + " | ".join(Choice) + " |\n|---|---|" + "---:|" * len(Choice))
    with tempfile.TemporaryDirectory() as folder, open_engine() as engine:
        path = Path(folder) / "log.parquet"
        SyntheticLog(users, seed=1).write(path)
        for name, (mechanism, options) in releases.items():
            rows: dict[str, dict[Choice, float]] = {}
            for choice in Choice:
                made = mechanism(**{"epsilon": 2.0, "delta": 1e-6, "take": choice, **options})
                counting = made.plan().count(engine, engine.log(path))
                drawn = [made.plan().publish(engine, counting, source) for _ in range(_DRAWS)]
                for table in drawn[0]:
                    found = statistics.fmean(tables[table].num_rows for tables in drawn)
                    rows.setdefault(table, {})[choice] = found
            for table, found_by in rows.items():
                print(f"| {name} | {table} | " + " | ".join(f"{found_by[c]:,.1f}" for c in Choice) + " |")
                if table in ("queries", "keywords") and "zealous" in name:
                    ahead &= found_by[Choice.FREQUENT] >= max(found_by[Choice.FIRST], found_by[Choice.LAST])
    if not ahead:
        sys.exit("taking what is most frequent published less")


if __name__ == "__main__":
    main()
