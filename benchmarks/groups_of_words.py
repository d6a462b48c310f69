"""Groups of words, the paper's four experiments under both criteria (paper 001, section 4, figures 2 to 6).

1. benefit: ranking by group profiles (p = 0.4, a = 1) against no personalisation;
2. semantics: augmentation a in 0..3 at p = 0.4;
3. privacy: p in 0.1..0.4 at a = 1, with the mean size of groups;
4. actual linkability against p: n_t / n, and what attackers believe.

A user's query goes to the embedded engine. Its results are reranked by the cosine between a result and an
interest profile; words of the query do not count, since all results have them. The ranking by the user's
**own** profile is the gold standard: its first 30 results are relevant. Average Precision then says how
near the ranking by the **group's** profile comes, and how near the engine's own ranking (no
personalisation).

A result is described by the words of its title and text and of its topic's names up to three steps above:
WordNet's glosses alone are too short to meet a profile. Queries are terms of the user for which the own
profile scores more than 30 of the engine's 500 first results; with fewer, the gold standard would be filled
up in the engine's order, and no personalisation would look good by definition.

Claims: groups rank better than no personalisation, the paper's better than strict ones; a smaller p costs
precision; under the strict criterion no n_t / n is above p.

Run: ``python benchmarks/groups_of_words.py [--users 720] [--terms 150] [--queries 2]``
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import InputError
from tacit.evaluate.results import Figure, Results, columns, flat
from tacit.groups import Bundler, Bundling, Profiles
from tacit.groups.criterion import CRITERIA
from tacit.groups.report import report
from tacit.retrieval import Corpus, SearchEngine, average_precision
from tacit.taxonomy import load_wordnet
from tacit.text import STOP_WORDS, words
from tacit.world import wordnet_corpus, wordnet_engine

RELEVANT = 30
"""How many results of the gold standard count as relevant."""
_CANDIDATES = 500
_TOPIC_STEPS = 3
_LARGEST_TOPIC, _SMALLEST_TOPIC = 600, 60
_TOPICS_A_USER, _ON_TOPIC = 4, 0.75

Weights = sparse.csr_array
"""Profiles to rank by: users by the terms of the task's vocabulary."""


@dataclass(frozen=True)
class Precision:
    """Mean over queries, against the gold standard.

    Attributes:
        average_precision: AP over all results ranked.
        standard_error: of that mean, taking queries as independent.
        precision_at_10: the share of relevant results among the first ten.
    """

    average_precision: float
    standard_error: float
    precision_at_10: float


class _Query(NamedTuple):
    user: int
    term: int


def _dense(weights: Weights, user: int) -> NDArray[np.float64]:
    return np.asarray(weights[[user]].toarray()[0], np.float64)


