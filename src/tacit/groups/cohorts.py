"""Cohorts: interests described by public data alone, the places of people in them, and ranking by one.

Places, and why one person moves nobody else's: docs/guarantees/groups.md, "Derivation".

**Ranking.** A result's score is its cosine to the centre plus its cosine to the cohort's words, without the
words of the query. Of a person's places one is **told**: that whose best twelfth of scores stands out most
above its mean score. How far it does is the evidence, against a null; where it is thin the engine's order
stays. The order is by λ·gate·(score - median) - ln(rank + 10).
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.groups.profiles import Profiles
from tacit.taxonomy import load_wordnet
from tacit.taxonomy.people import load_people
from tacit.text import words
from tacit.text.vectors import WordTable, load_word_table

PLACES = 3
"""How many cohorts a person is in, at most."""
MOST_KEYS = 50
"""How many (cohort, word) pairs of a person count towards what cohorts show."""
_NOWHERE = -1
_STEPS = 1 << 12
"""Directions are rounded to so many steps, so that scores are exact sums of whole numbers."""
_BLOCK = 20_000

_FEWEST_BEST, _BEST_SHARE = 2, 12
"""The best twelfth of the results, at least two, say how far they stand out."""
_NULL, _RAMP = 0.47, 0.06
_CALM = 10.0

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Standing:
    """What is kept of a person: places, and the (cohort, word) pairs that count towards cohorts' words."""

    places: tuple[int, ...]
    keys: tuple[tuple[int, int], ...]


