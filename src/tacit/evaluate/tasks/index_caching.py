"""Index caching: which posting lists to keep in memory (paper 004, section III, after Baeza-Yates).

How often a word was searched is its released count with a public list of words behind it
(docs/reference/evaluation/tasks.md); ``release alone`` has no list behind it, as in the paper. A word that
the bundled corpus does not know counts as in half of one of its documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.evaluate.data import CountedLog, LogPart, ReleasedData, keywords_of
from tacit.evaluate.public import BEHIND, word_shares
from tacit.evaluate.task import Measured, Measures, Task
from tacit.text import words
from tacit.world import wordnet_corpus

COLLECTION = 100_000_000
"""Documents of the collection that is modelled."""


@lru_cache(maxsize=1)
def _counted() -> tuple[Counter[str], int]:
    counted: Counter[str] = Counter()
    documents = 0
    for document in wordnet_corpus():
        counted.update(set(words(f"{document.title} {document.text}")))
        documents += 1
    return counted, documents


def having(word: str) -> float:
    """Estimate the documents of the collection that have the word."""
    counted, documents = _counted()
    return max(counted[word], 0.5) / documents * COLLECTION


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


class PostingLists:
    """Keywords with how many documents have each: what a cache can choose from.

    Args:
        documents: how many documents of the collection have a keyword.
        public: keywords that are counted whatever is released, each with its share.
    """

    def __init__(self, documents: Callable[[str], float], public: Mapping[str, float]) -> None:
        self._documents, self._listed = documents, sorted(public)
        self._places = {keyword: place for place, keyword in enumerate(self._listed)}
        self._having = np.array([max(1.0, documents(keyword)) for keyword in self._listed])
        self._behind = BEHIND * np.array([public[keyword] for keyword in self._listed])

    def chosen(self, keywords: Mapping[str, float], cache: Cache, *, alone: bool = False) -> frozenset[str]:
        """The keywords whose lists are kept: greedily by frequency over document frequency, what fits.

        Args:
            keywords: how often each was searched.
            alone: whether nothing public stands behind that.
        """
        new = sorted(keywords.keys() - self._places.keys())
        listed, known = self._listed + new, [keyword for keyword in keywords if keyword in self._places]
        having = np.concatenate([self._having, [max(1.0, self._documents(keyword)) for keyword in new]])
        counts = np.concatenate([self._behind * (not alone), [keywords[keyword] for keyword in new]])
        own = np.array([self._places[keyword] for keyword in known], np.int64)
        counts[own] += [keywords[keyword] for keyword in known]
        sizes = np.ceil(np.minimum(having, cache.longest)).astype(np.int64)
        room, kept = cache.bytes // cache.posting, list[int]()
        left = np.flatnonzero(counts > 0)
        left = left[np.argsort(-counts[left] / having[left], kind="stable")]
        while (left := left[sizes[left] <= room]).size:  # what does not fit now will not fit later
            ends = np.cumsum(sizes[left])
            fitting = int(np.searchsorted(ends, room, side="right"))
            kept += left[:fitting].tolist()
            room, left = room - int(ends[fitting - 1]), left[fitting:]
        return frozenset(listed[place] for place in kept)


class IndexCaching(Task):
    """Index caching.

    Args:
        cache: the memory.
        documents: how many documents of the collection have a keyword; a model of a web-sized collection
            from the bundled corpus unless given.
        public: the share of each word in a public list; the bundled one unless given.
    """

    name = "index-caching"
    title = "index caching"
    description = "keep the right posting lists in memory"
    unit = "test search with a keyword"
    nothing = "a public list of words by their frequency"
    reads = ("keywords", "queries")
    headline = "greedy cache: hit probability"

    def __init__(
        self,
        cache: Cache | None = None,
        documents: Callable[[str], float] | None = None,
        public: Mapping[str, float] | None = None,
    ) -> None:
        self._cache = cache or Cache()
        self._documents = documents or having
        self._public = word_shares() if public is None else public

    def against(self, original: CountedLog, test: LogPart) -> IndexCachingTrial:
        del original
        return IndexCachingTrial(test, self._cache, self._documents, self._public)


class IndexCachingTrial:
    """Test searches by their keywords."""

    def __init__(
        self, test: LogPart, cache: Cache, documents: Callable[[str], float], public: Mapping[str, float]
    ) -> None:
        self._cache, self._lists = cache, PostingLists(documents, public)
        found = [sorted(keywords_of(query)) for query in test.queries.texts.to_pylist()]
        self._words = pa.array([word for each in found for word in each], pa.string()).dictionary_encode()
        lengths = np.array([len(each) for each in found], np.int64)
        self._query, self._lengths = np.repeat(np.arange(len(found)), lengths), np.maximum(lengths, 1)
        asked = test.searches.query
        kept = lengths[asked] > 0
        self._asked, self.owners = asked[kept], test.searches.user[kept]

    def measure(self, released: ReleasedData) -> Measures:
        """Hits of the test searches."""
        hits = self._hits(released.keywords, alone=released.whole)
        return {
            "greedy cache: hit probability": Measured(hits),
            "greedy cache: whole queries": Measured((hits == 1).astype(np.float64)),
            "release alone: hit probability": Measured(self._hits(released.keywords, alone=True)),
        }

    def _hits(self, keywords: Mapping[str, float], *, alone: bool) -> NDArray[np.float64]:
        """Compute for each test search the share of its keywords that these choose into memory."""
        kept = pa.array(list(self._lists.chosen(keywords, self._cache, alone=alone)), pa.string())
        inside = np.asarray(pc.is_in(self._words.dictionary, value_set=kept)).astype(np.bool_)
        hit = inside[np.asarray(self._words.indices)]
        found = np.bincount(self._query, hit, minlength=len(self._lengths))
        return (found / self._lengths)[self._asked]
