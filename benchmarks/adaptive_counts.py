"""How far the counts of an adaptive release are off on a log, clipping and its correction included.

No claim: it prints what the page on the guarantee states. Of twenty releases, uncharged and not kept: how
many items are found, how many counts lie within 25% of the truth and within two of their stated deviations,
the median error, and the same for the half of the items whose holders have the fewest and the most found
items (of the errors the middle release).

    python benchmarks/adaptive_counts.py LOG --item keywords --epsilon 8 --delta 1e-4
    python benchmarks/adaptive_counts.py --synthetic 20000 --item queries
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from tacit.engines import open_engine
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.execution import find, take_tally
from tacit.release.mechanisms.adaptive import Adaptive, HeldItem
from tacit.release.schedule import AdaptiveRounds

RELEASES = 20


def holders_hold(starts: np.ndarray, items: np.ndarray, kinds: int, found: np.ndarray) -> np.ndarray:
    """The mean number of found items that an item's holders have."""
    mine = np.zeros(kinds, dtype=bool)
    mine[found] = True
    user = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    each = np.bincount(user[mine[items]], minlength=starts.size - 1)
    total = np.bincount(items, weights=each[user], minlength=kinds)
    return total[found] / np.maximum(1, np.bincount(items, minlength=kinds)[found])


def measure(log: Path, item: HeldItem, epsilon: float, delta: float) -> str:
    made = Adaptive(epsilon=epsilon, delta=delta, items=(item,)).plan()
    schedule = made.schedule.selection
    assert isinstance(schedule, AdaptiveRounds)
    tally = schedule.tally
    assert tally is not None
    with open_engine() as engine:
        holdings = made.count(engine, engine.log(log))["held"].holdings
    truth = np.bincount(holdings.items, minlength=holdings.kinds)
    figures = []
    for _ in range(RELEASES):
        found = find(schedule, holdings, OperatingSystemRandomness())
        counted = take_tally(tally, holdings, found, OperatingSystemRandomness())
        true = truth[found.items]
        error = counted.counts / true - 1
        heavy = holders_hold(holdings.starts, holdings.items, holdings.kinds, found.items)
        light = heavy <= np.median(heavy)
        near = np.abs(counted.counts - true) <= 2 * counted.deviations
        parts = [np.median(error[chosen]) if chosen.any() else 0.0 for chosen in (error > -9, light, ~light)]
        figures.append([found.items.size, np.mean(np.abs(error) <= 0.25), np.mean(near), *parts])
    size, close, near_share = np.mean(figures, axis=0)[:3]
    errors = np.median(figures, axis=0)[3:]  # on a small log one release in twenty may be far off
    users = holdings.starts.size - 1
    said = " | ".join(f"{100 * error:+.0f}%" for error in errors)
    return f"| {users:,} | {item} | {epsilon:g} | {size:,.0f} | {close:.0%} | {near_share:.0%} | {said} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("log", type=Path, nargs="?", help="a log as `tacit import` writes it")
    parser.add_argument("--synthetic", type=int, metavar="USERS", help="a synthetic log instead")
    parser.add_argument("--item", type=HeldItem, action="append")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    options = parser.parse_args()
    if (options.log is None) == (options.synthetic is None):
        parser.error("give a log, or --synthetic")
    print("| users | items | ε | found | within 25% | within two deviations | median error | light | heavy |")
    print("|---:|---|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        log = options.log or Path(folder) / "log.parquet"
        if options.synthetic:
            from tacit.world.synth import SyntheticLog

            SyntheticLog(options.synthetic, seed=3).write(log)
        for item in options.item or [HeldItem.QUERIES]:
            print(measure(log, item, options.epsilon, options.delta), flush=True)


if __name__ == "__main__":
    main()
