"""Query substitution: what to search for instead (paper 004, section III, after Jones et al., 2006).

A query is segmented into phrases: two adjacent words are of one phrase if their pointwise mutual
information, from the counts of a release, exceeds a limit. A whole query may be replaced by one that users
searched right after it; a phrase of it by one that users put in its place, everything else kept. Pairs are
ranked by how much more often the second follows the first than chance would have it (log-likelihood ratio),
ties by how often.

The ranking from the original log is the truth. Units are the distinct test queries for which it has a
substitution. For the top j = 2, 5, 10:

- ``precision``: the share of the release's substitutions that are among the original's;
- ``recall``: the share of the original's that are among the release's;
- ``MAP``: the mean over the original's of smaller over larger of its two ranks, 0 for one that is missing.
  The paper's sum of ratios grows above 1, is largest for a reversed list, and leaves a missing one
  undefined;
- ``coverage``: how many of the places that the original fills the release fills with anything.

The headline puts WordNet's synonyms behind the release's substitutions: with nothing released they are alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import log

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.evaluate.data import CountedLog, LogPart, ReleasedData, released_whole
from tacit.evaluate.public import with_synonyms
from tacit.evaluate.task import Measured, Measures, Task

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


TOP = (2, 5, 10)
"""How many substitutions are compared."""
_HEADLINE = 5

Pair = tuple[str, str]
Score = tuple[float, float]
"""Likelihood ratio, count."""


class Substitutions:
    """What a release says may stand for a query, best first."""

    def __init__(self, released: ReleasedData) -> None:
        queries = released.queries.texts.to_pylist()
        self._phrases = Phrases(zip(queries, released.query_counts.tolist(), strict=True))
        steps = released.steps
        whole: dict[Pair, float] = {}
        parts: defaultdict[Pair, float] = defaultdict(float)
        cut: dict[int, tuple[str, ...]] = {}
        for row, column, weight in zip(
            steps.row.tolist(), steps.column.tolist(), steps.weight.tolist(), strict=True
        ):
            whole[queries[row], queries[column]] = weight
            for number in (row, column):
                if number not in cut:
                    cut[number] = self._phrases.cut(queries[number])
            different = _only_difference(cut[row], cut[column])
            if different is not None:
                parts[different] += weight
        self._whole, self._parts = _best(whole), _best(parts)

    def best(self, query: str, most: int = max(TOP)) -> list[str]:
        """The best substitutions of a query."""
        found: dict[str, Score] = dict(self._whole.get(query, ()))
        phrases = self._phrases.cut(query)
        for place, phrase in enumerate(phrases):
            for other, score in self._parts.get(phrase, ()):
                text = " ".join((*phrases[:place], other, *phrases[place + 1 :]))
                found[text] = max(score, found.get(text, score))
        return _in_order(found.items())[:most]


def _in_order(scored: Iterable[tuple[str, Score]]) -> list[str]:
    return [text for text, _ in sorted(scored, key=lambda entry: (-entry[1][0], -entry[1][1], entry[0]))]


def _only_difference(first: Sequence[str], second: Sequence[str]) -> Pair | None:
    """The one phrase in which two queries differ, if there is just one."""
    if len(first) != len(second):
        return None
    different = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    return different[0] if len(different) == 1 else None


def _best(pairs: Mapping[Pair, float]) -> dict[str, list[tuple[str, Score]]]:
    """For each first its seconds with their scores, the best ten."""
    if not pairs:
        return {}
    firsts, seconds = (pa.array([pair[side] for pair in pairs]).dictionary_encode() for side in (0, 1))
    count = np.array(list(pairs.values()))
    ratio = likelihood_ratio(np.asarray(firsts.indices), np.asarray(seconds.indices), count).round(9)
    found: defaultdict[str, dict[str, Score]] = defaultdict(dict)
    for (first, second), value, often in zip(pairs, ratio.tolist(), count.tolist(), strict=True):
        found[first][second] = value, often
    return {
        first: [(second, scored[second]) for second in _in_order(scored.items())[: max(TOP)]]
        for first, scored in found.items()
    }


def likelihood_ratio(
    first: NDArray[np.integer], second: NDArray[np.integer], count: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Dunning's log-likelihood ratio of each pair against chance; negative where it is rarer than that."""
    total = count.sum()
    row = np.bincount(first, count)[first]
    column = np.bincount(second, count)[second]
    observed = np.stack([count, row - count, column - count, total - row - column + count])
    expected = (
        np.stack(
            [row * column, row * (total - column), (total - row) * column, (total - row) * (total - column)]
        )
        / total
    )
    terms = np.where(observed > 0, observed, 1)
    ratio = 2 * np.where(observed > 0, observed * np.log(terms / np.where(expected > 0, expected, 1)), 0).sum(
        0
    )
    signed: NDArray[np.float64] = np.where(count >= expected[0], ratio, -ratio)
    return signed


class Substitution(Task):
    """Query substitution."""

    name = "substitution"
    title = "query substitution"
    description = "find other words for a query, as the original log would"
    unit = "test query with a substitution in the original log"
    nothing = "synonyms of WordNet"
    headline = "synonyms behind it: recall, top 5"

    def against(self, original: CountedLog, test: LogPart) -> SubstitutionTrial:
        return SubstitutionTrial(original, test)


class SubstitutionTrial:
    """Test queries that the original log has substitutions for, with these."""

    def __init__(self, original: CountedLog, test: LogPart) -> None:
        whole = Substitutions(released_whole(original))
        ranked = ((query, whole.best(query)) for query in test.queries.texts.to_pylist())
        self._truth = {query: best for query, best in ranked if best}
        self._synonyms = [with_synonyms(query, _HEADLINE) for query in self._truth]

    def measure(self, released: ReleasedData) -> Measures:
        substitutions = Substitutions(released)
        found = [substitutions.best(query) for query in self._truth]
        alone = {
            f"top {most}: {name}": Measured(_array(values))
            for most in TOP
            for name, values in _compared(self._truth.values(), found, most).items()
        }
        backed = [
            list(dict.fromkeys([*listed, *public]))
            for listed, public in zip(found, self._synonyms, strict=True)
        ]
        recall = _compared(self._truth.values(), backed, _HEADLINE)["recall"]
        return alone | {Substitution.headline: Measured(_array(recall))}


def _array(values: Iterable[float]) -> NDArray[np.float64]:
    return np.fromiter(values, np.float64)


def _compared(
    truth: Iterable[Sequence[str]], found: Iterable[Sequence[str]], most: int
) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {"precision": [], "recall": [], "MAP": [], "coverage": []}
    for wanted, listed in zip(truth, found, strict=True):
        wanted, listed = wanted[:most], listed[:most]
        rank = {text: place for place, text in enumerate(listed, start=1)}
        places = [(place, rank[text]) for place, text in enumerate(wanted, start=1) if text in rank]
        values["precision"].append(len(places) / len(listed) if listed else np.nan)
        values["recall"].append(len(places) / len(wanted) if listed else np.nan)
        agreement = sum(min(pair) / max(pair) for pair in places)
        values["MAP"].append(agreement / len(wanted) if listed else np.nan)
        values["coverage"].append(min(1.0, len(listed) / len(wanted)))
    return values
