"""The best rule for the last round of adaptive, beside the Gaussian noise that is drawn there.

A last round needs no number of an item, only yes or no. The best such rule under the privacy of Gaussian
noise (after Harrison and Manurangsi, arXiv 2603.09167, with trade-offs in the place of Rényi divergences, so
that it is accounted as tightly as the other rounds): the chance s(h) of an item of weight h is 0 at h = 0,
and grows from one user of weight w to the next by as much as a mechanism of μ·w and the user's part of δ
allow. It is tried on the last rounds of real runs: alone, in the place of the round's noise; and, to estimate
what a rule over the numbers of all rounds could give, by the threshold that it would have with all their
budget, for users who give each of k₀ items alike.

    python benchmarks/last_round.py            # the log of adaptive_selection.py, 5 million records
    python benchmarks/last_round.py --quick    # 200,000 records
"""

from __future__ import annotations

import argparse
import math
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from adaptive_selection import write_log
from tacit import Adaptive
from tacit.engines import memory_for, open_engine
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release import execution
from tacit.release.mechanisms.adaptive import HeldItem
from tacit.release.mechanisms.adaptive_holdings import read_held
from tacit.release.preparation import Preparation
from tacit.release.rounds_analysis import appearance
from tacit.release.schedule import ONE, AdaptiveRounds

Numbers = NDArray[np.float64]


def rule(mu: float, delta: float, held: int) -> tuple[Numbers, Numbers]:
    """Weights and the largest chances there may be at them, for users who give each of k₀ items alike.

    A user's items have parts of δ that add up: of w² for the weight w, and of 1/k₀ each.
    """
    weight = 1 / math.sqrt(held)
    part, chances = delta / 2 * (weight**2 + 1 / held), [0.0]
    while chances[-1] < 1 - 1e-6:
        before = chances[-1]
        grown = part + (ndtr(ndtri(before) + mu * weight) if before else 0.0)
        rest = 1 - before - part
        chances.append(min(grown, 1 - ndtr(ndtri(rest) - mu * weight)) if rest > 0 else 1.0)
    return np.arange(len(chances)) * weight, np.array(chances)


class LastRound:
    """What a run of the rounds came to: true weights, and standings, of what its last round looked at."""

    def __init__(self, schedule: AdaptiveRounds, log: Path) -> None:
        with open_engine(memory=memory_for(log)) as engine:
            prepared = Preparation().apply(engine.log(log))
            self.holdings = read_held(engine, prepared, (HeldItem.QUERIES,)).holdings
        self.schedule, self.before, self.weights, self.standing = schedule, 0, np.zeros(0), np.zeros(0)

    def run(self) -> None:
        """Carry out the rounds, and look."""
        usual, total = execution.stand, execution.with_noise
        self.before = 0

        def seen(numbers: execution.Whole, noise: execution.Whole) -> execution.Whole:
            self.weights = numbers / ONE
            return total(numbers, noise)

        def stood(schedule: AdaptiveRounds, number: int, *given: execution.Whole) -> object:
            self.standing, reached, _ = found = usual(schedule, number, *given)
            self.before += int(reached.sum()) if number < len(schedule.rounds) else 0
            return found

        with mock.patch.multiple(execution, with_noise=seen, stand=stood):
            execution.find(self.schedule, self.holdings, OperatingSystemRandomness())


def main() -> None:
    """Run, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--log", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    schedule = Adaptive(epsilon=1, delta=1e-6).plan().schedule.selection
    assert isinstance(schedule, AdaptiveRounds)
    last, unit = schedule.rounds[-1], ONE * sum(step.coefficient for step in schedule.rounds)
    disclosed = schedule.held * float(appearance(schedule, len(schedule.rounds)))
    alone = rule(ONE / last.sigma, disclosed, schedule.held)
    whole = unit / math.sqrt(sum((step.coefficient * step.sigma) ** 2 for step in schedule.rounds))
    together = float(np.interp(0.5, *rule(whole, disclosed, schedule.held)[::-1]))
    print(
        f"users for an even chance: {last.threshold / unit:.1f} of Gaussian standings over all rounds, "
        f"{np.interp(0.5, *alone[::-1]):.1f} of the rule in the last round alone, {together:.1f} of one with "
        "the budget of all rounds"
    )
    with tempfile.TemporaryDirectory() as folder:
        log = options.log or Path(folder) / "log.parquet"
        if options.log is None:
            write_log(log, 200_000 if options.quick else 5_000_000, 2)
        drawn = LastRound(schedule, log)
        for _ in range(options.runs):
            drawn.run()
            found, bound = (
                int((drawn.standing >= least).sum()) for least in (last.threshold, together * unit)
            )
            print(
                f"found before {drawn.before:,}; in the last round {found:,}, by the rule alone "
                f"{np.interp(drawn.weights, *alone).sum():,.0f}, with the lower threshold {bound:,} "
                f"({(bound - found) / (drawn.before + found):+.1%} of all)"
            )


if __name__ == "__main__":
    main()
