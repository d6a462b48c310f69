"""How many documents of a large collection have a word, modelled by the bundled corpus.

A word's share of WordNet's glosses stands for its share of a web-sized collection. A word that the corpus
does not know counts as in half a document of it.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from tacit.text import words
from tacit.world import wordnet_corpus

__all__ = ["COLLECTION", "WordnetFrequencies"]

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


class WordnetFrequencies:
    """Document frequencies in a collection of a given size."""

    def __init__(self, collection: int = COLLECTION) -> None:
        self._collection = collection

    def __call__(self, word: str) -> float:
        """How many documents have the word."""
        counted, documents = _counted()
        return max(counted[word], 0.5) / documents * self._collection
