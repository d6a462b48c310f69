"""What a newcomer waits for: the first ``protect`` and ``rerank`` of a machine, and of every later process.

    python benchmarks/first_protect.py

Each run is a process of its own: with an empty cache folder (*cold*: WordNet's columns, the search index and
the topics' directions are made, and the inner loops compiled) and again with what the first one left there
(*warm*). Processor time and peak memory stand beside those of a process that imports numba and numpy and
ends, the floor of anything with compiled loops. Claims: cold at most 10 processor seconds and 400 MB, warm at
most 2 seconds and 250 MB. (Before loops were fewer and smaller: 24 seconds and 489 MB, 1.3 seconds and 239
MB.)
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

LIMITS = {"cold": (10.0, 400.0), "warm": (2.0, 250.0)}

FLOOR = "import numba, numpy"
PROTECT = """
from tacit import Guard
page = {"url": "https://coffee.example/", "title": "Espresso", "snippet": "Grind the coffee beans"}
with Guard("me.profile") as guard:
    guard.confirm()
    for number in range(3):
        guard.clicked("coffee beans", page | {"url": f"https://coffee.example/{number}"})
    guard.mark("Astronomy")
    if not guard.protect("coffee beans").sent:
        raise SystemExit("nothing was sent, so not all of it was measured")
    guard.rerank("coffee beans", [page] * 10)
"""
REPORT = """
import resource
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def measure(code: str, folder: Path) -> tuple[float, float]:
    """Processor seconds and peak megabytes of a process that runs ``code``."""
    (folder / "me.profile").unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT],
        env={**os.environ, "TACIT_CACHE": str(folder / "cache")},
        cwd=folder,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    seconds, megabytes = map(float, done.stdout.split()[-2:])
    return seconds, megabytes


def main() -> None:
    """Measure, print, and fail where a limit is not kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measure(FLOOR, folder)
        rows = {
            "numba, numpy": measure(FLOOR, folder),
            "cold": measure(PROTECT, folder),
            "warm": measure(PROTECT, folder),
        }
    floor = rows["numba, numpy"]
    for name, (seconds, megabytes) in rows.items():
        ratios = f"{seconds / floor[0]:5.1f} and {megabytes / floor[1]:4.1f} times the floor"
        print(f"{name:<13} {seconds:6.2f} s of processor time {megabytes:6.0f} MB   {ratios}")
    over = [
        name for name, limits in LIMITS.items() if any(a > b for a, b in zip(rows[name], limits, strict=True))
    ]
    if over:
        sys.exit(f"over the limit: {', '.join(over)}")


if __name__ == "__main__":
    main()
