"""Queries cut into phrases: adjacent words that belong together (after Jones et al., 2006).

Two adjacent words are of one phrase if they meet much more often than chance would have it: if their
pointwise mutual information, from the counts of a release, exceeds a limit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from math import log

__all__ = ["TOGETHER", "Phrases"]

TOGETHER = 3.0
"""Mutual information (natural logarithm) from which on two adjacent words make a phrase: 20 times chance."""


class Phrases:
    """Cuts queries by the counts of queries.

    Args:
        queries: each with its count.
        limit: the mutual information above which words stay together.
    """

    def __init__(self, queries: Iterable[tuple[str, float]], limit: float = TOGETHER) -> None:
        words: defaultdict[str, float] = defaultdict(float)
        pairs: defaultdict[tuple[str, str], float] = defaultdict(float)
        for query, count in queries:
            if count > 0:
                listed = query.split()
                for word in listed:
                    words[word] += count
                for pair in pairwise(listed):
                    pairs[pair] += count
        total_words, total_pairs = sum(words.values()), sum(pairs.values())
        self._together = {
            pair
            for pair, count in pairs.items()
            if log(count / total_pairs)
            - log(words[pair[0]] / total_words)
            - log(words[pair[1]] / total_words)
            > limit
        }

    def cut(self, query: str) -> tuple[str, ...]:
        """The phrases of a query, in order; joined by spaces they are its words."""
        listed = query.split()
        if not listed:
            return ()
        phrases = [listed[0]]
        for before, word in pairwise(listed):
            if (before, word) in self._together:
                phrases[-1] += f" {word}"
            else:
                phrases.append(word)
        return tuple(phrases)
