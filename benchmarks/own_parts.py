"""Parts that Tacit wrote itself although a library has them: each must be quicker, or it should go.

Processor time, the least of several runs: Average Precision against ir-measures. Both give the same results.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import ir_measures
import numpy as np

from tacit.retrieval import average_precision


def seconds(work: Callable[[], object], runs: int = 3) -> float:
    found = []
    for _ in range(runs):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return min(found)


def precision(random: np.random.Generator, rankings: int = 3000) -> tuple[float, float]:
    cases = [
        (random.permutation(20).tolist(), set(random.choice(20, 5, False).tolist())) for _ in range(rankings)
    ]

    def own() -> float:
        return sum(average_precision(order, relevant) for order, relevant in cases) / rankings

    def by_ir_measures() -> float:
        judged = [
            ir_measures.Qrel(str(q), str(d), 1) for q, (_, relevant) in enumerate(cases) for d in relevant
        ]
        ranked = [
            ir_measures.ScoredDoc(str(q), str(d), -rank)
            for q, (order, _) in enumerate(cases)
            for rank, d in enumerate(order)
        ]
        return float(ir_measures.calc_aggregate([ir_measures.AP], judged, ranked)[ir_measures.AP])

    assert abs(own() - by_ir_measures()) < 1e-9
    return seconds(own), seconds(by_ir_measures)


def main() -> None:
    random = np.random.default_rng(1)
    for name, (own, library) in {
        "Average Precision of 3,000 rankings, ir-measures": precision(random),
    }.items():
        print(
            f"{name:<54} own {own * 1e3:8.1f} ms  library {library * 1e3:8.1f} ms  {library / own:5.1f} times"
        )


if __name__ == "__main__":
    main()
