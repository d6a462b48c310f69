"""What made-up people (Sybils) take from a target: how many real people share the target's region.

Claims, on records drawn from Adult, 3,745 people online, k = 30:

- with m made-up people at the target's own record, at least k - m real people share the region, the target
  among them; from m = k on, the target may be alone;
- the default forms cells of at least ``headroom(k)`` people, so a fresh region keeps more than that: at least
  headroom(k) - m.

Run: ``python benchmarks/pool_sybils.py [--targets 200]``.
"""

from __future__ import annotations

import argparse

import numpy as np

from tacit.pool.server.partition import headroom, partition
from tacit.pool.simulation.population import adult

K, PEOPLE = 30, 3_745


def real_companions(made_up: int, targets: int, least: int) -> list[int]:
    """For each target the real people in its cell, itself included."""
    population, random = adult(), np.random.default_rng(1)
    found = []
    for _ in range(targets):
        people = population.draw(PEOPLE, random)
        records = np.concatenate([people, np.repeat(people[:1], made_up, axis=0)])
        cells = partition(records, population.template, K, least=least)
        found.append(int((cells.cell_of[:PEOPLE] == cells.cell_of[0]).sum()))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--targets", type=int, default=200, help="how many targets, each in a crowd of its own"
    )
    targets = parser.parse_args().targets
    print(f"real people in the target's region, of {PEOPLE:,} online; k = {K}, {targets} targets")
    print(f"{'made up':>8}  {'fewest':>7} {'median':>7} {'below k':>8}   {'fewest without headroom':>24}")
    for made_up in (0, 5, 10, 15, 20, 29, 43, 60):
        found = real_companions(made_up, targets, headroom(K))
        bare = real_companions(made_up, targets, K)
        below = sum(each < K for each in found) / targets
        print(
            f"{made_up:>8}  {min(found):>7} {int(np.median(found)):>7} {below:>8.0%}   {min(bare):>24}",
            flush=True,
        )


if __name__ == "__main__":
    main()
