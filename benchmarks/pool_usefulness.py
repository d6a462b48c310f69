"""What a region is still good for, and how long one waits for it.

Claims, at the paper's traffic (50 arrivals a unit of time, stays of 50; records from Adult):

- search results that depend on age, country and occupation keep a good part of what knowing the exact record
  gains over knowing nothing of the person (`tacit.evaluate.guards.pool`), less with a larger k;
- almost every newcomer's first query goes out at once, down to a few arrivals a unit of time.

Run: ``python benchmarks/pool_usefulness.py [--quick]``.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from tacit.evaluate.guards.pool import topic_kinds, usefulness
from tacit.pool.protocol.population import adult
from tacit.pool.simulation.traffic import SimulationSetting, simulate
from tacit.world import wordnet_corpus, wordnet_engine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="fewer windows and settings")
    chosen = parser.parse_args()
    base = SimulationSetting(windows=2 if chosen.quick else 6)
    engine, kinds = wordnet_engine(), topic_kinds(wordnet_corpus().tree)
    print("mean Average Precision for held-out people; kept: share of the gain of d over d* that d' keeps")
    print(f"{'k':>4} {'w':>5} {'d':>7} {'region':>8} {'d*':>7} {'nothing':>8} {'kept':>6}")
    settings = [(5, 50), (10, 50), (30, 50), (60, 50), (30, 25), (30, 100), (30, 200)]
    for k, window in settings[2:3] if chosen.quick else settings:
        row = usefulness(
            replace(base, k=k, window=float(window), every=None, patience=None), adult(), engine, kinds
        )
        print(
            f"{k:>4} {window:>5} {row['d']:>7.3f} {row['region']:>8.3f} {row['d*']:>7.3f} "
            f"{row['nothing']:>8.3f} {row['kept']:>6.1%}",
            flush=True,
        )
    print(
        "\nnewcomers by arrivals a unit of time (k = 30, w = 50): answered at once, wait of the others, never"
    )
    for rate in (0.5, 1.0, 2.0, 3.0, 10.0, 50.0):
        one = simulate(replace(base, arrivals=rate, windows=base.windows if rate > 5 else 60), adult())
        shares = f"{one.guarded_at_once:>8.2%} {one.wait:>8.1f} units {one.never_guarded:>8.2%}"
        print(f"{rate:>6g} {shares}", flush=True)


if __name__ == "__main__":
    main()
