"""Query substitution: what to search for instead (paper 004, section III, after Jones et al., 2006).

How queries are cut and pairs ranked, and why MAP is not the paper's: docs/reference/evaluation/tasks.md. The
headline puts WordNet's synonyms behind the release's substitutions: with nothing released they are alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.evaluate import data as logs
from tacit.evaluate.public import with_synonyms
from tacit.evaluate.task import Measured, Measures, Task, places

TOGETHER = 3.0
"""Mutual information (natural logarithm) from which on two adjacent words make a phrase: 20 times chance."""


class Phrases:
    """Cuts queries by the counts of different queries."""

    def __init__(self, queries: pa.Array, counts: NDArray[np.float64]) -> None:
        query, listed = _words(queries)
        self._vocabulary = logs.Vocabulary(listed)
        word, weight = self._vocabulary.find(listed), np.maximum(counts, 0)[query]
        follows = query[1:] == query[:-1]
        met = logs.add_up(word[:-1][follows], word[1:][follows], weight[1:][follows])
        words = np.bincount(word, weight, minlength=len(self._vocabulary))
        counted = met.weight > 0
        first, second, often = met.row[counted], met.column[counted], met.weight[counted]
        by_chance = np.log(words[first] / words.sum()) + np.log(words[second] / words.sum())
        together = np.log(often / often.sum()) - by_chance > TOGETHER
        self._together = self._pair(first[together], second[together])

    def _pair(self, first: logs.Numbers, second: logs.Numbers) -> logs.Numbers:
        return first * len(self._vocabulary) + second

    def cut(self, queries: pa.Array) -> tuple[logs.Numbers, pa.Array]:
        """Cut all queries, in order, into phrases: whose they are, and their words."""
        query, listed = _words(queries)
        word = self._vocabulary.find(listed)
        begins = np.ones(len(word), np.bool_)
        met = (query[1:] == query[:-1]) & (word[1:] >= 0) & (word[:-1] >= 0)
        begins[1:] = ~(met & np.isin(self._pair(word[:-1], word[1:]), self._together))
        starts = np.flatnonzero(begins)
        phrases = pa.ListArray.from_arrays(pa.array(np.append(starts, len(word)), pa.int32()), listed)
        return query[starts], pc.binary_join(phrases, " ")


def _words(queries: pa.Array) -> tuple[logs.Numbers, pa.Array]:
    """List all words of all queries in order, with whose they are."""
    lists = pc.utf8_split_whitespace(queries)
    words = lists.flatten()
    there = pc.not_equal(words, "")
    query = pc.list_parent_indices(lists).filter(there)
    return np.asarray(query).astype(np.int64), words.filter(there)


TOP = (2, 5, 10)
"""How many substitutions are compared."""
_HEADLINE = 5

Score = tuple[float, float]
"""Likelihood ratio, count."""


@dataclass(frozen=True, eq=False)
class _Best:
    """What may stand for what, numbered in the order of the alphabet: the best ten of each, best first."""

    first: logs.Numbers
    second: logs.Numbers
    ratio: NDArray[np.float64]
    count: NDArray[np.float64]

    @classmethod
    def of(cls, pairs: logs.Weighted) -> _Best:
        ratio = likelihood_ratio(pairs.row, pairs.column, pairs.weight).round(9)
        order = np.lexsort((pairs.column, -pairs.weight, -ratio, pairs.row))
        kept = order[places(pairs.row[order]) <= max(TOP)]
        return cls(pairs.row[kept], pairs.column[kept], ratio[kept], pairs.weight[kept])

    def seconds(self, wanted: logs.Numbers) -> Iterable[tuple[int, int, Score]]:
        """Find for each wanted number in turn its place, and what may stand for it, with the score."""
        place, source = logs.rows_with(wanted, self.first)
        scores = zip(self.ratio[source].tolist(), self.count[source].tolist(), strict=True)
        return zip(place.tolist(), self.second[source].tolist(), scores, strict=True)


class Substitutions:
    """What a release says may stand for a query, best first."""

    def __init__(self, released: logs.ReleasedData) -> None:
        self._queries, steps = released.queries, released.steps
        self._phrases = Phrases(self._queries.texts, released.query_counts)
        self._whole = _Best.of(steps)
        query, listed = self._phrases.cut(self._queries.texts)
        self._listed = logs.Vocabulary(listed)
        phrase, begins = self._listed.find(listed), np.searchsorted(query, np.arange(len(self._queries) + 1))
        lengths = np.diff(begins)
        alike = lengths[steps.row] == lengths[steps.column]
        row, column, weight = steps.row[alike], steps.column[alike], steps.weight[alike]
        pair, here = logs.ranges(begins[row], lengths[row])
        there = here + (begins[column] - begins[row])[pair]
        differ = phrase[here] != phrase[there]
        differ &= (np.bincount(pair[differ], minlength=len(row)) == 1)[pair]  # and nowhere else
        self._parts = _Best.of(logs.add_up(phrase[here[differ]], phrase[there[differ]], weight[pair[differ]]))

    def best(self, queries: Sequence[str], most: int = max(TOP)) -> list[list[str]]:
        """The best substitutions of each query."""
        if not len(self._whole.first):
            return [[]] * len(queries)
        asked = pa.array(queries, pa.string())
        found: defaultdict[int, dict[str, Score]] = defaultdict(dict)
        texts = self._queries.texts
        for query, other, score in self._whole.seconds(self._queries.find(asked)):
            found[query][texts[other].as_py()] = score
        whose, listed = self._phrases.cut(asked)
        phrases, owner = listed.to_pylist(), whose.tolist()
        begins = np.searchsorted(whose, np.arange(len(queries) + 1)).tolist()
        for place, other, score in self._parts.seconds(self._listed.find(listed)):
            query = owner[place]
            begin, end = begins[query : query + 2]
            instead = self._listed.texts[other].as_py()
            text = " ".join((*phrases[begin:place], instead, *phrases[place + 1 : end]))
            found[query][text] = max(score, found[query].get(text, score))
        return [_in_order(found[n].items())[:most] if n in found else [] for n in range(len(queries))]


def _in_order(scored: Iterable[tuple[str, Score]]) -> list[str]:
    return [text for text, _ in sorted(scored, key=lambda entry: (-entry[1][0], -entry[1][1], entry[0]))]


def likelihood_ratio(
    first: NDArray[np.integer], second: NDArray[np.integer], count: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Dunning's log-likelihood ratio of each pair against chance; negative where it is rarer than that."""
    total = count.sum()
    row = np.bincount(first, count)[first]
    column = np.bincount(second, count)[second]
    observed = np.stack([count, row - count, column - count, total - row - column + count])
    no_row, no_column = total - row, total - column
    expected = np.stack([row * column, row * no_column, no_row * column, no_row * no_column]) / total
    terms = np.where(observed > 0, observed, 1)
    logarithms = np.log(terms / np.where(expected > 0, expected, 1))
    ratio = 2 * np.where(observed > 0, observed * logarithms, 0).sum(axis=0)
    signed: NDArray[np.float64] = np.where(count >= expected[0], ratio, -ratio)
    return signed


