"""Which topics a person cares for in the light of a query, and whether there is evidence for it at all.

The documents of the history that are about the query are found by attention: after results are known as in
:mod:`tacit.device.attention`; before, by the query alone::

    r[h] = cov(q, h) / 2 + max(0, cos(q, h)) / 2

where only documents with r of at least 0.45 speak: those that hold the query's words, or are as near to it
as if they did. Each speaks for the five topics nearest to its own words, without the query's. The three best
of all, none above another and none below a twentieth of the whole, are the query's topics with preferences:
the seed that generalisation starts from. Where fewer than half of the attention is on the history, there is
no evidence, and no profile is sent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.device.attention import Attention
from tacit.device.bags import Bags
from tacit.device.history import FILED_UNDER
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
_LEAST_SHARE = 0.05


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
        if results is not None and len(results):
            attended = self._attention.attend(query, results, history)
            places, weights = attended.documents, attended.attention.astype(np.float64)
        else:
            places, weights = self._before_results(query, history)
        evidence = float(weights.sum())
        if evidence < LEAST_EVIDENCE:
            return Interest(evidence, nobody.topics, nobody.preferences)
        best = np.argsort(-weights, kind="stable")[:_SPEAKERS]
        best = best[weights[best] >= _FAINT * weights[best[0]]]
        directions = self._attention.directions(query, history, places[best])
        topics, preferences = self._preferences(directions, weights[best])
        return Interest(evidence, topics, preferences)

    def _before_results(
        self, query: str, history: Bags
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """The documents that speak about the query by themselves, with their share of the attention."""
        table = self._attention.table
        with self._attention.marked(query) as (words, mark):
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
        """The best topics of the speaking documents, none above another, and the preference for each."""
        nearest, cosines = self._vectors.nearest(directions, FILED_UNDER)
        squares = np.maximum(0, cosines).astype(np.float64) ** 2
        totals = squares.sum(axis=1, keepdims=True)
        shares = np.where(totals > 0, squares / np.maximum(totals, 1e-12), 0) * weights[:, None]
        topics, member = np.unique(nearest, return_inverse=True)
        preference = np.bincount(member.ravel(), shares.ravel(), len(topics))
        tree = self._vectors.tree
        chosen: list[int] = []
        for place in np.argsort(-preference, kind="stable"):
            if len(chosen) == _TOPICS or preference[place] < _LEAST_SHARE * preference.sum():
                break
            topic = int(topics[place])
            if not any(
                tree.is_ancestor(topic, int(topics[other])) or tree.is_ancestor(int(topics[other]), topic)
                for other in chosen
            ):
                chosen.append(int(place))
        chosen.sort()
        kept = preference[chosen]
        if not kept.sum() > 0:
            return np.empty(0, np.int32), np.empty(0)
        return topics[chosen].astype(np.int32), kept / kept.sum()
