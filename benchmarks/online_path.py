"""The whole online path (mapping, decision, generalisation) on WordNet against a bare index look-up.

Claims: under 10 ms at the median, and at most twice the bare look-up of the same queries with the same number
of hits, measured in the same run, alternating. The profile has 2,000 documents on 600 topics with 8 sensitive
ones; the queries are nouns and noun phrases of WordNet. Queries that the online decision sends out alone are
counted in "all"; "personalised" are those that went through the whole path.

Run: python benchmarks/online_path.py [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from tacit.device import OnlineProfiler, UserProfile, wordnet_repository


def random_profile(random: np.random.Generator) -> UserProfile:
    """Documents on 600 topics in 12 fields of interest, 8 of the topics sensitive."""
    tree = wordnet_repository().tree
    size = tree.end - np.arange(len(tree))
    fields = random.choice(np.flatnonzero((size >= 60) & (size <= 600)), 12, replace=False)
    documents: dict[int, float] = {}
    while len(documents) < 600:
        field = int(random.choice(fields))
        documents[int(random.integers(field, tree.end[field]))] = float(random.integers(1, 7))
    sensitivity: dict[int, float] = {}
    for topic in random.permutation(list(documents)).tolist():
        if len(sensitivity) == 8:
            break
        if not any(tree.is_ancestor(topic, s) or tree.is_ancestor(s, topic) for s in sensitivity):
            sensitivity[topic] = 1.0
    return UserProfile(tree, documents, sensitivity)


def main() -> None:
    """Print medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="500 queries instead of 5,000")
    count = 500 if parser.parse_args().quick else 5_000
    repository = wordnet_repository()
    random = np.random.default_rng(7)
    vocabulary = repository.corpus.wordnet.vocabulary  # type: ignore[attr-defined]
    queries = [vocabulary[place] for place in random.integers(0, len(vocabulary), count)]
    profiler = OnlineProfiler(repository, random_profile(random), delta=0.1)
    for query in queries[:50]:
        profiler.profile_query(query)
    rows: dict[str, list[tuple[float, float]]] = {"all": [], "personalised": []}
    sizes = []
    for query in queries:
        begun = time.perf_counter_ns()
        repository.engine.search(query, profiler.retrieved)
        middle = time.perf_counter_ns()
        result = profiler.profile_query(query)
        pair = ((middle - begun) / 1e6, (time.perf_counter_ns() - middle) / 1e6)
        rows["all"].append(pair)
        if result.personalised and result.generalisation is not None:
            rows["personalised"].append(pair)
            sizes.append(len(result.generalisation.seed))
    print(f"{'queries':>14} {'number':>7} {'look-up ms':>11} {'online path ms':>15} {'ratio':>6}")
    for name, pairs in rows.items():
        bare, whole = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(f"{name:>14} {len(pairs):>7,} {bare:>11.4f} {whole:>15.4f} {whole / bare:>6.2f}")
    print(f"median seed profile: {statistics.median(sizes):.0f} topics; limits: 10 ms, ratio 2")


if __name__ == "__main__":
    main()
