"""Rule S among people, networks and clocks that misbehave: how many of a million logged queries are breached.

Claims, judged by brute force that knows neither tree nor tokens:

- no logged query fails Definition 2;
- none went out under a region in which fewer than k people asked within the window (condition 2);
- none was sent after its client had gone;
- each batch names k people who asked from inside its region within the window, as the proof needs.

Run: ``python benchmarks/pool_chaos.py [--entries 1000000] [--first 1000]``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.pool_chaos import Chaos, World, judge

QUERIES = 2_000
"""In each world."""


def run(entries: int, first: int) -> None:
    """Run worlds until so many entries were logged, and print what was found in them."""
    logged = breaches = few = gone = unproved = worlds = 0
    while logged < entries:
        chaos = Chaos(World.draw(first + worlds), QUERIES)
        verdict = judge(chaos.run(), chaos.world.k, chaos.world.window)
        worlds += 1
        logged += verdict.entries
        breaches += verdict.breaches
        few += verdict.few
        gone += chaos.sent_for_nobody
        unproved += chaos.unproved
        if worlds % 50 == 0:
            print(
                f"  {worlds:,} worlds, {logged:,} entries, {breaches:,} breached", file=sys.stderr, flush=True
            )
    print(
        f"{worlds:,} worlds, {logged:,} logged queries: {breaches:,} fail Definition 2, {few:,} condition 2; "
        f"{gone:,} were sent for nobody; {unproved:,} batches could not be proved",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--entries", type=int, default=1_000_000, help="how many entries to judge")
    parser.add_argument("--first", type=int, default=1_000, help="the seed of the first world")
    chosen = parser.parse_args()
    run(chosen.entries, chosen.first)


if __name__ == "__main__":
    main()
