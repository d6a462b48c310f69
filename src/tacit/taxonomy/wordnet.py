"""WordNet 3.0 nouns: topic tree, synonyms, hypernyms, glosses and senses, bundled with Tacit.

A synset (a set of synonyms with one meaning) is a number from 0; the same number is its node in
:attr:`WordNet.tree`, whose parents are first hypernyms. Some synsets have several hypernyms:
:meth:`WordNet.hypernyms` gives them all.
"""

from __future__ import annotations

from functools import cache, cached_property
from importlib import resources

import numpy as np
import numpy.typing as npt

from tacit.errors import TaxonomyError
from tacit.taxonomy.columns import FlatColumns
from tacit.taxonomy.tree import TopicTree

__all__ = ["WordNet", "load_wordnet"]

# Regular plural endings of English nouns and what they stand for.
_ENDINGS = (
    ("ies", "y"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("men", "man"),
    ("s", ""),
)


def _columns(name: str) -> FlatColumns:
    with resources.as_file(resources.files("tacit.data") / "wordnet" / name) as path:
        return FlatColumns(path)


class WordNet:
    """The noun part of WordNet; get it with :func:`load_wordnet`."""

    def __init__(self) -> None:
        self._nouns = _columns("nouns.parquet")
        self._names: list[str] = self._nouns.all_texts("name")
        self._parent: npt.NDArray[np.int32] = self._nouns.array("parent")

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"WordNet({len(self):,} noun synsets, {len(self._word_row):,} words)"

    @cached_property
    def _senses(self) -> FlatColumns:
        return _columns("senses.parquet")

    @cached_property
    def _word_row(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self._senses.all_texts("word"))}

    @cached_property
    def tree(self) -> TopicTree:
        """The topic tree over first hypernyms; node t is synset t.

        Supports are the counts of the synset in Princeton's sense-tagged corpus, plus one at leaves.
        """
        counts = self.tag_counts.astype(np.float64)
        leaf = np.ones(len(self), bool)
        leaf[self._parent[1:]] = False
        counts[leaf] += 1
        return TopicTree(self._parent, self._names, counts)

    @cached_property
    def tag_counts(self) -> npt.NDArray[np.int64]:
        """How often each synset was meant in Princeton's sense-tagged corpus."""
        offsets = self._nouns.offsets("counts")
        running = np.concatenate(([0], np.cumsum(self._nouns.array("counts"), dtype=np.int64)))
        totals: npt.NDArray[np.int64] = running[offsets[1:]] - running[offsets[:-1]]
        return totals

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: synset for synset, name in enumerate(self._names)}

    @cached_property
    def _hyponyms(self) -> list[tuple[int, ...]]:
        below: list[list[int]] = [[] for _ in range(len(self))]
        for synset in range(len(self)):
            for hypernym in self.hypernyms(synset):
                below[hypernym].append(synset)
        return [tuple(found) for found in below]

    @cached_property
    def _irregular(self) -> dict[str, tuple[str, ...]]:
        table = _columns("inflections.parquet")
        return {form: table.texts("bases", row) for row, form in enumerate(table.all_texts("form"))}

    # -- synsets -------------------------------------------------------------------------------------

    def synset(self, name: str) -> int:
        """The synset of that name, such as ``dog.n.01``."""
        found = self.find(name)
        if found is None:
            raise TaxonomyError(
                "WordNet has no noun synset of that name.", "Names look like dog.n.01: word, n, sense."
            )
        return found

    def find(self, name: str) -> int | None:
        """The synset of that name, or None when there is none."""
        return self._number.get(name)

    def name(self, synset: int) -> str:
        """The name of a synset: its first lemma and which sense of it this is."""
        return self._names[synset]

    def lemmas(self, synset: int) -> tuple[str, ...]:
        """The synonyms, as written: ``('domestic dog', 'dog', 'Canis familiaris')``."""
        return self._nouns.texts("lemmas", synset)

    def lemma_counts(self, synset: int) -> tuple[int, ...]:
        """How often each lemma was tagged with this meaning, in the order of :meth:`lemmas`."""
        return self._nouns.numbers("counts", synset)

    def tag_count(self, synset: int) -> int:
        """How often the synset was meant in Princeton's sense-tagged corpus."""
        return int(self.tag_counts[synset])

    def gloss(self, synset: int) -> str:
        """The definition, with examples."""
        return self._nouns.text("gloss", synset)

    def hypernyms(self, synset: int) -> tuple[int, ...]:
        """The more general synsets directly above; the first is the parent in the tree."""
        return self._nouns.numbers("hypernyms", synset)

    def hyponyms(self, synset: int) -> tuple[int, ...]:
        """The more specific synsets directly below."""
        return self._hyponyms[synset]

    # -- words ---------------------------------------------------------------------------------------

    @property
    def vocabulary(self) -> list[str]:
        """All nouns and noun phrases, sorted."""
        return list(self._word_row)

    def lemma(self, word: str) -> str | None:
        """The base form of a noun, or None when WordNet does not know it.

        >>> load_wordnet().lemma("Geese"), load_wordnet().lemma("eagles"), load_wordnet().lemma("xyzzy")
        ('goose', 'eagle', None)
        """
        word = word.lower().replace("_", " ")
        if word in self._word_row:
            return word
        for base in self._irregular.get(word, ()):
            if base in self._word_row:
                return base
        for ending, stem in _ENDINGS:
            if word.endswith(ending):
                base = word.removesuffix(ending) + stem
                if base in self._word_row:
                    return base
        return None

    def senses(self, word: str) -> tuple[int, ...]:
        """The synsets a noun can mean, most frequent first; empty when unknown."""
        base = self.lemma(word)
        return () if base is None else self._senses.numbers("synsets", self._word_row[base])


@cache
def load_wordnet() -> WordNet:
    """The bundled WordNet nouns, read once per process."""
    return WordNet()
