"""Whether two sets of draws of one mechanism are called different (they are not).

Claims: of 200 pairs, each of two evaluations of the same release that differ in the draws of noise alone,
at most 5% are told apart at the 5% level. A test of units alone on one draw each tells
most of them apart, since a draw moves all units of a fold at once.

    python benchmarks/evaluate_same.py                 # a log of 200 people, two folds, three draws a side
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from scipy import stats

from tacit.evaluate.data import ReleasedData
from tacit.evaluate.sweep import ReleaseSetting
from tacit.evaluate.sweep.measurements import estimate
from tacit.evaluate.sweep.parts import spill
from tacit.evaluate.task import Trial
from tacit.evaluate.tasks import task_class
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.engines import open_engine
from tacit.searchlog.sessions import BY_PAUSES
from tacit.world.synth import SyntheticLog

PAIRS, DRAWS, FOLDS = 200, 3, 2
POOL = 60
"""Releases that are made of each fold; a pair takes six of them at random."""
TASKS = ("index-caching", "session-search", "suggestion")
ITEMS = ("keywords", "queries", "clicks", "pairs")


def draw(
    log: Path, fold: int, draws: int, epsilon: float
) -> tuple[dict[str, list[np.ndarray]], dict[str, Trial]]:
    """Headline values of so many releases of one fold, by task, and the trials."""
    setting = ReleaseSetting("zealous", {"epsilon": epsilon, "delta": 1e-6, "items": ITEMS})
    with open_engine() as engine:
        original, test = spill(log, (None, None), (fold, FOLDS, 0), BY_PAUSES, engine)
        trials = {name: task_class(name)().against(original, test) for name in TASKS}
        mechanism = setting.make()
        counted = mechanism.count(engine, engine.keep(original.log()))
        values: dict[str, list[np.ndarray]] = {name: [] for name in TASKS}
        for _ in range(draws):
            tables = mechanism.publish(engine, counted, OperatingSystemRandomness())
            released = ReleasedData.from_tables(tables.values())
            for name, trial in trials.items():
                values[name].append(trial.measure(released)[task_class(name).headline].values)
        return values, trials


def main() -> None:
    """Draw for all pairs, and count how many are told apart."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--epsilon", type=float, default=8.0)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.parquet"
        SyntheticLog(options.users, seed=1).write(log)
        folds = [draw(log, fold, POOL, options.epsilon) for fold in range(FOLDS)]
    random = np.random.default_rng(1)
    for name in TASKS:
        owners = {fold: np.asarray(trials[name].owners) for fold, (_, trials) in enumerate(folds)}  # type: ignore[attr-defined]
        apart, ignorant, moved = 0, 0, 0
        for _ in range(options.pairs):
            taken = [random.permutation(POOL)[: 2 * DRAWS] for _ in range(FOLDS)]
            sides = [
                {
                    fold: np.nan_to_num(np.stack([values[name][n] for n in taken[fold][side : side + DRAWS]]))
                    for fold, (values, _) in enumerate(folds)
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
