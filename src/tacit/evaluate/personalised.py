"""Personalised search with group profiles: what bundling costs the ranking (paper 001, section 4).

A user's query goes to the embedded engine. Its results are ranked again by the cosine between a result
and an interest profile; words of the query do not count, since all results have them. The ranking by
the user's **own** profile is the gold standard: its first 30 results are relevant. Average Precision
then says how near the ranking by the **group's** profile comes, and how near the engine's own ranking
(no personalisation).

A result is described by the words of its title and text and of its topic's names up to three steps
above: WordNet's glosses alone are too short to meet a profile. Queries are terms of the user for which
the own profile has an opinion on more than 30 of the engine's 500 first results; with fewer, the gold
standard would be filled up in the engine's order, and no personalisation would look good by definition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import ir_measures
import numpy as np
from ir_measures import AP, P
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import InputError
from tacit.groups import Bundling, Profiles
from tacit.retrieval import Corpus, SearchEngine
from tacit.text import STOP_WORDS, words

__all__ = ["Precision", "SearchTask", "group_weights", "own_weights"]

RELEVANT = 30
"""How many results of the gold standard count as relevant."""
_CANDIDATES = 500
_TOPIC_STEPS = 3

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
    row = np.zeros(weights.shape[1])
    held = slice(weights.indptr[user], weights.indptr[user + 1])
    row[weights.indices[held]] = weights.data[held]
    return row


class SearchTask:
    """Queries of users, with results to be ranked again.

    Args:
        profiles: the users and their own profiles.
        corpus, engine: what is searched.
        queries_a_user: how many queries to draw from each user's own terms, at most.
    """

    def __init__(
        self,
        profiles: Profiles,
        corpus: Corpus,
        engine: SearchEngine,
        queries_a_user: int = 2,
        seed: int = 0,
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
        own = own_weights(self.profiles)
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
        """How near one ranking of each query comes to the gold standard's first 30."""
        relevant = [
            ir_measures.Qrel(str(query), str(document), 1)
            for query, order in enumerate(gold)
            for document in order[:RELEVANT].tolist()
        ]
        run = [
            ir_measures.ScoredDoc(str(query), str(document), -float(place))
            for query, order in enumerate(ranked)
            for place, document in enumerate(order.tolist())
        ]
        found: dict[object, list[float]] = {AP: [], P @ 10: []}
        for metric in ir_measures.iter_calc([AP, P @ 10], relevant, run):
            found[metric.measure].append(metric.value)
        average = np.array(found[AP])
        error = float(average.std(ddof=1) / np.sqrt(average.size)) if average.size > 1 else 0.0
        return Precision(float(average.mean()), error, float(np.mean(found[P @ 10])))


def own_weights(profiles: Profiles) -> Weights:
    """Everybody's own profile."""
    return profiles.matrix()


def group_weights(bundling: Bundling) -> Weights:
    """For everybody, the profile of the group."""
    released = bundling.released
    shape = (len(released), len(bundling.profiles.vocabulary))
    groups = sparse.csr_array((released.weights, released.terms, released.offsets), shape=shape)
    return groups[bundling.labels]
