"""Whether two sets of draws of one mechanism are called different (they are not).

Claims: of 200 pairs, each of two evaluations of the same release that differ in the draws of noise alone,
at most 5% are told apart at the 5% level. A test of units alone on one draw each tells
most of them apart, since a draw moves all units of a fold at once. The sweep itself makes the runs; a pair
takes three draws of each fold a side, at random.

    python benchmarks/evaluate_same.py                              # a log of 600 people
    python benchmarks/evaluate_same.py --log excite.parquet --epsilon 16
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from scipy import stats

from tacit.evaluate.sweep import NOTHING, SweepPlan, grid, run_sweep
from tacit.evaluate.sweep.measurements import estimate
from tacit.evaluate.tasks import task_class
from tacit.world.synth import SyntheticLog

DRAWS, FOLDS, POOL = 3, 2, 60
TASKS = ("index-caching", "session-search", "suggestion")


def main() -> None:
    """Draw for all pairs, and count how many are told apart."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--users", type=int, default=600)
    parser.add_argument("--mechanism", default="adaptive")
    parser.add_argument("--epsilon", type=float, default=4.0)
    parser.add_argument("--pairs", type=int, default=200)
    options = parser.parse_args()
    settings = grid([options.mechanism], [options.epsilon])
    tried = (settings[0], settings[2])
    with tempfile.TemporaryDirectory() as folder:
        log = options.log or Path(folder) / "log.parquet"
        if options.log is None:
            SyntheticLog(options.users, seed=1).write(log)
        run_sweep(log, Path(folder) / "sweep", SweepPlan(tried, TASKS, FOLDS, POOL))
        runs = {
            (setting.key, fold, draw): dict(
                np.load(Path(folder) / "sweep/runs" / f"{setting.key}-{fold}-{draw}.npz")
            )
            for setting in tried
            for fold in range(FOLDS)
            for draw in range(1 if setting == NOTHING else POOL)
        }
    random = np.random.default_rng(1)
    for name in TASKS:
        measure = f"{name}/{task_class(name).headline}"
        owners = {fold: runs[NOTHING.key, fold, 0][f"owners of {name}"] for fold in range(FOLDS)}
        apart = ignorant = moved = 0
        for _ in range(options.pairs):
            taken = [random.permutation(POOL)[: 2 * DRAWS] for _ in range(FOLDS)]
            sides = [
                {
                    fold: np.nan_to_num(
                        np.stack(
                            [runs[tried[1].key, fold, n][measure] for n in taken[fold][side : side + DRAWS]]
                        )
                    )
                    for fold in range(FOLDS)
                }
                for side in (0, DRAWS)
            ]
            apart += estimate(sides[0], owners, sides[1]).p < 0.05
            once = [np.concatenate([side[fold][0] for fold in range(FOLDS)]) for side in sides]
            different = bool(np.any(once[0] != once[1]))
            moved += different
            ignorant += different and stats.ttest_rel(*once).pvalue < 0.05
        print(
            f"{name}: {apart} of {options.pairs} told apart ({apart / options.pairs:.1%}, claimed: 5%); "
            f"by units alone, one draw each, {ignorant} of the {moved} that differ"
        )


if __name__ == "__main__":
    main()
