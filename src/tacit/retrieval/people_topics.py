"""What a text is about, among the topics of the people's taxonomy.

A text d and a topic t are compared twice: by the directions of their words, and word by word::

    F(d, t) = cos(v(d), v(t)) + L(d, t)

    v(d)    = sum over words w of  (1 + ln tf) idf(w) u(w)
    L(d, t) = sum over words w of  (1 + ln tf) idf(w) A[w, t]  /  length of d's weights
    A[w, t] = max over the topic's words k of  (cos(u(w), u(k)) - 1/2)+ / (1/2),   1 where t lists w itself,
              divided by the root of max(1, the sum of w's row)

u(w) is a word's vector without the mean of all and their two first principal components, at length 1; idf
comes from the public rank of a word (:mod:`tacit.text.vectors`). The words of a topic are written by hand;
phrases of two and more words stand for themselves wherever they occur in a row, and words outside the table
count as strings. Everything is computed from bundled data, word by word as texts need it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from tacit.once import once
from tacit.taxonomy.people import PeopleTaxonomy, Phrase, load_people
from tacit.text.tokens import words
from tacit.text.vectors import COMMONEST, FAMILIAR, WordTable, load_word_table, plural_forms

_Float32 = npt.NDArray[np.float32]

_COMPONENTS = 2
_SOFT = 0.5
"""The cosine from which on a word speaks for a topic that does not list it."""
_PART = 0.6
"""How much of its weight a word keeps that stands in a phrase."""


@dataclass(frozen=True, eq=False)
class _Row:
    """What one word or phrase says of topics."""

    direction: _Float32
    weight: float
    topics: npt.NDArray[np.intp]
    """Columns of the topics it speaks for."""
    shares: _Float32
    """A[w, t] of each."""


class PeopleTopics:
    """Scores texts against the topics of the people's taxonomy; get it with :func:`people_topics`.

    Attributes:
        people: the taxonomy.
        topics: the numbers of the topics compared, ascending: those that have words.
        matrix: the direction of each.
    """

    def __init__(self, people: PeopleTaxonomy, table: WordTable) -> None:
        self.people = people
        self.table = table
        self.topics: npt.NDArray[np.int32] = np.array(sorted(people.words), np.int32)
        familiar = self._vectors(np.arange(COMMONEST, FAMILIAR))
        self._mean: _Float32 = familiar.mean(axis=0)
        centred = familiar - self._mean
        self._common: _Float32 = np.linalg.eigh(centred.T @ centred)[1][:, -_COMPONENTS:]
        self._listed: dict[Phrase, list[int]] = {}
        for column, topic in enumerate(self.topics.tolist()):
            for phrase in people.words[topic]:
                self._listed.setdefault(phrase, []).append(column)
        self._begins: dict[str, int] = {}
        for phrase in self._listed:
            self._begins[phrase[0]] = max(self._begins.get(phrase[0], 0), len(phrase))
        self._row = cache(self._made)
        self._bounds, self._keys = self._known_words()
        self.matrix: _Float32 = self._directions()

    # -- what a text is about --------------------------------------------------------------------------

    def scores(self, texts: Iterable[str]) -> _Float32:
        """F of every text (a row) and every topic (a column, as in :attr:`topics`)."""
        found = [self._weighed(text) for text in texts]
        scores = self._added_up(found) @ self.matrix.T
        for place, weighed in enumerate(found):
            length = float(np.sqrt(sum(weight * weight for _, weight in weighed)))
            for row, weight in weighed:
                scores[place, row.topics] += weight / length * row.shares
        return scores

    def directions(self, texts: Iterable[str]) -> _Float32:
        """v(d) of every text, at length 1."""
        return self._added_up([self._weighed(text) for text in texts])

    def _added_up(self, found: Sequence[Sequence[tuple[_Row, float]]]) -> _Float32:
        rows = np.zeros((len(found), self.table.dimensions), np.float32)
        for place, weighed in enumerate(found):
            for row, weight in weighed:
                rows[place] += weight * row.direction
        return unit_rows(rows)

    def listed(self, text: str) -> set[int]:
        """The topics that list a word of a text, in singular or plural, or a phrase that stands in it."""
        found = set()
        for phrase in self._phrases(text):
            for form in plural_forms(phrase[0]) if len(phrase) == 1 else (phrase,):
                columns = self._listed.get((form,) if isinstance(form, str) else form, [])
                found.update(self.topics[columns].tolist())
        return found

    def column(self, topic: int) -> int:
        """The column of a topic of the tree."""
        return int(np.searchsorted(self.topics, topic))

    # -- words -----------------------------------------------------------------------------------------

    def _phrases(self, text: str) -> Counter[Phrase]:
        """The words of a text, and the listed phrases in it, without those within others; how often each."""
        found: Counter[Phrase] = Counter()
        said = [word.removesuffix("'s") for word in words(text)]
        end = 0
        for place, word in enumerate(said):
            found[(word,)] += 1
            for length in range(min(self._begins.get(word, 0), len(said) - place), 1, -1):
                phrase = tuple(said[place : place + length])
                if phrase in self._listed and place + length > end:
                    found[phrase] += 1
                    end = place + length
        return found

    def _weighed(self, text: str) -> list[tuple[_Row, float]]:
        """The telling words and phrases of a text with (1 + ln tf) idf; the words of a phrase count less."""
        found = self._phrases(text)
        inside = {word for phrase in found if len(phrase) > 1 for word in phrase}
        weighed = []
        for phrase, times in found.items():
            row = self._row(phrase)
            if row is not None:
                part = _PART if len(phrase) == 1 and phrase[0] in inside else 1.0
                weighed.append((row, part * (1 + float(np.log(times))) * row.weight))
        return weighed

    def _made(self, phrase: Phrase) -> _Row | None:
        """Work out what a word or phrase says; None where it says nothing."""
        listed = self._listed.get(phrase)
        if len(phrase) > 1:
            direction = self._phrase_directions([phrase])[0]
            return _Row(direction, float(self.table.weight[-1]), *self._shares(np.zeros(0), listed))
        (word,) = phrase
        number = self.table.number(word)
        if (number < COMMONEST or len(word) < 2 or word.isdigit()) and not listed:
            return None
        # The commonest words weigh nothing in general, but a topic may list one, such as war or film.
        weight = max(float(self.table.weight[number]), 1.0 if listed else 0.0)
        if number >= len(self.table):
            return _Row(
                np.zeros(self.table.dimensions, np.float32), weight, *self._shares(np.zeros(0), listed)
            )
        direction = self._units(np.array([number]))[0]
        likeness = np.maximum.reduceat(self._keys @ direction, self._bounds)
        return _Row(direction, weight, *self._shares((likeness - _SOFT) / (1 - _SOFT), listed))

    def _shares(
        self, likeness: npt.NDArray[np.floating], listed: Sequence[int] | None
    ) -> tuple[npt.NDArray[np.intp], _Float32]:
        row = np.zeros(len(self.topics), np.float32)
        if len(likeness):
            row[:] = np.maximum(0, likeness)
        row[listed or []] = 1
        columns = np.flatnonzero(row)
        return columns, row[columns] / np.sqrt(max(1.0, float(row.sum())))

    # -- vectors ---------------------------------------------------------------------------------------

    def _vectors(self, numbers: npt.NDArray[np.intp]) -> _Float32:
        return self.table.vectors[numbers].astype(np.float32) * self.table.scale

    def _units(self, numbers: npt.NDArray[np.intp]) -> _Float32:
        """u(w) of some words of the table."""
        centred = (self._vectors(numbers) - self._mean).astype(np.float32)
        common = ((centred @ self._common) @ self._common.T).astype(np.float32)
        return unit_rows(centred - common)

    def _phrase_directions(self, phrases: Sequence[Phrase]) -> _Float32:
        """The direction of each phrase: of its hyphenated form, where the table has it, else of its words."""
        rows = np.zeros((len(phrases), self.table.dimensions), np.float32)
        for place, phrase in enumerate(phrases):
            whole = self.table.number("-".join(phrase))
            numbers = [whole] if whole < len(self.table) else [self.table.number(word) for word in phrase]
            known = [number for number in numbers if COMMONEST <= number < len(self.table)]
            if known:
                rows[place] = (self.table.weight[known, None] * self._units(np.array(known))).sum(axis=0)
        return unit_rows(rows)

    def _known_words(self) -> tuple[npt.NDArray[np.intp], _Float32]:
        """The vectors of all topics' single words in a row, and where those of each topic begin."""
        keys: list[int] = []
        bounds: list[int] = []
        for topic in self.topics.tolist():
            numbers = [self.table.number(each[0]) for each in self.people.words[topic] if len(each) == 1]
            known = [number for number in numbers if COMMONEST <= number < len(self.table)]
            bounds.append(len(keys))
            keys.extend(known)
        return np.array(bounds), self._units(np.array(keys))

    def _directions(self) -> _Float32:
        """v(t): the mean of the directions of a topic's words."""
        rows = [self._phrase_directions(self.people.words[t]).mean(axis=0) for t in self.topics.tolist()]
        return unit_rows(np.array(rows, np.float32))


def unit_rows(rows: _Float32) -> _Float32:
    """Bring each row to length 1; rows of next to nothing become zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: _Float32 = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-6)
    return scaled


@once
def people_topics() -> PeopleTopics:
    """The scorer over bundled data, made once per process."""
    return PeopleTopics(load_people(), load_word_table())
