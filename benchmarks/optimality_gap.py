"""How far the greedy algorithms stay behind the exact optimum, as a table in Markdown.

Claim: greedy-ratio (cut where least information is lost per unit of risk) closes most of the gap that the
paper's GreedyIL and GreedyDP leave. The gap of a case is the share of the optimum's discriminating power that
an algorithm misses. Only cases where the bound binds are counted: the whole seed profile exceeds delta, the
root alone does not.

Cases: random trees of 20 to 108 topics, and seed profiles over WordNet of the same sizes, with 1 to 12
sensitive topics and delta from 0.02 to 0.4.

Run: python benchmarks/optimality_gap.py [--quick]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np

from specimens.optimum import optimal
from specimens.seed_profiles import random_seed_profile, taxonomy_seed_profile
from tacit.device.generalise.algorithms import Algorithm, evaluate, generalise
from tacit.device.profile.user import SeedProfile
from tacit.taxonomy import load_wordnet

GREEDY = (Algorithm.GREEDY_DP, Algorithm.GREEDY_IL, Algorithm.GREEDY_RATIO)
DELTAS = (0.02, 0.05, 0.1, 0.2, 0.4)


def binding_cases(
    make: Callable[[np.random.Generator, int, int], SeedProfile], count: int, number: int
) -> Iterator[tuple[SeedProfile, float]]:
    """Seed profiles with a bound that asks for something and can be met."""
    random = np.random.default_rng(number)
    while count:
        seed = make(random, int(random.integers(20, 109)), int(random.integers(1, 13)))
        delta = float(random.choice(DELTAS))
        root = np.zeros(len(seed), np.bool_)
        root[0] = True
        if evaluate(seed, root).risk <= delta < evaluate(seed).risk:
            count -= 1
            yield seed, delta


def main() -> None:
    """Print one table for each source of cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="200 cases instead of 3,000")
    count = 200 if parser.parse_args().quick else 3_000
    tree = load_wordnet().tree
    sources: dict[str, Callable[[np.random.Generator, int, int], SeedProfile]] = {
        "random trees": lambda random, size, sensitive: random_seed_profile(
            random, size, sensitive, climb=float(random.choice([0.2, 0.5, 0.8, 0.95]))
        ),
        "WordNet profiles": lambda random, size, sensitive: taxonomy_seed_profile(
            random, tree, size, sensitive
        ),
    }
    print("| cases | algorithm | optimal in | mean gap | 95th percentile | worst | only the root left |")
    print("|---|---|---|---|---|---|---|")
    for name, make in sources.items():
        gaps: dict[Algorithm, list[float]] = {algorithm: [] for algorithm in GREEDY}
        bare = dict.fromkeys(GREEDY, 0)
        bare_optimum = 0
        for seed, delta in binding_cases(make, count, number=2013):
            best = optimal(seed, delta)[0]
            power = evaluate(seed, best).power
            bare_optimum += not best[1:].any()
            for algorithm in GREEDY:
                found = generalise(seed, delta, algorithm)
                gaps[algorithm].append(1 - found.power / power if power > 0 else 0.0)
                bare[algorithm] += not found.kept[1:].any()
        for algorithm in GREEDY:
            values = np.array(gaps[algorithm])
            print(
                f"| {count:,} {name} | {algorithm} | {np.mean(values < 1e-9):.1%} | {values.mean():.2%} "
                f"| {np.quantile(values, 0.95):.1%} | {values.max():.1%} | {bare[algorithm] / count:.1%} |"
            )
        print(f"| {count:,} {name} | optimal | 100.0% | 0.00% | 0.0% | 0.0% | {bare_optimum / count:.1%} |")


if __name__ == "__main__":
    main()
