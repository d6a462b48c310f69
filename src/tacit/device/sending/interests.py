"""Which topics go out with a query: interests that the history shows, near the query, never sensitive ones.

A page of the history **passes** unless it was caught as sensitive (:mod:`tacit.retrieval.sensitive_pages`) or
is about a topic that its owner marked: one of its three best topics is marked, or is a twin of a marked one.
A page that passes *supports* its best topic, if F is at least 0.55, and its second if that has at least 0.9
of the best.

- The **sendable set**: topics supported by at least three pages that passed, and by at least 1 in 100 of
  them; never a sensitive one, a marked one or its twin, nor a *neighbour*: an innocent topic where texts
  about sensitive matters land (measured on public texts by ``scripts/build_recogniser.py``).
- A topic of the set is **near** a query if it is among the five best topics of the query itself, with F of at
  least 0.45 and 0.7 of the best; or if a page that passed holds all the query's words and has the topic among
  its thirty best, with at least 0.6 of its best.
- Near topics rank by ``F(q, t) + 0.4 min(2, such pages)``. At most three go out, each with at least 0.75 of
  the first; none where the query itself may be about something sensitive, or cannot be read.

So what goes out is a function of the query, the pages that passed, the marks, and public data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tacit.device.profile.arrays import Bags, Growing
from tacit.device.profile.construction import people_filings
from tacit.device.profile.history import NEAREST
from tacit.device.ranking.attention import Attention, QueryWords
from tacit.retrieval.people_topics import PeopleTopics, people_topics
from tacit.retrieval.sensitive_pages import BEST, PASSED, UNREADABLE, recogniser
from tacit.taxonomy.people import people_file
from tacit.text.vectors import WordTable, load_word_table

SUPPORTS, SECOND = 0.55, 0.9
"""A page supports its best topic from this F on, and the second with this part of the best."""
FEWEST, SHARE = 3, 0.01
"""A topic is sendable with so many pages that support it, and this share of the pages that passed."""
TWIN = 0.6
"""A topic whose words point as near as this to those of a marked one goes with it."""
_OWN, _OWN_SCORE, _OWN_PART = 5, 0.45, 0.7
_PAGE_PART = 0.6
_PAGE_WORTH, _PAGES = 0.4, 2
_MOST, _LEAST_PART = 3, 0.75

Flags = npt.NDArray[np.bool_]


@cache
def neighbours() -> frozenset[int]:
    """Innocent topics that are never sent, since texts about sensitive matters land there."""
    tree = people_topics().people.tree
    return frozenset(tree.named(name) for name in people_file("neighbours.txt"))


def marked_topics(marks: Iterable[int]) -> Flags:
    """Whether each topic of the people's taxonomy is marked: the topics named, all below them, and their
    twins."""
    topics = people_topics()
    tree = topics.people.tree
    flags = np.zeros(len(tree), np.bool_)
    for mark in marks:
        flags[mark : tree.end[mark]] = True
    own = topics.matrix[flags[topics.topics]]
    if len(own):
        flags[topics.topics[(topics.matrix @ own.T).max(axis=1) >= TWIN]] = True
    return flags


class JudgedPages(Protocol):
    """Pages with their words, their best topics, and the sensitive concept that each was caught by."""

    table: WordTable
    bags: Bags
    generation: int
    """Changes whenever all was read anew."""

    def __len__(self) -> int: ...
    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """Their numbers in the file."""

    @property
    def topics(self) -> npt.NDArray[np.int32]:
        """The best topics of each, best first; -1 where there are fewer."""

    @property
    def scores(self) -> npt.NDArray[np.float32]:
        """F of each of these."""

    @property
    def concepts(self) -> npt.NDArray[np.int8]:
        """The concept of each."""


class JudgedTexts:
    """Texts judged as pages of a history are, without a profile file: for experiments."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.table = load_word_table()
        self.bags = Bags.of_texts(self.table, texts)
        self.generation = 0
        self.numbers = np.arange(len(texts))
        judged = [_judged(text) for text in texts]
        self.concepts = np.array([concept for _, _, concept in judged], np.int8)
        self.topics = np.array([topics for topics, _, _ in judged], np.int32).reshape(-1, NEAREST)
        self.scores = np.array([scores for _, scores, _ in judged], np.float32).reshape(-1, NEAREST)

    def __len__(self) -> int:
        return len(self.numbers)


@lru_cache(maxsize=50_000)
def _judged(text: str) -> tuple[tuple[int, ...], tuple[float, ...], int]:
    scores = people_topics().scores([text])
    filing = people_filings(scores)[0]
    empty = NEAREST - len(filing)
    topics = (*filing["topic"].tolist(), *[-1] * empty)
    concept = int(recogniser().concepts_of([text], scores)[0])
    return topics, (*filing["score"].tolist(), *[0.0] * empty), concept


def passed_texts(texts: Sequence[str]) -> PassedPages:
    """The texts that pass as pages of a history, nothing being marked."""
    pages = PassedPages(JudgedTexts(texts))
    pages.refresh(())
    return pages


