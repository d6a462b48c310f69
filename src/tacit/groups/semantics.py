"""Profiles by meaning: synonym sets instead of words, with their hypernyms (paper, section 3.2).

Step 1 replaces each term by its synonym set; step 2 adds the hypernym sets within ``a`` steps, each with the
weight of the term it came from (Table 4). Where terms of a profile meet in one set, their weights add up. A
term that WordNet does not know stays as it is.

A word can mean several synonym sets, and a synonym set can have several paths of hypernyms up to the root
(figure 1). Each such path is a candidate, described by the words on it, a word s steps above the meaning
weighing 1/(1+s). The candidate with the largest cosine between that description and the user's other terms
wins; ties go to WordNet's own order: the most frequent sense first, its primary hypernym first.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import ParameterError
from tacit.groups.profiles import Profiles
from tacit.taxonomy import WordNet, load_wordnet


@cache
def hypernym_paths(wordnet: WordNet, synset: int) -> tuple[tuple[int, ...], ...]:
    """Every path from a synonym set to the root, itself first (Definition 4)."""
    above = wordnet.hypernyms(synset)
    if not above:
        return ((synset,),)
    return tuple((synset, *path) for hypernym in above for path in hypernym_paths(wordnet, hypernym))


@cache
def _words(wordnet: WordNet, synset: int) -> tuple[str, ...]:
    """The synonyms in lower case."""
    return tuple(lemma.lower() for lemma in wordnet.lemmas(synset))


class CandidatePaths:
    """The candidate paths of every term of a vocabulary, numbered term after term.

    A word that WordNet does not know is a candidate of its own: the feature ``len(wordnet) + its column``.

    Attributes:
        first: the number of each term's first candidate; one more at the end.
        evidence: row c describes candidate c in terms of the vocabulary, at length 1, so that a product with
            a profile ranks as the cosine does.
        features: row c has 1 for the synonym set of candidate c and for its hypernyms up to ``steps``.
    """

    def __init__(self, wordnet: WordNet, vocabulary: Sequence[str], steps: int) -> None:
        columns = _columns_by_lemma(wordnet, vocabulary)
        first, described, features = [0], list[dict[int, float]](), list[tuple[int, ...]]()
        for column, term in enumerate(vocabulary):
            paths = [path for sense in wordnet.senses(term) for path in hypernym_paths(wordnet, sense)]
            for path in paths or [(len(wordnet) + column,)]:
                features.append(path[: steps + 1])
                read = [_words(wordnet, synset) for synset in path] if len(paths) > 1 else []
                described.append(_describe(read, columns, column))
            first.append(len(features))
        self.first = np.array(first)
        self.evidence = _sparse(described, len(vocabulary))
        self.features = _sparse(
            [dict.fromkeys(path, 1.0) for path in features], len(wordnet) + len(vocabulary)
        )

    def choose(self, terms: NDArray[np.int32], context: NDArray[np.float32]) -> NDArray[np.int64]:
        """For each of a user's terms the candidate that agrees best with the user's weights ``context``."""
        lengths = self.first[terms + 1] - self.first[terms]
        begins = np.cumsum(lengths) - lengths
        term = np.repeat(np.arange(terms.size), lengths)
        candidates = np.arange(term.size) + (self.first[terms] - begins)[term]
        agreement = self.evidence[candidates] @ context
        found: NDArray[np.int64] = candidates[np.lexsort((candidates, -agreement, term))[begins]]
        return found


def _sparse(rows: Sequence[Mapping[int, float]], width: int) -> sparse.csr_array:
    offsets = np.cumsum([0, *map(len, rows)])
    columns = np.fromiter((column for row in rows for column in row), np.int32, offsets[-1])
    weights = np.fromiter((weight for row in rows for weight in row.values()), np.float32, offsets[-1])
    return sparse.csr_array((weights, columns, offsets), shape=(len(rows), width))


@lru_cache(maxsize=4)
def _candidates(wordnet: WordNet, vocabulary: tuple[str, ...], steps: int) -> CandidatePaths:
    """Look a vocabulary up once for all bundlings of the same people."""
    return CandidatePaths(wordnet, vocabulary, steps)


def _columns_by_lemma(wordnet: WordNet, vocabulary: Sequence[str]) -> dict[str, list[int]]:
    """Base form to the terms that have it, so that "dogs" in a profile meets "dog" on a path."""
    columns: dict[str, list[int]] = {}
    for column, term in enumerate(vocabulary):
        columns.setdefault(wordnet.lemma(term) or term, []).append(column)
    return columns


def _describe(
    path_words: Sequence[Sequence[str]], columns: dict[str, list[int]], own: int
) -> dict[int, float]:
    """The words on a path as weighted terms of the vocabulary, without the term itself."""
    weight: dict[str, float] = {}
    for step, words in enumerate(path_words):
        for word in words:
            weight.setdefault(word, 1 / (1 + step))
    length = math.sqrt(math.fsum(w * w for w in weight.values()))
    return {
        column: w / length for word, w in weight.items() for column in columns.get(word, ()) if column != own
    }


MOST_STEPS = 20
"""More hypernyms than lie above any noun of WordNet; asking for more only takes memory."""


class Semantics:
    """Augments profiles from WordNet.

    Args:
        steps: the paper's a: how many steps up hypernyms are added; 0 replaces by synonym sets only.
    """

    def __init__(self, steps: int = 1) -> None:
        if not 0 <= steps <= MOST_STEPS:
            raise ParameterError.outside("augment", steps, f"from 0 to {MOST_STEPS}")
        self.steps = steps

    def augment(self, profiles: Profiles) -> sparse.csr_array:
        """Weigh the synonym sets and hypernyms of each profile (Tables 3 and 4)."""
        paths = _candidates(load_wordnet(), tuple(profiles.vocabulary), self.steps)
        chosen, context = [], np.zeros(len(profiles.vocabulary), np.float32)
        for row in range(len(profiles)):
            held = profiles.held(row)
            terms = profiles.terms[held]
            context[terms] = profiles.weights[held]
            chosen.append(paths.choose(terms, context))
            context[terms] = 0
        shape = (len(profiles), paths.features.shape[0])
        taken = sparse.csr_array((profiles.weights, np.concatenate(chosen), profiles.offsets), shape=shape)
        return sparse.csr_array(taken @ paths.features)
