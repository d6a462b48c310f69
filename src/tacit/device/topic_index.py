"""The topic index: how often each word occurs in the documents of each topic, those below included.

The paper keeps an inverted index a topic and files every document under all topics above its own
(section 6.1). Here one list a word suffices: topics are numbered depth first, so the documents of a
topic and everything below are a range, and running totals give the count over any range by two binary
searches.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tacit.device.kernel import kernel
from tacit.device.seed import Floats, Integers
from tacit.retrieval import Document
from tacit.taxonomy import TopicTree
from tacit.text import STOP_WORDS, words

__all__ = ["TopicIndex", "content_words", "occurrences"]

_Wide = npt.NDArray[np.int64]


def content_words(text: str) -> Counter[str]:
    """The words of a text that can tell topics apart, with their frequencies."""
    return Counter(word for word in words(text) if word not in STOP_WORDS)


class TopicIndex:
    """Word frequencies N(t, w) for any topic t of a tree."""

    def __init__(self, tree: TopicTree, documents: Iterable[Document]) -> None:
        self.tree = tree
        self._word: dict[str, int] = {}
        identifiers: list[int] = []
        topics: list[int] = []
        counts: list[int] = []
        number = self._word.setdefault
        for document in documents:
            found = content_words(f"{document.title} {document.text}")
            identifiers.extend(number(word, len(self._word)) for word in found)
            topics.extend([document.topic] * len(found))
            counts.extend(found.values())
        word_of = np.array(identifiers, np.int64)
        topic_of = np.array(topics, np.int64)
        order = np.lexsort((topic_of, word_of))
        self.topics: Integers = topic_of[order].astype(np.int32)
        self.running: _Wide = np.concatenate(([0], np.cumsum(np.array(counts, np.int64)[order])))
        self.offsets: _Wide = np.searchsorted(word_of[order], np.arange(len(self._word) + 1))

    def __len__(self) -> int:
        """The number of distinct words."""
        return len(self._word)

    def bag(self, text: str) -> tuple[Integers, Floats]:
        """The known words of ``text`` as numbers, with their frequencies N(d, w)."""
        pairs = [(self._word[w], n) for w, n in content_words(text).items() if w in self._word]
        return (
            np.array([pair[0] for pair in pairs], np.int32),
            np.array([pair[1] for pair in pairs], np.float64),
        )

    def telling_words(self, text: str, count: int) -> list[str]:
        """The words that say most about what a text is about: frequent in it, rare in the index."""
        found = content_words(text)
        weight = {}
        for word, times in found.items():
            number = self._word.get(word)
            if number is not None:
                overall = self.running[self.offsets[number + 1]] - self.running[self.offsets[number]]
                weight[word] = times * math.log(self.running[-1] / overall)
        return sorted(weight, key=lambda word: (-weight[word], word))[:count]

    def frequency(self, topic: int, word: str) -> int:
        """N(t, w): how often ``word`` occurs in the documents of ``topic`` and below."""
        number = self._word.get(word)
        if number is None:
            return 0
        return int(occurrences(topic, number, self.tree.end, self.offsets, self.topics, self.running))


@kernel
def _first_at_least(topics: Integers, low: int, high: int, wanted: int) -> int:
    while low < high:
        middle = (low + high) // 2
        if topics[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def occurrences(
    topic: int, word: int, end: Integers, offsets: _Wide, topics: Integers, running: _Wide
) -> float:
    """N(t, w) from the index's arrays."""
    low, high = offsets[word], offsets[word + 1]
    first = _first_at_least(topics, low, high, topic)
    last = _first_at_least(topics, first, high, end[topic])
    return float(running[last] - running[first])
