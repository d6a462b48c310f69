"""A service on cohorts: what a look-up, a ranking, a newcomer and a generation take, against a floor.

The floor of a ranking is the cutting of its results into words; that of a newcomer is one SQLite transaction.

Run: ``python benchmarks/groups_service.py [--users 20000]``
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tacit.groups.cohort_service import CohortGroups
from tacit.groups.cohorts import load_cohorts
from tacit.groups.profiles import Profiles
from tacit.groups.store import FILE, CohortStore
from tacit.groups.words import Generation
from tacit.privacy.noise.randomness import OperatingSystemRandomness


def seconds(run: Callable[[], object], times: int = 1) -> float:
    """Processor time of one run."""
    begin = time.process_time()
    for _ in range(times):
        run()
    return (time.process_time() - begin) / times


def main() -> None:
    """Print ratios."""
    options = argparse.ArgumentParser()
    options.add_argument("--users", type=int, default=20_000)
    asked = options.parse_args()
    cohorts, draw = load_cohorts(), random.Random(1)
    nouns = [cohorts.table.words[number] for number in cohorts.domain[:5000]]
    texts = [" ".join(draw.sample(nouns, 3)) for _ in range(asked.users)]
    people = Profiles.from_mappings(
        {str(n): dict.fromkeys(draw.sample(texts, 15), 1.0) for n in range(asked.users)}
    )
    placing = seconds(lambda: cohorts.people(people, bytes(32)))
    standing = cohorts.people(people, bytes(32))
    settings = {"kind": "cohorts", "key": "00" * 32, "words": {}, "strength": 2.0, "generations": 0}
    settings |= {"generation": {"epsilon": 2.0, "delta": 1e-6, "vote_epsilon": None}, "ledger": None}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "operator").mkdir()
        with CohortStore.create(Path(folder) / "operator" / FILE, settings) as store, store.transaction():
            store.add(zip(people.users, standing, strict=True))
        results = [{"title": draw.choice(texts), "snippet": draw.choice(texts)} for _ in range(20)]
        with CohortGroups(Path(folder)) as groups:
            lookup = seconds(lambda: groups.place("17"), 300)
            floor = seconds(lambda: [cohorts.table.bag(f"{r['title']} {r['snippet']}") for r in results], 100)
            ranking = seconds(lambda: groups.rerank("17", results, "java"), 100)
        size = (Path(folder) / "operator" / FILE).stat().st_size
    generation = Generation(2.0)
    drawing = seconds(
        lambda: generation.words((each.keys for each in standing), cohorts, OperatingSystemRandomness())
    )
    print(f"{asked.users:,} people placed: {placing / asked.users * 1e6:.0f} microseconds each")
    print(f"a look-up: {lookup * 1e6:.0f} microseconds")
    print(f"20 results ranked: {ranking / floor:.1f} times the cutting into words")
    print(f"a generation: {drawing / placing:.2f} times the placing; {size / asked.users:.0f} bytes a person")


if __name__ == "__main__":
    main()