class SearchTask:
    """Queries of users, with results to be ranked again.

    Args:
        profiles: the users and their own profiles.
        corpus, engine: what is searched.
        queries_a_user: how many queries to draw from each user's own terms, at most.
    """

    def __init__(
        self, profiles: Profiles, corpus: Corpus, engine: SearchEngine, queries_a_user: int = 2, seed: int = 0
    ) -> None:
        self.profiles = profiles
        self._corpus, self._engine = corpus, engine
        self._column = {term: index for index, term in enumerate(profiles.vocabulary)}
        self._results: dict[int, tuple[NDArray[np.int64], sparse.csr_array]] = {}
        self._queries = list(self._draw(queries_a_user, np.random.default_rng(seed)))
        if not self._queries:
            raise InputError(
                f"no term of these users finds more than {RELEVANT} documents that meet their profile.",
                "Use larger profiles, of words that the corpus knows.",
            )

    def __len__(self) -> int:
        return len(self._queries)

    def _draw(self, each: int, randomness: np.random.Generator) -> Iterator[_Query]:
        own = self.profiles.matrix()
        for user in range(len(self.profiles)):
            profile = _dense(own, user)
            drawn = 0
            for column in randomness.permutation(np.flatnonzero(profile)).tolist():
                query = _Query(user, column)
                if (self._scores(query, profile) > 0).sum() > RELEVANT:
                    yield query
                    drawn += 1
                if drawn == each:
                    break

    def _found(self, column: int) -> tuple[NDArray[np.int64], sparse.csr_array]:
        """The engine's results for a term, best first, and their words as unit vectors.

        The vectors are over the profiles' vocabulary, without the query's own words.
        """
        if column not in self._results:
            query = self.profiles.vocabulary[column]
            documents = [hit.document for hit in self._engine.search(query, _CANDIDATES)]
            asked = {query, *words(query)}
            rows, columns, values = [], [], []
            for row, number in enumerate(documents):
                text = self._text(number)
                known = [self._column[word] for word in text - asked if word in self._column]
                rows += [row] * len(known)
                columns += known
                values += [len(text) ** -0.5] * len(known)
            shape = (len(documents), len(self._column))
            vectors = sparse.coo_array((values, (rows, columns)), shape=shape).tocsr()
            self._results[column] = np.array(documents, np.int64), vectors
        return self._results[column]

    def _scores(self, query: _Query, profile: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cosine of each result and a profile, up to the profile's length."""
        return np.asarray(self._found(query.term)[1] @ profile)

    def _text(self, number: int) -> set[str]:
        """The distinct words of a document; its topic's names count as its own."""
        document, tree = self._corpus[number], self._corpus.tree
        names = [tree.names[node] for node in tree.ancestors(document.topic)[-_TOPIC_STEPS:]]
        named = " ".join(name.partition(".")[0].replace("_", " ") for name in names)
        return set(words(f"{document.title} {document.text} {named}")) - STOP_WORDS

    def ranked(self, weights: Weights | None) -> list[NDArray[np.int64]]:
        """Each query's results in the order that these profiles give; the engine's order for None.

        Results that a profile likes equally stay in the engine's order.
        """
        ranked = []
        for query in self._queries:
            documents = self._found(query.term)[0]
            if weights is not None:
                scores = self._scores(query, _dense(weights, query.user))
                documents = documents[np.argsort(-scores, kind="stable")]
            ranked.append(documents)
        return ranked

    def precision(self, ranked: Sequence[NDArray[np.int64]], gold: Sequence[NDArray[np.int64]]) -> Precision:
        """Measure how near one ranking of each query comes to the gold standard's first 30."""
        relevant = [set(order[:RELEVANT].tolist()) for order in gold]
        pairs = [(order.tolist(), wanted) for order, wanted in zip(ranked, relevant, strict=True)]
        average = np.array([average_precision(order, wanted) for order, wanted in pairs])
        error = float(average.std(ddof=1) / np.sqrt(average.size)) if average.size > 1 else 0.0
        at_10 = [sum(document in wanted for document in order[:10]) / 10 for order, wanted in pairs]
        return Precision(float(average.mean()), error, float(np.mean(at_10)))


def group_weights(bundling: Bundling) -> Weights:
    """For everybody, the profile of the group."""
    released = bundling.released
    shape = (len(released), len(bundling.profiles.vocabulary))
    shares = (released.holders / np.repeat(bundling.sizes, np.diff(released.offsets))).astype(np.float32)
    groups = sparse.csr_array((shares, released.terms, released.offsets), shape=shape)
    return groups[bundling.labels]


BENEFIT = (0.4, 1)
AUGMENTS = (0, 1, 2, 3)
BOUNDS = (0.1, 0.2, 0.3, 0.4)


@dataclass(frozen=True)
class BundlingRun:
    """One bundling: its parameters, the precision of ranking by its groups, and its report."""

    criterion: str
    p: float
    augment: int
    precision: Precision
    report: dict[str, Any]


def settings() -> Iterator[tuple[str, float, int]]:
    """Criterion, p and a of every run."""
    for criterion in CRITERIA:
        for p in BOUNDS:
            yield criterion, p, BENEFIT[1]
        for augment in AUGMENTS:
            if augment != BENEFIT[1]:
                yield criterion, BENEFIT[0], augment


def interest_profiles(users: int, terms: int = 150, seed: int = 0) -> Profiles:
    """Make profiles of so many terms each, of weight 1, over WordNet's topics.

    A **topic** is a part of WordNet's tree of a few hundred synonym sets (cut where a node is small enough
    and its parent is not). A user has four, popular ones more often; three in four of the user's terms are
    words of these topics, the rest are words of anything. Within both, words come as often as Princeton's
    sense-tagged corpus has them.
    """
    wordnet, draw = load_wordnet(), np.random.default_rng(seed)
    tree = wordnet.tree
    size = tree.end - np.arange(len(tree))
    cut = (size <= _LARGEST_TOPIC) & ~np.append(False, size[tree.parent[1:]] <= _LARGEST_TOPIC)
    topics = np.flatnonzero(cut & (size >= _SMALLEST_TOPIC)).tolist()
    counted = []
    for topic in topics:
        frequency = Counter[str]()
        for synset in range(topic, int(tree.end[topic])):
            for lemma, count in zip(wordnet.lemmas(synset), wordnet.lemma_counts(synset), strict=True):
                if lemma.isalpha() and lemma.islower():
                    frequency[lemma] += count + 1
        if frequency:  # some topics hold nothing but names
            counted.append(frequency)
    known = sorted(set().union(*counted))
    column = {word: place for place, word in enumerate(known)}
    shares = np.zeros((len(counted), len(known)))
    for row, frequency in zip(shares, counted, strict=True):
        row[[column[word] for word in frequency]] = list(frequency.values())
    anything = shares.sum(axis=0) / shares.sum()
    shares /= shares.sum(axis=1, keepdims=True)
    # Popularity falls as 1 / rank; the order is random, so that popular topics lie anywhere in the tree.
    popularity = draw.permutation(1 / np.arange(2, len(counted) + 2))
    profiles = {}
    for user in range(users):
        own = draw.choice(len(counted), _TOPICS_A_USER, p=popularity / popularity.sum())
        chance = _ON_TOPIC * shares[own].mean(axis=0) + (1 - _ON_TOPIC) * anything
        held = draw.choice(len(known), terms, replace=False, p=chance / chance.sum())
        profiles[f"user-{user}"] = {known[term]: 1.0 for term in held.tolist()}
    return Profiles.from_mappings(profiles)


def group_results(profiles: Profiles, queries_a_user: int = 2, seed: int = 0) -> Results:
    """Bundle and rank under every setting, over the embedded corpus; reproducible by seed."""
    task = SearchTask(profiles, wordnet_corpus(), wordnet_engine(), queries_a_user, seed)
    gold, runs = task.ranked(profiles.matrix()), []
    for criterion, p, augment in settings():
        bundling = Bundler(p=p, criterion=criterion, augment=augment, seed=seed).fit(profiles)
        precision = task.precision(task.ranked(group_weights(bundling)), gold)
        runs.append(
            BundlingRun(criterion, p, augment, precision, report(bundling, seed=seed, language=False))
        )
    engine = task.precision(task.ranked(None), gold)
    table = Figure(
        "runs",
        "Ranking by group profiles",
        columns(
            "criterion | p {g} | augment = a | precision.average_precision = AP {.3f} | "
            "error = ± 2 s.e. {.3f} | precision.precision_at_10 = P@10 {.3f} | "
            "report.mean_size = members {.1f} | report.linkability.max = max n_t/n {.3f} | "
            "report.information.terms_kept = terms kept {.1%}"
        ),
        [flat(run) | {"error": 2 * run.precision.standard_error} for run in runs],
    )
    return Results(
        "groups",
        "What grouping costs personalised search, and what it protects",
        f"{len(profiles):,} users, {len(task):,} queries; average precision without personalisation "
        f"{engine.average_precision:.3f} ± {2 * engine.standard_error:.3f}",
        {"users": len(profiles), "queries": len(task), "engine": engine, "runs": runs},
        [flat(run) for run in runs],
        [table],
    )


def main() -> None:
    """Print what every setting is worth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--users", type=int, default=720)
    parser.add_argument("--terms", type=int, default=150)
    parser.add_argument("--queries", type=int, default=2)
    chosen = parser.parse_args()
    print(group_results(interest_profiles(chosen.users, chosen.terms), chosen.queries))


if __name__ == "__main__":
    main()