class Substitution(Task):
    """Query substitution."""

    name = "substitution"
    title = "query substitution"
    description = "find other words for a query, as the original log would"
    unit = "test query with a substitution in the original log"
    nothing = "synonyms of WordNet"
    reads = ("queries", "clicks", "steps", "follows")
    headline = "synonyms behind it: recall, top 5"

    def against(self, original: logs.CountedLog, test: logs.LogPart) -> SubstitutionTrial:
        return SubstitutionTrial(original, test)


class SubstitutionTrial:
    """Test queries that the original log has substitutions for, with these."""

    def __init__(self, original: logs.CountedLog, test: logs.LogPart) -> None:
        asked = test.queries.texts.to_pylist()
        best = Substitutions(logs.released_whole(original)).best(asked)
        self._truth = {query: found for query, found in zip(asked, best, strict=True) if found}
        self._synonyms = [with_synonyms(query, _HEADLINE) for query in self._truth]
        self._unserved = _compared(self._truth.values(), [()] * len(self._truth))
        self._public = _compared(self._truth.values(), self._synonyms)[f"top {_HEADLINE}: recall"]

    def measure(self, released: logs.ReleasedData) -> Measures:
        found = Substitutions(released).best(list(self._truth))
        served = [place for place, listed in enumerate(found) if listed]
        truth = [wanted for wanted, listed in zip(self._truth.values(), found, strict=True) if listed]
        values = {name: value.copy() for name, value in self._unserved.items()}
        for name, value in _compared(truth, [found[place] for place in served]).items():
            values[name][served] = value
        backed = [list(dict.fromkeys([*found[place], *self._synonyms[place]])) for place in served]
        values[Substitution.headline] = self._public.copy()
        values[Substitution.headline][served] = _compared(truth, backed)[f"top {_HEADLINE}: recall"]
        return {name: Measured(value) for name, value in values.items()}


def _compared(
    truth: Iterable[Sequence[str]], found: Iterable[Sequence[str]]
) -> dict[str, NDArray[np.float64]]:
    named = ("precision", "recall", "MAP", "coverage")
    values: dict[str, list[float]] = {f"top {most}: {name}": [] for most in TOP for name in named}
    for whole, offered in zip(truth, found, strict=True):
        for most in TOP:
            wanted, listed = whole[:most], offered[:most]
            rank = {text: place for place, text in enumerate(listed, start=1)}
            places = [(place, rank[text]) for place, text in enumerate(wanted, start=1) if text in rank]
            agreement = sum(min(pair) / max(pair) for pair in places)
            values[f"top {most}: precision"].append(len(places) / len(listed) if listed else np.nan)
            values[f"top {most}: recall"].append(len(places) / len(wanted) if listed else np.nan)
            values[f"top {most}: MAP"].append(agreement / len(wanted) if listed else np.nan)
            values[f"top {most}: coverage"].append(min(1.0, len(listed) / len(wanted)))
    return {name: np.array(value) for name, value in values.items()}
