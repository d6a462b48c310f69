"""WordNet's noun synsets as documents: 82,115 short texts, each its own topic.

One number names a synset, its document and its topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tacit.retrieval import Document
from tacit.taxonomy import TopicTree, WordNet, load_wordnet

__all__ = ["WordNetCorpus", "wordnet_corpus"]

_SITE = "https://wordnet.example/"  # a name reserved for examples, so that no click leads anywhere


class WordNetCorpus:
    """The noun synsets as documents: the synonyms are the title, the gloss is the text."""

    def __init__(self, wordnet: WordNet) -> None:
        self.wordnet = wordnet

    @property
    def tree(self) -> TopicTree:
        """WordNet's topic tree."""
        return self.wordnet.tree

    def __len__(self) -> int:
        return len(self.wordnet)

    def __getitem__(self, number: int) -> Document:
        wordnet = self.wordnet
        return Document(
            number=number,
            title=", ".join(wordnet.lemmas(number)),
            text=wordnet.gloss(number),
            url=_SITE + wordnet.name(number),
            topic=number,
        )

    def __iter__(self) -> Iterator[Document]:
        return (self[number] for number in range(len(self)))

    def number_of(self, url: str) -> int | None:
        """The document at ``url``, or None if it is not one of this corpus."""
        if not url.startswith(_SITE):
            return None
        return self.wordnet.find(url.removeprefix(_SITE))


@cache
def wordnet_corpus() -> WordNetCorpus:
    """The corpus over the bundled WordNet."""
    return WordNetCorpus(load_wordnet())