class PassedPages:
    """The pages of a history that may have influence, kept in step with it.

    They are copied page by page into lists of their own: nothing in these depends on what else the history
    holds.

    Attributes:
        bags: their words and vectors.
    """

    def __init__(self, index: JudgedPages) -> None:
        self._index = index
        self._made_for: tuple[int, frozenset[int]] | None = None
        self._marked: Flags | None = None
        self._clear()

    def _clear(self) -> None:
        self.bags = Bags(self._index.table)
        self._numbers = Growing(np.int64)
        self._topics = Growing(np.int32, NEAREST)
        self._scores = Growing(np.float32, NEAREST)
        self._passed = Growing(np.bool_)

    @property
    def passed(self) -> Flags:
        """Whether each page of the whole history passed."""
        return self._passed.rows

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """The numbers in the file of the pages that passed."""
        return self._numbers.rows

    @property
    def topics(self) -> npt.NDArray[np.int32]:
        """The best topics of each, best first; -1 where there are fewer."""
        return self._topics.rows

    @property
    def scores(self) -> npt.NDArray[np.float32]:
        """F of each of these."""
        return self._scores.rows

    def refresh(self, marks: Iterable[int]) -> None:
        """Judge what is new in the history; all of it, where marks changed or something was forgotten."""
        wanted = (self._index.generation, frozenset(marks))
        if wanted != self._made_for:
            self._clear()
            self._marked = marked_topics(wanted[1]) if wanted[1] else None
            self._made_for = wanted
        begin = len(self._passed)
        if begin == len(self._index):
            return
        passed = self._index.concepts[begin:] == PASSED
        if self._marked is not None:
            best = self._index.topics[begin:, :BEST]
            passed &= ~(self._marked[best] & (best >= 0)).any(axis=1)
        self._passed.extend(passed)
        places = begin + np.flatnonzero(passed)
        self.bags.extend(*self._index.bags.select(places))
        self._numbers.extend(self._index.numbers[places])
        self._topics.extend(self._index.topics[places])
        self._scores.extend(self._index.scores[places])

    def supports(self, topics: int) -> npt.NDArray[np.int64]:
        """How many pages support each of so many topics."""
        first = (self.topics[:, 0] >= 0) & (self.scores[:, 0] >= SUPPORTS)
        second = first & (self.topics[:, 1] >= 0) & (self.scores[:, 1] >= SECOND * self.scores[:, 0])
        supported = np.concatenate((self.topics[first, 0], self.topics[second, 1]))
        return np.bincount(supported, minlength=topics)

    def sendable(self, people: PeopleTopics) -> Flags:
        """The sendable set, as a flag a topic of the people's taxonomy."""
        least = max(FEWEST, math.ceil(SHARE * len(self.bags)))
        flags = (self.supports(len(people.people.tree)) >= least) & (people.people.concept < 0)
        flags[list(neighbours())] = False
        if self._marked is not None:
            flags &= ~self._marked
        return flags


@dataclass(frozen=True)
class Chosen:
    """The topics that may go out with a query, best first, and what each scored."""

    topics: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()
    sensitive: bool = False
    """Whether nothing goes out since the query itself may be about something sensitive."""
    unreadable: bool = False
    """Whether nothing goes out since the query cannot be read."""


class InterestChooser:
    """Chooses what goes out. Not for several threads at once, as attention is not."""

    def __init__(self, pages: PassedPages, attention: Attention) -> None:
        self._pages = pages
        self._attention = attention

    def choose(self, query: str) -> Chosen:
        """The topics for a query."""
        people = people_topics()
        sendable = self._pages.sendable(people)
        if not sendable.any():
            return Chosen()
        concept = recogniser().concept_of_query(query)
        if concept != PASSED:
            return Chosen(sensitive=concept != UNREADABLE, unreadable=concept == UNREADABLE)
        own = people.scores([query])[0]
        holding = self._holding(query, len(sendable))
        best = float(own.max())
        order = np.argsort(-own, kind="stable")[:_OWN]
        near = {
            int(people.topics[column])
            for column in order.tolist()
            if own[column] >= _OWN_SCORE and own[column] >= _OWN_PART * best
        }
        near.update(np.flatnonzero(holding).tolist())
        found = {
            topic: float(own[people.column(topic)]) + _PAGE_WORTH * min(_PAGES, int(holding[topic]))
            for topic in near
            if sendable[topic]
        }
        ranked = sorted(found, key=lambda topic: (-found[topic], topic))[:_MOST]
        kept = [topic for topic in ranked if found[topic] >= _LEAST_PART * found[ranked[0]]]
        return Chosen(tuple(kept), tuple(found[topic] for topic in kept))

    def _holding(self, query: str, topics: int) -> npt.NDArray[np.int64]:
        """For each topic, how many pages that passed hold all the query's words and are about it."""
        words = QueryWords(self._attention.table, query)
        if not len(words.shares) or not len(self._pages.bags):
            return np.zeros(topics, np.int64)
        whole = self._attention.coverage(words, self._pages.bags) >= 1 - 1e-4
        about = self._pages.topics[whole]
        scores = self._pages.scores[whole]
        near = (about >= 0) & (scores >= _PAGE_PART * scores[:, :1])
        return np.bincount(about[near], minlength=topics)
