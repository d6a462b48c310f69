"""What a query is about: a topic of the taxonomy, by the query's own text and public data alone.

**WordNet.** The nouns and noun phrases that WordNet knows are found in the query, longest first from the
left. The longest one decides, of equally long ones that with the rarest word, of equally rare ones the last;
it has its most frequent meaning.

**Other taxonomies.** The topic whose direction among word vectors is nearest to that of the query's words
(:mod:`tacit.retrieval.topic_vectors`), if it is near enough.

The topic of a query must depend on nothing but the query, to the last bit: if queries beside it had a say, a
user could move others' counts. Sums of floats depend on how many rows are multiplied at once, so directions
are rounded to 1/127 here, and products of whole numbers below 2^24 are exact in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.retrieval.topic_vectors import load_topic_vectors
from tacit.taxonomy import TopicTree, load_wordnet
from tacit.text import STOP_WORDS, words
from tacit.text.vectors import COMMONEST, load_word_table

__all__ = ["NOWHERE", "NearestTopics", "NounTopics", "TopicsOf", "topics_of_queries"]

NOWHERE = -1
"""In the place of a topic, for a query that has none."""

_LONGEST_PHRASE = 4
_STEPS = 127
_NEAR = int(0.6 * _STEPS * _STEPS)
"""The least product of two rounded directions, a cosine of 0.6, at which a topic is near enough."""
_AT_ONCE = 2048
_REMEMBERED = 1 << 18

_Numbers = NDArray[np.int32]
TopicsOf = Callable[[Sequence[str]], _Numbers]
"""The topic of each of some queries, or ``NOWHERE``."""


def topics_of_queries(tree: TopicTree) -> TopicsOf:
    """The public map from queries to topics of a taxonomy."""
    return NounTopics() if tree is load_wordnet().tree else NearestTopics(tree)


class NounTopics:
    """Queries by the nouns in them.

    It remembers some of the phrases it has looked up, which are people's: keep it no longer than needed.
    """

    def __init__(self) -> None:
        self._wordnet = load_wordnet()
        self._table = load_word_table()
        self._known: dict[str, int] = {}

    def __call__(self, queries: Sequence[str]) -> _Numbers:
        return np.fromiter((self._topic(query) for query in queries), np.int32, len(queries))

    def _meaning(self, phrase: str) -> int:
        found = self._known.get(phrase)
        if found is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            senses = () if phrase in STOP_WORDS else self._wordnet.senses(phrase)
            found = self._known[phrase] = senses[0] if senses else NOWHERE
        return found

    def _topic(self, query: str) -> int:
        listed = words(query)
        best, topic, at = (0, 0.0, -1), NOWHERE, 0
        while at < len(listed):
            for size in range(min(_LONGEST_PHRASE, len(listed) - at), 0, -1):
                phrase = listed[at : at + size]
                meaning = self._meaning(" ".join(phrase))
                if meaning != NOWHERE:
                    ranked = (size, max(self._rarity(word) for word in phrase), at)
                    if ranked > best:
                        best, topic = ranked, meaning
                    break
            else:
                size = 1
            at += size
        return topic

    def _rarity(self, word: str) -> float:
        return float(self._table.weight[self._table.number(word)])


class NearestTopics:
    """Queries by the direction of their words."""

    def __init__(self, tree: TopicTree) -> None:
        self._tree = tree
        self._table = load_word_table()

    @cached_property
    def _directions(self) -> NDArray[np.float32]:
        """A column a topic, in steps of 1/127."""
        matrix = load_topic_vectors(self._tree).matrix
        return np.ascontiguousarray(np.rint(matrix * _STEPS).astype(np.float32).T)

    def __call__(self, queries: Sequence[str]) -> _Numbers:
        parts = [self._some(queries[at : at + _AT_ONCE]) for at in range(0, len(queries), _AT_ONCE)]
        return np.concatenate(parts) if parts else np.zeros(0, np.int32)

    def _some(self, queries: Sequence[str]) -> _Numbers:
        products = self._rounded(queries) @ self._directions
        products[:, 0] = -1  # the root is no answer
        best = products.argmax(axis=1)
        near = products[np.arange(len(best)), best] >= _NEAR
        return np.where(near, best, NOWHERE).astype(np.int32)

    def _rounded(self, queries: Sequence[str]) -> NDArray[np.float32]:
        """The direction of each query's telling words, each number a function of that query alone."""
        sums = np.zeros((len(queries), self._table.dimensions), np.int64)
        for row, query in enumerate(queries):
            numbers = [self._table.number(word.removesuffix("'s")) for word in words(query)]
            known = [number for number in numbers if COMMONEST <= number < len(self._table)]
            if known:
                sums[row] = self._table.vectors[known].sum(axis=0, dtype=np.int64)
        scaled = sums * self._table.scale.astype(np.float64)
        square = np.zeros(len(queries))
        for dimension in range(scaled.shape[1]):  # one by one: a sum of columns has no order of its own
            square += scaled[:, dimension] ** 2
        length = np.sqrt(square)[:, None]
        unit = np.divide(scaled, length, out=np.zeros_like(scaled), where=length > 0)
        rounded: NDArray[np.float32] = np.rint(unit * _STEPS).astype(np.float32)
        return rounded
