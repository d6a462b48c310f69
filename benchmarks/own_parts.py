"""Parts that Tacit wrote itself although a library has them: each must be quicker, or it should go.

Processor time, the least of several runs: pairwise similarity against SciPy's sparse product,
Average Precision against ir-measures. All give the same results.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import ir_measures
import numpy as np
from scipy import sparse

from tacit.groups.similarity import UnitVectors, pairwise_similarity
from tacit.retrieval import average_precision


def seconds(work: Callable[[], object], runs: int = 3) -> float:
    found = []
    for _ in range(runs):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return min(found)


def profiles(random: np.random.Generator, users: int, terms: int, vocabulary: int = 30_000) -> UnitVectors:
    """Terms drawn by Zipf's law, as those of queries are."""
    chances = 1 / np.arange(1, vocabulary + 1)
    rows = [
        np.unique(random.choice(vocabulary, 2 * terms, p=chances / chances.sum()))[:terms]
        for _ in range(users)
    ]
    offsets = np.concatenate([[0], np.cumsum([row.size for row in rows])]).astype(np.int64)
    features = np.concatenate(rows).astype(np.int32)
    weights = random.random(features.size).astype(np.float32)
    return UnitVectors.of(sparse.csr_array((weights, features, offsets), shape=(users, vocabulary)))


def pairwise(random: np.random.Generator, users: int, terms: int) -> tuple[float, float]:
    vectors, rows = profiles(random, users, terms), np.arange(users)

    def by_scipy() -> np.ndarray:
        matrix = vectors.matrix()
        return (matrix @ matrix.T).toarray()

    assert np.allclose(by_scipy(), pairwise_similarity(vectors, rows), atol=1e-6)
    return seconds(lambda: pairwise_similarity(vectors, rows)), seconds(by_scipy)


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
        "pairwise similarity, 720 users of 150 terms, SciPy": pairwise(random, 720, 150),
        "pairwise similarity, 3,000 users of 150 terms, SciPy": pairwise(random, 3000, 150),
        "Average Precision of 3,000 rankings, ir-measures": precision(random),
    }.items():
        print(
            f"{name:<54} own {own * 1e3:8.1f} ms  library {library * 1e3:8.1f} ms  {library / own:5.1f} times"
        )


if __name__ == "__main__":
    main()
