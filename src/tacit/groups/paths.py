"""Which meaning of a word a user has in mind: hypernym paths, chosen by the whole profile.

A word can mean several synonym sets, and a synonym set can have several paths of hypernyms up to the
root (paper, figure 1). Each such path is a candidate. A candidate is described by the words on it, a
word s steps above the meaning weighing 1/(1+s), because near hypernyms say more than "entity" does.
The candidate with the largest cosine between that description and the user's other terms wins. Where
no candidate shares a word with the profile, or several do equally, WordNet's own order decides: the
most frequent sense first, its primary hypernym first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.compiled import compiled
from tacit.groups.profiles import Rows
from tacit.taxonomy import WordNet

__all__ = ["PathTable", "choose_paths", "hypernym_paths"]


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


class _Candidates(NamedTuple):
    """The candidates of every term of a vocabulary, for compiled loops."""

    of_term: NDArray[np.int64]
    """Term v's candidates are ``of_term[v]`` up to ``of_term[v + 1]``."""
    evidence_of: NDArray[np.int64]
    """Candidate c's evidence is ``evidence_of[c]`` up to ``evidence_of[c + 1]``."""
    evidence_term: NDArray[np.int32]
    evidence_weight: NDArray[np.float32]
    """Divided by the length of the candidate's description, so that a sum over the profile ranks as
    the cosine does (the profile's own length is the same for all candidates)."""


@dataclass(frozen=True, eq=False)
class PathTable:
    """The candidate paths of every term of a vocabulary.

    Attributes:
        candidates: what each candidate is described by.
        features: row c holds the synonym set of candidate c and its hypernyms up to the chosen number
            of steps; -1 where the path ends before.
    """

    candidates: _Candidates
    features: NDArray[np.int32]

    @classmethod
    def of(cls, wordnet: WordNet, vocabulary: Sequence[str], steps: int) -> PathTable:
        """Look up every term; a word WordNet does not know is a candidate of its own.

        Such a word gets the feature number ``len(wordnet) + its column``.
        """
        columns = _columns_by_lemma(wordnet, vocabulary)
        of_term, evidence_of = [0], [0]
        evidence_term: list[int] = []
        evidence_weight: list[float] = []
        features: list[tuple[int, ...]] = []
        for column, term in enumerate(vocabulary):
            paths = [path for sense in wordnet.senses(term) for path in hypernym_paths(wordnet, sense)]
            paths = paths or [(len(wordnet) + column,)]
            for path in paths:
                features.append((path + (-1,) * steps)[: steps + 1])
                if len(paths) > 1:
                    described = _describe([_words(wordnet, synset) for synset in path], columns, column)
                    evidence_term.extend(described)
                    evidence_weight.extend(described.values())
                evidence_of.append(len(evidence_term))
            of_term.append(len(features))
        return cls(
            _Candidates(
                np.array(of_term, np.int64),
                np.array(evidence_of, np.int64),
                np.array(evidence_term, np.int32),
                np.array(evidence_weight, np.float32),
            ),
            np.array(features, np.int32).reshape(len(features), steps + 1),
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


def choose_paths(rows: Rows, weights: NDArray[np.float32], table: PathTable) -> NDArray[np.int32]:
    """The candidate chosen for each posting of each profile."""
    return _choose(rows, weights, table.candidates)


@compiled
def _choose(rows: Rows, weights: NDArray[np.float32], candidates: _Candidates) -> NDArray[np.int32]:
    chosen = np.empty(rows.terms.size, np.int32)
    context = np.zeros(candidates.of_term.size - 1, np.float32)
    for row in range(rows.offsets.size - 1):
        begin, end = rows.offsets[row], rows.offsets[row + 1]
        for at in range(begin, end):
            context[rows.terms[at]] = weights[at]
        for at in range(begin, end):
            term = rows.terms[at]
            best = candidates.of_term[term]
            most = np.float32(0)
            if candidates.of_term[term + 1] - best > 1:
                for candidate in range(candidates.of_term[term], candidates.of_term[term + 1]):
                    agreement = np.float32(0)
                    for e in range(candidates.evidence_of[candidate], candidates.evidence_of[candidate + 1]):
                        agreement += context[candidates.evidence_term[e]] * candidates.evidence_weight[e]
                    if agreement > most:
                        best, most = candidate, agreement
            chosen[at] = best
        for at in range(begin, end):
            context[rows.terms[at]] = 0
    return chosen
