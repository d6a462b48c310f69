"""Synthetic interest profiles over WordNet: populations of any size, reproducible by seed.

A **topic** is a part of WordNet's tree of a few hundred synonym sets (cut where a node is small enough
and its parent is not). A user has a few topics, popular ones more often; most of the user's terms are
words of these topics, the rest are words of anything. Within both, words come as often as Princeton's
sense-tagged corpus has them. All weights are 1, as in the paper's experiments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.compiled import compiled
from tacit.groups import Profiles
from tacit.taxonomy import WordNet, load_wordnet

_LARGEST_TOPIC = 600
_SMALLEST_TOPIC = 60
_TOPICS_A_USER = 4
_ON_TOPIC = 0.75


@dataclass(frozen=True)
class _Vocabulary:
    """Words, and which topic each one belongs to; a topic's words are next to each other.

    Attributes:
        words: one entry for each (topic, word); words of several topics stand several times.
        column: the entry's place in the alphabetical vocabulary.
        ends: running sum of the entries' frequencies.
        topic_starts: where each topic's entries begin; one more at the end.
    """

    words: list[str]
    column: NDArray[np.int32]
    ends: NDArray[np.float64]
    topic_starts: NDArray[np.int64]


def interest_profiles(users: int, terms: int = 150, seed: int = 0) -> Profiles:
    """``users`` profiles of exactly ``terms`` terms each."""
    vocabulary = _vocabulary(load_wordnet())
    columns = _draw(
        users,
        terms,
        seed,
        vocabulary.column,
        vocabulary.ends,
        vocabulary.topic_starts,
        len(vocabulary.words),
    )
    occurring = np.bincount(columns.ravel(), minlength=len(vocabulary.words)) > 0
    renumbered = (np.cumsum(occurring) - 1).astype(np.int32)
    return Profiles(
        [f"user-{number}" for number in range(users)],
        [vocabulary.words[column] for column in np.flatnonzero(occurring)],
        np.arange(0, users * terms + 1, terms, dtype=np.int64),
        renumbered[columns].ravel(),
        np.ones(users * terms, np.float32),
    )


def _vocabulary(wordnet: WordNet) -> _Vocabulary:
    tree = wordnet.tree
    size = tree.end - np.arange(len(tree)) + 1
    small = size <= _LARGEST_TOPIC
    parent_large = np.concatenate(([True], ~small[tree.parent[1:]]))
    topics = np.flatnonzero(small & parent_large & (size >= _SMALLEST_TOPIC))
    entries: list[tuple[str, int]] = []
    starts = [0]
    for topic in topics.tolist():
        frequency: dict[str, int] = {}
        for synset in range(topic, int(tree.end[topic]) + 1):
            for lemma, count in zip(wordnet.lemmas(synset), wordnet.lemma_counts(synset), strict=True):
                if lemma.isalpha() and lemma.islower():
                    frequency[lemma] = frequency.get(lemma, 0) + count + 1
        entries.extend(sorted(frequency.items()))
        starts.append(len(entries))
    words = sorted({word for word, _ in entries})
    column = {word: index for index, word in enumerate(words)}
    return _Vocabulary(
        words,
        np.array([column[word] for word, _ in entries], np.int32),
        np.cumsum([count for _, count in entries], dtype=np.float64),
        np.array(starts, np.int64),
    )


@compiled
def _draw(
    users: int,
    terms: int,
    seed: int,
    column: NDArray[np.int32],
    ends: NDArray[np.float64],
    topic_starts: NDArray[np.int64],
    words: int,
) -> NDArray[np.int32]:
    np.random.seed(seed)
    topics = topic_starts.size - 1
    # Popularity falls as 1 / rank; the order is random, so that popular topics lie anywhere in the tree.
    order = np.random.permutation(topics)
    popularity = np.cumsum(1 / np.arange(2, topics + 2))
    drawn = np.empty((users, terms), np.int32)
    holder = np.full(words, -1, np.int64)
    for user in range(users):
        own = np.empty(_TOPICS_A_USER, np.int64)
        for place in range(_TOPICS_A_USER):
            own[place] = order[np.searchsorted(popularity, np.random.random() * popularity[-1])]
        found = 0
        while found < terms:
            begin, end = 0, column.size
            if np.random.random() < _ON_TOPIC:
                topic = own[np.random.randint(_TOPICS_A_USER)]
                begin, end = topic_starts[topic], topic_starts[topic + 1]
            low = ends[begin - 1] if begin > 0 else 0.0
            entry = np.searchsorted(ends, low + np.random.random() * (ends[end - 1] - low), side="right")
            word = column[min(entry, end - 1)]
            if holder[word] != user:
                holder[word] = user
                drawn[user, found] = word
                found += 1
        drawn[user].sort()
    return drawn