class Cohorts:
    """The bundled cohorts; get them with :func:`load_cohorts`.

    Attributes:
        names: of the cohorts that may be told, by number.
        table: the words that cohorts are described by.
    """

    def __init__(self, described: Mapping[str, Any], table: WordTable) -> None:
        listed = sorted(described["cohorts"], key=lambda cohort: bool(cohort["sensitive"]))
        self.names: tuple[str, ...] = tuple(each["name"] for each in listed if not each["sensitive"])
        self.table = table
        self._centres: Floats = np.array([each["centre"] for each in listed], np.float64)
        self._lengths: Floats = np.linalg.norm(self._centres, axis=1)
        self._mean: Floats = np.array(described["mean"], np.float64)
        self._telling = frozenset[tuple[str, ...]]().union(*load_people().names)
        self._longest = max(map(len, self._telling), default=0)

    def __len__(self) -> int:
        return len(self.names)

    def sensitive(self, text: str) -> bool:
        """Whether a text holds a word or phrase that is sensitive by itself, wherever it stands."""
        row = [word.removesuffix("'s") for word in words(text)]
        return any(
            tuple(row[begin:end]) in self._telling
            for begin in range(len(row))
            for end in range(begin + 1, min(begin + self._longest, len(row)) + 1)
        )

    def directions(self, bags: Sequence[Mapping[int, int]]) -> Floats:
        """Find the direction of each bag of words, at length 1; zero where no word is known.

        Words weigh (1 + ln times)·how telling they are. A row does not depend on the others.
        """
        known = [[(word, times) for word, times in bag.items() if word < len(self.table)] for bag in bags]
        pairs = np.array([pair for bag in known for pair in bag], np.int64).reshape(-1, 2)
        distinct, columns = np.unique(pairs[:, 0], return_inverse=True)
        weights = (1 + np.log(pairs[:, 1])) * self.table.weight[pairs[:, 0]]
        offsets = np.cumsum([0, *map(len, known)])
        rows = sparse.csr_array((weights, columns, offsets), shape=(len(bags), distinct.size))
        found = _unit(rows @ (self.table.vectors[distinct].astype(np.float64) * self.table.scale))
        return np.where(found.any(axis=1, keepdims=True), _unit(found - self._mean), 0.0)

    def scores(self, directions: Floats) -> Floats:
        """The cosine of each direction and each centre, sensitive ones last."""
        return self._whole(directions) / (_STEPS * self._lengths)

    def _whole(self, directions: Floats) -> Floats:
        # Whole numbers below 2^53 add up exactly in doubles, in whatever order.
        return np.rint(directions * _STEPS) @ self._centres.T

    def nearest(self, bags: Sequence[Mapping[int, int]]) -> Integers:
        """The cohort to which each bag of words falls; -1 where it is sensitive, or no word is known."""
        found = []
        for begin in range(0, len(bags), _BLOCK):
            directions = self.directions(bags[begin : begin + _BLOCK])
            centre = np.argmax(self._whole(directions), axis=1)
            told = directions.any(axis=1) & (centre < len(self))
            found.append(np.where(told, centre, _NOWHERE))
        return np.concatenate([np.empty(0, np.int64), *found])

    @cached_property
    def domain(self) -> Integers:
        """The words that a cohort may show, ascending: nouns of the table that fall to no sensitive centre.

        Public data alone decides it.
        """
        wordnet = load_wordnet()
        numbers = [
            number
            for number, word in enumerate(self.table.words)
            if len(word) > 2 and self.table.weight[number] > 0 and wordnet.lemma(word) is not None
            if (word,) not in self._telling
        ]
        kept = self.nearest([{number: 1} for number in numbers]) != _NOWHERE
        found: Integers = np.array(numbers, np.int64)[kept]
        return found

    def people(self, evidence: Profiles, key: bytes) -> list[Standing]:
        """The places and keys of each person.

        Args:
            evidence: for each person the texts (queries, or terms of a profile) and how much each counts.
            key: a secret by which at most 50 pairs of a person are chosen.
        """
        bags = [self.table.bag(text) for text in evidence.vocabulary]
        private = np.array([self.sensitive(text) for text in evidence.vocabulary], bool)
        falls = np.where(private, _NOWHERE, self.nearest(bags))
        allowed = np.zeros(len(self.table), bool)
        allowed[self.domain] = True
        named = [[n for n in bag if n < len(self.table) and allowed[n]] for bag in bags]
        found = []
        for row, user in enumerate(evidence.users):
            held = evidence.held(row)
            texts, weights = evidence.terms[held].tolist(), evidence.weights[held].tolist()
            total: Counter[int] = Counter()
            for text, weight in zip(texts, weights, strict=True):
                if falls[text] != _NOWHERE:
                    total[int(falls[text])] += weight
            places = tuple(sorted(total, key=lambda cohort: (-total[cohort], cohort))[:PLACES])
            pairs = {(int(falls[text]), w) for text in texts if falls[text] in places for w in named[text]}
            found.append(Standing(places, _chosen(pairs, user, key)))
        return found

    def told(
        self,
        places: Sequence[int],
        shown: Mapping[int, Mapping[int, float]],
        results: Sequence[Mapping[str, Any]],
        query: str,
    ) -> tuple[int | None, Floats, float]:
        """The cohort that a request is told, the scores of the results by it, and the gate in [0, 1].

        Args:
            places: the person's.
            shown: the words of each cohort, by their numbers.
            results: mappings with ``title`` and ``snippet``.
            query: its words do not count.
        """
        if not places or not results:
            return None, np.zeros(len(results)), 0.0
        asked = self.table.bag(query)
        texts = (f"{each.get('title') or ''} {each.get('snippet') or ''}" for each in results)
        bags = [{word: n for word, n in self.table.bag(text).items() if word not in asked} for text in texts]
        by_centre = self.scores(self.directions(bags))[:, list(places)]
        by_words = [self._by_words(shown.get(place, {}), bags) for place in places]
        scores = by_centre + np.array(by_words).T
        best_ones = max(_FEWEST_BEST, len(results) // _BEST_SHARE)
        evidence = np.sort(scores, axis=0)[-best_ones:].mean(axis=0) - scores.mean(axis=0)
        best = int(evidence.argmax())
        gate = float(np.clip((evidence[best] - _NULL) / _RAMP, 0.0, 1.0))
        return places[best], scores[:, best], gate

    def _by_words(self, shown: Mapping[int, float], bags: Sequence[Mapping[int, int]]) -> Floats:
        """The cosine of each bag and a cohort's words, each by how telling it is."""
        weight = self.table.weight
        mine = {word: count * float(weight[word]) for word, count in shown.items()}
        length = float(np.linalg.norm(list(mine.values()))) if mine else 0.0
        found = np.zeros(len(bags))
        for place, bag in enumerate(bags):
            if meeting := mine.keys() & bag.keys():
                other = float(np.linalg.norm(weight[list(bag)]))
                found[place] = sum(mine[word] * float(weight[word]) for word in meeting) / (length * other)
        return found


def _chosen(pairs: set[tuple[int, int]], user: str, key: bytes) -> tuple[tuple[int, int], ...]:
    """Choose at most 50 of a person's pairs, by a keyed hash that depends on no other person."""

    def mark(pair: tuple[int, int]) -> bytes:
        text = f"{pair[0]} {pair[1]} {user}".encode()
        return hashlib.blake2b(text, key=key, digest_size=16).digest()

    return tuple(sorted(sorted(pairs, key=mark)[:MOST_KEYS]))


def order_of(scores: Floats, gate: float, strength: float) -> list[int]:
    """The places of results by λ·gate·(score - median) - ln(rank + 10); equal ones as they came."""
    if not scores.size:
        return []
    calm = np.log(np.arange(scores.size) + 1 + _CALM)
    value = strength * gate * (scores - np.median(scores)) - calm
    found: list[int] = np.argsort(-value, kind="stable").tolist()
    return found


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return found


@cache
def load_cohorts() -> Cohorts:
    """The bundled cohorts, read once per process."""
    text = (resources.files("tacit.data") / "cohorts" / "cohorts.json").read_text(encoding="utf-8")
    return Cohorts(json.loads(text), load_word_table())
