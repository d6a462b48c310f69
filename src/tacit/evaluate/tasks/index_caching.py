"""Index caching: which posting lists to keep in memory (paper 004, section III, after Baeza-Yates).

A keyword's score is how often it was searched over how many documents have it. Lists are taken into memory
in the order of scores while they fit. A list is cut to a largest length; a posting takes eight bytes. Units
are test searches with a keyword:

- ``hit probability``: the share of a search's keywords whose lists are in memory;
- ``whole queries``: whether all of them are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tacit.evaluate.document_frequency import WordnetFrequencies
from tacit.evaluate.log_part import LogPart
from tacit.evaluate.released import ReleasedData, keywords_of
from tacit.evaluate.task import Measured, Measures

__all__ = ["Cache", "IndexCaching", "IndexCachingTrial", "choose_lists"]


@dataclass(frozen=True)
class Cache:
    """What the memory holds; the paper's figures.

    Args:
        bytes: of the memory.
        posting: bytes of a posting.
        longest: the most postings of a list that are kept in memory.
    """

    bytes: int = 1 << 30
    posting: int = 8
    longest: int = 200_000


def choose_lists(
    keywords: Mapping[str, float], documents: Callable[[str], float], cache: Cache
) -> frozenset[str]:
    """The keywords whose lists are kept: greedily by frequency over document frequency, what fits."""
    having = {keyword: max(1.0, documents(keyword)) for keyword in keywords}
    room = cache.bytes // cache.posting
    chosen = []
    for keyword in sorted(keywords, key=lambda word: (-keywords[word] / having[word], word)):
        size = min(having[keyword], cache.longest)
        if size <= room:
            room -= int(np.ceil(size))
            chosen.append(keyword)
    return frozenset(chosen)


class IndexCaching:
    """The task.

    Args:
        cache: the memory.
        documents: how many documents of the collection have a keyword; a model of a web-sized collection
            from the bundled corpus unless given.
    """

    name = "index-caching"
    headline = "greedy cache: hit probability"

    def __init__(self, cache: Cache | None = None, documents: Callable[[str], float] | None = None) -> None:
        self._cache = cache or Cache()
        self._documents = documents or WordnetFrequencies()

    def against(self, original: LogPart, test: LogPart) -> IndexCachingTrial:
        """Only the test part matters."""
        del original
        return IndexCachingTrial(test, self._cache, self._documents)


class IndexCachingTrial:
    """Test searches by their keywords."""

    def __init__(self, test: LogPart, cache: Cache, documents: Callable[[str], float]) -> None:
        self._cache, self._documents = cache, documents
        self._words = [keywords_of(query) for query in test.queries.texts.to_pylist()]
        having = np.array([bool(found) for found in self._words], np.bool_)
        asked = test.searches.query
        self._asked = asked[having[asked]] if len(asked) else asked

    def measure(self, released: ReleasedData) -> Measures:
        """Hits of the test searches."""
        kept = choose_lists(released.keywords, self._documents, self._cache)
        share = np.array([len(found & kept) / max(1, len(found)) for found in self._words])
        hits = share[self._asked] if len(share) else np.empty(0)
        return {
            "greedy cache: hit probability": Measured(hits),
            "greedy cache: whole queries": Measured((hits == 1).astype(np.float64)),
        }
