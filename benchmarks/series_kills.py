"""Kill `tacit series next` at random moments of ten weeks: no step is drawn twice, nothing half-published.

    python benchmarks/series_kills.py            # forty kills
    python benchmarks/series_kills.py --kills 8

After every kill ledger and folder are looked at: steps only grow, and every week that is there verifies.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tacit
from tacit.world.synth import SyntheticLog


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=40)
    kills = parser.parse_args().kills
    lots = random.Random(1)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        os.environ["TACIT_STATE"] = str(folder / "owner")
        logs = []
        for week in range(10):
            logs.append(folder / f"{week}.parquet")
            SyntheticLog(300, seed=week, weeks=1).write(logs[-1])
        series = tacit.Series(weeks=10, epsilon=8, delta=1e-4, count_every=2).open(folder / "year")
        done = ended = 0
        whole = 2.0
        for week, log in enumerate(logs, start=1):
            command = [sys.executable, "-m", "tacit", "series", "next", str(series.folder), str(log)]
            for _ in range(kills * week // 10 - kills * (week - 1) // 10):
                before = series.entry.step
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(lots.uniform(0.3, 1.0) * whole)
                ended += process.poll() is None
                process.kill()
                process.wait()
                assert series.entry.step >= before
                for path in series.weeks:
                    assert tacit.verify(path, series.ledger), f"{path.name} does not verify"
                done += 1
            begun = time.monotonic()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            whole = 0.5 * whole + 0.5 * (time.monotonic() - begun)
            assert [path.name for path in series.weeks] == [f"week-{n:02d}" for n in range(1, week + 1)]
        steps = [each["step"] for each in series.ledger.chain().records if each["type"] == "step"]
        issued = [each for each in series.ledger.chain().records if each["type"] == "issued"]
        assert steps == sorted(set(steps))
        print(f"{done} kills, {ended} while it was at work; steps noted {len(steps)}, each once; weeks 10; ")
        print(f"manifests noted {len(issued)}; keys by week {series.to_dict()['keys_by_week']}")


if __name__ == "__main__":
    main()
