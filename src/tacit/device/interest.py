"""Which topics a person cares for in the light of a query, and whether there is evidence for it at all.

The documents of the history that are about the query are found by attention: after results are known as in
:mod:`tacit.device.attention`; before, by the query alone::

    r[h] = cov(q, h) / 2 + max(0, cos(q, h)) / 2

where only documents with r of at least 0.45 speak: those that hold the query's words, or are as near to it
as if they did. What they say together is one direction: the sum of their own, without the query's words, each
weighing as its attention says. The query's topics are at most three, none above another, whose directions
together come nearest to it, for their sum is what a server ranks by: chosen one after the other among the
fifty nearest, as long as each brings the sum nearer. They are the seed that generalisation starts from. Where
fewer than half of the attention is on the history, there is no evidence, and no profile is sent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.device.attention import Attention, QueryWords
from tacit.device.bags import Bags
from tacit.device.kernel import kernel
from tacit.device.mapping import seed_of_leaves
from tacit.device.profile import UserProfile
from tacit.device.seed import Floats, Integers, SeedProfile
from tacit.retrieval.topic_vectors import TopicVectors

__all__ = ["LEAST_EVIDENCE", "Interest", "InterestFinder"]

LEAST_EVIDENCE = 0.5
"""The share of the attention that must lie on the history for a profile to go out."""

_SPEAKS = 0.45
_TEMPERATURE = 0.12
_SPEAKERS = 12
_FAINT = 0.01
_TOPICS = 3
_AROUND = 50


@dataclass(frozen=True, eq=False)
class Interest:
    """What the history says about a query."""

    evidence: float
    """The share of the attention on the history, in [0, 1]."""
    topics: Integers
    """The query's topics in the light of the history, ascending; none above another."""
    preferences: Floats
    """The preference for each, adding up to 1."""

    def seed(self, profile: UserProfile, prior: Floats, baseline: float) -> SeedProfile | None:
        """The seed profile over these topics; None where there are none."""
        if len(self.topics) == 0:
            return None
        return seed_of_leaves(profile, prior, self.topics, self.preferences, baseline)


@kernel
def _coverage(
    offsets: npt.NDArray[np.int64],
    words: npt.NDArray[np.int32],
    mark: npt.NDArray[np.int8],
    shares: npt.NDArray[np.float32],
) -> npt.NDArray[np.float32]:
    """cov(q, h) of every document: the weighted share of the query's words that it holds."""
    covered = np.zeros(offsets.size - 1, np.float32)
    for text in range(offsets.size - 1):
        for spot in range(offsets[text], offsets[text + 1]):
            word = words[spot]
            if mark[word] > 0:
                seen = False
                for before in range(offsets[text], spot):
                    seen = seen or mark[words[before]] == mark[word]
                if not seen:
                    covered[text] += shares[mark[word] - 1]
    return covered


@kernel
def _together_nearest(
    said: npt.NDArray[np.float32], around: Integers, rows: npt.NDArray[np.float32], end: Integers
) -> Integers:
    """At most three of the topics ``around``, none above another, whose sum is nearest to ``said``."""
    chosen = np.empty(_TOPICS, np.int32)
    total = np.zeros(said.size, np.float32)
    free = np.ones(around.size, np.bool_)
    size, nearest = 0, np.float32(0.0)
    while size < _TOPICS:
        best, best_cosine = -1, nearest
        for place in range(around.size):
            if free[place]:
                product, square = np.float32(0.0), np.float32(0.0)
                for axis in range(said.size):
                    value = total[axis] + rows[place, axis]
                    product += value * said[axis]
                    square += value * value
                cosine = product / max(np.float32(1e-6), np.sqrt(square))
                if cosine > best_cosine:
                    best, best_cosine = place, cosine
        if best < 0:
            break
        nearest, topic = best_cosine, around[best]
        chosen[size] = topic
        size += 1
        total += rows[best]
        for place in range(around.size):
            other = around[place]
            if topic <= other < end[topic] or other <= topic < end[other]:
                free[place] = False
    return chosen[:size]


class InterestFinder:
    """Finds the interest behind a query. Not for several threads at once, as attention is not."""

    def __init__(self, vectors: TopicVectors, attention: Attention) -> None:
        self._vectors = vectors
        self._attention = attention

    def find(self, query: str, history: Bags, results: Bags | None = None) -> Interest:
        """The interest of a history in a query, given its results where they are known."""
        nobody = Interest(0.0, np.empty(0, np.int32), np.empty(0))
        if len(history) == 0:
            return nobody
        words = QueryWords(self._attention.table, query)
        if results is not None and len(results):
            attended = self._attention.attend(words, results, history)
            places, weights = attended.documents, attended.attention.astype(np.float64)
        else:
            places, weights = self._before_results(query, words, history)
        evidence = float(weights.sum())
        if evidence < LEAST_EVIDENCE:
            return Interest(evidence, nobody.topics, nobody.preferences)
        best = np.argsort(-weights, kind="stable")[:_SPEAKERS]
        best = best[weights[best] >= _FAINT * weights[best[0]]]
        directions = self._attention.directions(words, history, places[best])
        topics, preferences = self._preferences(directions, weights[best])
        return Interest(evidence, topics, preferences)

    def _before_results(
        self, query: str, words: QueryWords, history: Bags
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """The documents that speak about the query by themselves, with their share of the attention."""
        table = self._attention.table
        with self._attention.marked(words) as (_, mark):
            covered = _coverage(history.offsets, history.words, mark, words.shares)
        asked = table.vector(table.bag(query))
        near = np.maximum(0, history.sums @ asked / np.maximum(1e-6, history.norms))
        relevance = (covered + near).astype(np.float64) / 2
        places = np.flatnonzero(relevance >= _SPEAKS)
        excess = np.exp((relevance[places] - _SPEAKS) / _TEMPERATURE)
        return places, excess / (excess.sum() + 1)

    def _preferences(
        self, directions: npt.NDArray[np.float32], weights: npt.NDArray[np.float64]
    ) -> tuple[Integers, Floats]:
        """The topics that together come nearest to what the documents say, and the preference for each."""
        said = weights.astype(np.float32) @ directions
        length = np.linalg.norm(said)
        if not length > 1e-6:
            return np.empty(0, np.int32), np.empty(0)
        said /= length
        around, _ = self._vectors.nearest_to(said, _AROUND)
        chosen = np.sort(
            _together_nearest(said, around, self._vectors.matrix[around], self._vectors.tree.end)
        )
        squares = np.maximum(0, self._vectors.matrix[chosen] @ said).astype(np.float64) ** 2
        if not squares.sum() > 0:
            return np.empty(0, np.int32), np.empty(0)
        return chosen, squares / squares.sum()
