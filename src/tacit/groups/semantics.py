"""Profiles by meaning: synonym sets instead of words, with their hypernyms (paper, section 3.2).

Step 1 replaces each term by its synonym set; step 2 adds the hypernym sets within ``a`` steps, each with the
weight of the term it came from (Table 4). Where terms of a profile meet in one set, their weights add up. A
term that WordNet does not know stays as it is.

A word can mean several synonym sets, and a synonym set can have several paths of hypernyms up to the root
(figure 1). Each such path is a candidate, described by the words on it, a word s steps above the meaning
weighing 1/(1+s). The candidate with the largest cosine between that description and the user's other terms
wins; ties go to WordNet's own order: the most frequent sense first, its primary hypernym first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import sparse

from tacit.errors import ParameterError
from tacit.groups.loops.similarity import Candidates, choose_candidates
from tacit.groups.profiles import Profiles
from tacit.groups.similarity import UnitVectors
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


@dataclass(frozen=True, eq=False)
class PathTable:
    """The candidate paths of every term of a vocabulary.

    Attributes:
        candidates: what each candidate is described by.
        features: row c has 1 for the synonym set of candidate c and for its hypernyms up to the chosen
            number of steps.
    """

    candidates: Candidates
    features: sparse.csr_array

    @classmethod
    def of(cls, wordnet: WordNet, vocabulary: Sequence[str], steps: int) -> PathTable:
        """Look up every term; a word WordNet does not know is a candidate of its own.

        Such a word gets the feature number ``len(wordnet) + its column``.
        """
        columns = _columns_by_lemma(wordnet, vocabulary)
        of_term, evidence_of = [0], [0]
        evidence_term: list[int] = []
        evidence_weight: list[float] = []
        feature_of, features = [0], list[int]()
        for column, term in enumerate(vocabulary):
            paths = [path for sense in wordnet.senses(term) for path in hypernym_paths(wordnet, sense)]
            paths = paths or [(len(wordnet) + column,)]
            for path in paths:
                features.extend(path[: steps + 1])
                feature_of.append(len(features))
                if len(paths) > 1:
                    described = _describe([_words(wordnet, synset) for synset in path], columns, column)
                    evidence_term.extend(described)
                    evidence_weight.extend(described.values())
                evidence_of.append(len(evidence_term))
            of_term.append(len(evidence_of) - 1)
        return cls(
            Candidates(
                np.array(of_term, np.int64),
                np.array(evidence_of, np.int64),
                np.array(evidence_term, np.int32),
                np.array(evidence_weight, np.float32),
            ),
            sparse.csr_array(
                (np.ones(len(features), np.float32), features, feature_of),
                shape=(len(evidence_of) - 1, len(wordnet) + len(vocabulary)),
            ),
        )


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


def plain_vectors(profiles: Profiles) -> UnitVectors:
    """The profiles without semantics: two terms are alike only if they are the same word."""
    return UnitVectors.of(profiles.matrix())


class Semantics:
    """Augments profiles from WordNet.

    Args:
        steps: the paper's a: how many steps up hypernyms are added; 0 replaces by synonym sets only.
        wordnet: the bundled one unless given.
    """

    def __init__(self, steps: int = 1, wordnet: WordNet | None = None) -> None:
        if not 0 <= steps <= MOST_STEPS:
            raise ParameterError.outside("augment", steps, f"from 0 to {MOST_STEPS}")
        self.steps = steps
        self.wordnet = wordnet or load_wordnet()

    def augment(self, profiles: Profiles) -> UnitVectors:
        """The augmented profiles, ready for eq. 4."""
        return UnitVectors.of(self._augmented(profiles))

    def augment_profile(self, profile: Mapping[str, float]) -> dict[str, float]:
        """One augmented profile, each synonym set under its WordNet name (Tables 3 and 4).

        >>> Semantics(1).augment_profile({"kitten": 1.0})
        {'kitten.n.01': 1.0, 'young_mammal.n.01': 1.0}
        """
        profiles = Profiles.from_mappings({"": profile})
        found, known = self._augmented(profiles), len(self.wordnet)
        found.sort_indices()
        return {
            self.wordnet.name(f) if f < known else profiles.vocabulary[f - known]: round(float(w), 6)
            for f, w in zip(found.indices.tolist(), found.data.tolist(), strict=True)
        }

    def _augmented(self, profiles: Profiles) -> sparse.csr_array:
        table = PathTable.of(self.wordnet, profiles.vocabulary, self.steps)
        chosen = choose_candidates(profiles.rows, profiles.weights, table.candidates)
        shape = (len(profiles), table.features.shape[0])
        paths = sparse.csr_array((profiles.weights, chosen, profiles.offsets), shape=shape)
        return sparse.csr_array(paths @ table.features)
