"""How fast a profile is generalised: GreedyIL against GreedyDP, and growth with the profile's size.

Claims: at about 100 topics GreedyIL is one to two orders of magnitude faster than GreedyDP as the paper
describes it (both compiled, in the same run), the more leaves the faster; its median at 108 topics is under
1 ms; its time grows near n log n up to 10,000 topics.

Profiles are random topics of WordNet with everything above them, and for comparison bushy random trees. A
star (all topics under one parent), where each prune changes the loss of every other leaf, is shown as the
worst case. The bound is delta = 0, as in the paper's scalability experiment, so that both algorithms prune
everything; greedy-ratio, the default, is timed at delta = 0.1 with ten sensitive topics.

Run: python benchmarks/generalise_speed.py [--quick]
"""

from __future__ import annotations

import argparse
import math
import statistics
import time

import numpy as np

from specimens.seed_profiles import random_seed_profile, taxonomy_seed_profile
from tacit.device.generalise.algorithms import Algorithm, generalise
from tacit.device.profile.user import SeedProfile
from tacit.taxonomy import load_wordnet

TREES = 40


def milliseconds(seeds: list[SeedProfile], delta: float, algorithm: Algorithm) -> float:
    """The median time of one generalisation, everything included."""
    generalise(seeds[0], delta, algorithm)
    taken = []
    for seed in seeds:
        begun = time.perf_counter()
        generalise(seed, delta, algorithm)
        taken.append((time.perf_counter() - begun) * 1000)
    return statistics.median(taken)


def main() -> None:
    """Print the comparison and the growth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer trees and sizes")
    quick = parser.parse_args().quick
    random = np.random.default_rng(108)
    tree = load_wordnet().tree
    print(f"{'topics':>12} {'greedy-dp ms':>13} {'greedy-il ms':>13} {'ratio':>7} {'greedy-ratio ms':>16}")
    for size in (20, 50, 108):
        trees = 10 if quick else TREES
        shapes = {
            "WordNet": [taxonomy_seed_profile(random, tree, size, 10) for _ in range(trees)],
            "bushy": [random_seed_profile(random, size, 10, climb=0.6) for _ in range(trees)],
        }
        for shape, seeds in shapes.items():
            slow = milliseconds(seeds, 0.0, Algorithm.GREEDY_DP)
            fast = milliseconds(seeds, 0.0, Algorithm.GREEDY_IL)
            default = milliseconds(seeds, 0.1, Algorithm.GREEDY_RATIO)
            print(f"{shape:>8}{size:>4} {slow:>13.3f} {fast:>13.4f} {slow / fast:>7.0f} {default:>16.4f}")
            if size == 108:
                print(f"greedy-il at 108 topics ({shape}): {fast:.4f} of the limit of 1 ms")
    print()
    print(f"{'topics':>7} {'greedy-il ms':>13} {'per n ln n':>11} {'greedy-ratio ms':>16} {'a star, ms':>11}")
    first = 0.0
    for size in (100, 1_000, 10_000) if quick else (100, 300, 1_000, 3_000, 10_000):
        seeds = [taxonomy_seed_profile(random, tree, size, 10) for _ in range(10)]
        star = random_seed_profile(random, size, 10, climb=1.0)
        taken = milliseconds(seeds, 0.0, Algorithm.GREEDY_IL)
        default = milliseconds(seeds, 0.1, Algorithm.GREEDY_RATIO)
        worst = milliseconds([star], 0.0, Algorithm.GREEDY_IL)
        unit = taken / (size * math.log(size))
        first = first or unit
        print(f"{size:>7} {taken:>13.3f} {unit / first:>11.2f} {default:>16.3f} {worst:>11.3f}")
    print("per n ln n: time divided by n ln n, relative to the first row; 1.00 is growth exactly as n ln n")


if __name__ == "__main__":
    main()
