"""What the place where an exposed profile stops tells one who knows the algorithm.

The risk bound counts what can be guessed from the exposed topics. An adversary who knows the algorithm, the
public taxonomy and the query can also work out which topics the query is about, and see where the exposed
profile stops short of them. It may stop because something below is hidden, or because the profile knows
nothing more specific. Reported, over the test queries of a synthetic log at delta = 0.1 with five sensitive
topics a user: how often an exposed leaf stops short, and how often something is hidden below one that does.

Run: python benchmarks/stopping_place.py [--quick]
"""

from __future__ import annotations

import argparse

import numpy as np

from tacit.device import OnlineProfiler, wordnet_repository
from tacit.evaluate.cases import held_out_cases
from tacit.world.synth import SyntheticLog


def main() -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="12 users instead of 60")
    quick = parser.parse_args().quick
    repository = wordnet_repository()
    tree = repository.tree
    log = SyntheticLog(500 if quick else 3_000, seed=5)
    stops: list[bool] = []  # for each leaf that stops short: whether something is hidden below it
    leaves = 0
    for case in held_out_cases(repository, log.table(), log.truth(), 12 if quick else 60):
        found = OnlineProfiler(repository, case.profile, 0.1).profile_query(case.query)
        if found.generalisation is None or not found.personalised:
            continue
        result = found.generalisation
        parents = result.seed.node[np.maximum(result.seed.parent, 0)]
        with_hidden = set(parents[~result.kept].tolist())
        for leaf in result.leaves.tolist():
            leaves += 1
            if any(leaf < topic < tree.end[leaf] for topic in found.mapped.topics.tolist()):
                stops.append(leaf in with_hidden)
    print(f"{leaves:,} exposed leaves, {len(stops):,} stop short of what the query is about")
    print(f"of those, something is hidden below {sum(stops):,}: {np.mean(stops):.1%}")


if __name__ == "__main__":
    main()
