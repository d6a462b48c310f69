"""What an exposure costs as the ledger grows, and looking at all of it: at 1,000 and at 100,000 entries.

python benchmarks/exposure_ledger.py
"""

from __future__ import annotations

import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from tacit.device import ExposureBound, ExposureLedger, ProfileStore, generalise
from tacit.device.generalise.mapping import seed_of_leaves
from tacit.device.profile.user import UserProfile
from tacit.device.sending.exposure import exposure_courses
from tacit.taxonomy import load_wordnet

SMALL, LARGE, MEASURED = 1_000, 100_000, 300


def main() -> None:
    """Fill two ledgers and time further exposures in turns."""
    tree = load_wordnet().tree
    prior = tree.support / tree.support[0]
    random = np.random.default_rng(0)
    leaves = random.choice(tree.leaves(), 400, replace=False)
    sensitivity = {int(leaf): 1.0 for leaf in leaves[:50]}
    bound = ExposureBound(0.9)
    with tempfile.TemporaryDirectory() as folder:
        stores = {
            size: ProfileStore.create(Path(folder) / f"{size}.profile", tree) for size in (SMALL, LARGE)
        }
        for size, store in stores.items():
            for topic, value in sensitivity.items():
                store.protect(topic, value)
            fill(store, size, leaves.tolist())
        profile = UserProfile(tree, {}, sensitivity, everywhere=True)
        seeds = [
            seed_of_leaves(profile, prior, np.array([leaf], np.int32), np.ones(1), 0.0)
            for leaf in leaves[50:90]
        ]
        proposed = [generalise(seed, 0.1) for seed in seeds]
        taken: dict[int, list[float]] = {SMALL: [], LARGE: []}
        for number in range(MEASURED):
            for size, store in stores.items():
                begun = time.process_time()
                ExposureLedger(store).admit("engine", "q", proposed[number % 40], profile, bound)
                taken[size].append(1000 * (time.process_time() - begun))
        small, large = (statistics.median(taken[size][20:]) for size in (SMALL, LARGE))
        print(f"an exposure at {SMALL:,} entries: {small:.2f} ms; at {LARGE:,}: {large:.2f} ms; "
              f"ratio {large / small:.2f} (at most 1.5)")  # fmt: skip
        for size, store in stores.items():
            begun = time.process_time()
            exposure_courses(store, None, 300)
            summed = 1000 * (time.process_time() - begun)
            begun = time.process_time()
            ExposureLedger(store).history()
            read = 1000 * (time.process_time() - begun)
            print(f"a picture of {size:,} entries: {summed:.0f} ms; reading every entry: {read:.0f} ms; "
                  f"ratio {summed / read:.2f}")  # fmt: skip
            store.close()


def fill(store: ProfileStore, entries: int, leaves: list[int]) -> None:
    """Write entries as exposures would have, in one transaction."""
    tree = store.tree
    paths = [[tree.label(t) for t in [*tree.ancestors(leaf), leaf]] for leaf in leaves[50:]]
    start = datetime(2020, 1, 1, tzinfo=UTC)
    with store.transaction() as connection:
        for number in range(1, entries + 1):
            moment = (start + timedelta(minutes=number)).isoformat(timespec="microseconds")
            connection.execute(
                "INSERT INTO exposure VALUES (?, 'engine', ?, 'q', 0.1, 0.0, 0.0)", (number, moment)
            )
            connection.executemany(
                "INSERT INTO exposed VALUES (?, ?)", [(number, label) for label in paths[number % len(paths)]]
            )
        store.sum_up_told()


if __name__ == "__main__":
    main()
