"""Choose the topics that go out with a query: interests in the history, near the query, never sensitive.

Which pages of a history pass, which topics they support and which of these are near a query stands in
``docs/guarantees/device.md`` (non-interference). Near topics rank by ``F(q, t) + 0.8 min(3, pages)``, where
the clear pages count that hold all of the query's words and support t; at most three go out. So what goes out
is a function of the query, the pages that passed, the marks, and public data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from tacit.device.profile.arrays import Bags
from tacit.device.profile.construction import people_filings
from tacit.device.profile.history import PAGE, Filing, HistoryIndex, page_rows
from tacit.device.ranking.attention import Attention, QueryWords
from tacit.device.sending.decision import Decision
from tacit.retrieval.people_topics import PeopleTopics, people_topics
from tacit.retrieval.sensitive_pages import BEST, PASSED, UNREADABLE, recogniser
from tacit.taxonomy.people import people_file
from tacit.text.vectors import load_word_table, plural_forms

SUPPORTS, SUPPORT_PART, _FIRM, _FIRM_PART = 0.65, 0.85, 0.8, 0.75
"""A page supports its best topic from the first F on, and others with this part of it, or with the last part
where the best F is at least the third: a page that is hardly about its best topic says little of more."""
FEWEST, SHARE = 3, 0.01
"""A topic is sendable with so many pages that support it, and this share of the pages that passed."""
TWIN = 0.6
"""A topic whose words point as near as this to those of a marked one goes with it."""
_OWN, _OWN_SCORE, _OWN_PART = 5, 0.45, 0.7
_CLEAR = 0.5
_FITS, _FITS_PART = 0.2, 0.3
_PAGE_WORTH, _PAGES = 0.8, 3
_MOST, _LEAST_PART = 3, 0.75

Flags = npt.NDArray[np.bool_]


@cache
def neighbours() -> frozenset[int]:
    """List innocent topics that are never sent, since texts about sensitive matters land there."""
    tree = people_topics().people.tree
    return frozenset(tree.named(name) for name in people_file("neighbours.txt"))


@cache
def mentioned() -> Flags:
    """Flag topics of the people's taxonomy that pages on other matters mention: recipes hold ingredients."""
    tree = people_topics().people.tree
    flags = np.zeros(len(tree), np.bool_)
    flags[[tree.named(name) for name in people_file("mentioned.txt")]] = True
    return flags


def marked_topics(marks: Iterable[int]) -> Flags:
    """Flag the topics that are marked: those named, all below them, and their twins."""
    topics = people_topics()
    tree = topics.people.tree
    flags = np.zeros(len(tree), np.bool_)
    for mark in marks:
        flags[mark : tree.end[mark]] = True
    own = topics.matrix[flags[topics.topics]]
    if len(own):
        flags[topics.topics[(topics.matrix @ own.T).max(axis=1) >= TWIN]] = True
    return flags


class JudgedTexts:
    """Texts judged as pages of a history are, without a profile file: for experiments."""

    generation = 0

    def __init__(self, texts: Sequence[str]) -> None:
        self.table = load_word_table()
        self.bags = Bags.of_texts(self.table, texts)
        judged = [_judged(text) for text in texts]
        filings, concepts = [filing for filing, _ in judged], [concept for _, concept in judged]
        self.pages = page_rows(range(len(texts)), filings, concepts)


@lru_cache(maxsize=50_000)
def _judged(text: str) -> tuple[Filing, int]:
    scores = people_topics().scores([text])
    return people_filings(scores)[0], int(recogniser().concepts_of([text], scores)[0])


def passed_texts(texts: Sequence[str]) -> PassedPages:
    """Keep the texts that pass as pages of a history, nothing being marked."""
    pages = PassedPages(JudgedTexts(texts))
    pages.refresh(())
    return pages


class PassedPages:
    """The pages of a history that may have influence, kept in step with it.

    They are copied page by page into lists of their own: nothing in these depends on what else the history
    holds.

    Attributes:
        bags: their words and vectors.
        pages: what else is known of them, as rows of type :data:`tacit.device.profile.history.PAGE`.
        passed: whether each page of the whole history passed.
    """

    def __init__(self, index: HistoryIndex | JudgedTexts) -> None:
        self._index = index
        self._made_for: tuple[int, frozenset[int]] | None = None
        self._marked: Flags | None = None
        self._clear()

    def _clear(self) -> None:
        self.bags = Bags(self._index.table)
        self.pages: npt.NDArray[np.void] = np.empty(0, PAGE)
        self.passed: Flags = np.empty(0, np.bool_)

    def refresh(self, marks: Iterable[int]) -> None:
        """Judge what is new in the history; all of it, where marks changed or something was forgotten."""
        wanted = (self._index.generation, frozenset(marks))
        if wanted != self._made_for:
            self._clear()
            self._marked = marked_topics(wanted[1]) if wanted[1] else None
            self._made_for = wanted
        begin = len(self.passed)
        new = self._index.pages[begin:]
        if len(new) == 0:
            return
        passed = new["concept"] == PASSED
        if self._marked is not None:
            about, scores = new["topics"], new["scores"]
            near = (np.arange(about.shape[1]) < BEST) | (scores >= _FIRM_PART * scores[:, :1])
            passed &= ~(self._marked[about] & near & (about >= 0)).any(axis=1)
        self.passed = np.concatenate((self.passed, passed))
        self.bags.extend(*self._index.bags.select(begin + np.flatnonzero(passed)))
        self.pages = np.concatenate((self.pages, new[passed]))

    def supports(self, topics: int) -> npt.NDArray[np.int64]:
        return np.bincount(self.pages["topics"][supported(self.pages)[1]], minlength=topics)

    def sendable(self, people: PeopleTopics) -> Flags:
        """Flag the topics of the people's taxonomy that are in the sendable set."""
        least = max(FEWEST, math.ceil(SHARE * len(self.bags)))
        flags = (self.supports(len(people.people.tree)) >= least) & (people.people.concept < 0)
        flags[list(neighbours())] = False
        flags &= ~mentioned()
        if self._marked is not None:
            flags &= ~self._marked
        return flags


def clear(pages: npt.NDArray[np.void]) -> Flags:
    """Flag pages in which no sensitive topic comes near the best."""
    about, scores = pages["topics"], pages["scores"]
    near = (about >= 0) & (scores >= _CLEAR * np.maximum(scores[:, :1], 1e-6))
    found: Flags = ~(near & (people_topics().people.concept[about] >= 0)).any(axis=1)
    return found


def supported(pages: npt.NDArray[np.void]) -> tuple[Flags, Flags]:
    """Flag the topic that each page supports most, and all that it supports."""
    about, scores = pages["topics"], pages["scores"]
    named = (about >= 0) & ~mentioned()[about] & (scores >= SUPPORTS)
    best = named & (np.cumsum(named, axis=1) == 1)
    most = (scores * best).max(axis=1, keepdims=True)
    least = np.where(most >= _FIRM, _FIRM_PART, SUPPORT_PART) * most
    return best, best | named & (scores >= least) & clear(pages)[:, None]


@dataclass(frozen=True)
class Chosen:
    """The topics that may go out with a query, best first, or why there are none."""

    decision: Decision
    topics: tuple[int, ...] = ()


_COMMON = 1_000


@cache
def _searching() -> frozenset[str]:
    """Words of searching, which say nothing about an interest by themselves."""
    return frozenset(" ".join(people_file("general.txt")).split())


def _general(query: str) -> bool:
    """Whether a query holds no word but the commonest ones and those of searching."""
    table = load_word_table()
    telling = (word for word in table.content(query) if table.number(word) >= _COMMON)
    return all(plural_forms(word) & _searching() for word in telling)


class InterestChooser:
    """Chooses what goes out. Not for several threads at once, as attention is not."""

    def __init__(self, pages: PassedPages, attention: Attention) -> None:
        self._pages = pages
        self._attention = attention

    def choose(self, query: str) -> Chosen:
        people = people_topics()
        sendable = self._pages.sendable(people)
        if not sendable.any():
            return Chosen(Decision.NO_EVIDENCE)
        concept = recogniser().concept_of_query(query)
        if concept not in (PASSED, UNREADABLE):
            return Chosen(Decision.SENSITIVE)
        own = np.where(mentioned()[people.topics], 0, people.scores([query])[0])
        holding = self._holding(query, people)
        best, general = float(own.max()), _general(query)
        order = np.argsort(-own, kind="stable")[:_OWN]
        order = order[own[order] >= max(_OWN_SCORE, _OWN_PART * best)]
        near = people.listed(query).intersection(people.topics[order].tolist() if concept == PASSED else ())
        one = max(_FITS, _FITS_PART * best) if people.directions([query]).any() else -1.0
        for topic in [] if general else np.flatnonzero(holding).tolist():
            if holding[topic] > 1 or own[people.column(topic)] >= one:
                near.add(topic)
        found = {
            topic: float(own[people.column(topic)]) + _PAGE_WORTH * min(_PAGES, int(holding[topic]))
            for topic in near
            if sendable[topic]
        }
        ranked = sorted(found, key=lambda topic: (-found[topic], topic))[:_MOST]
        kept = tuple(topic for topic in ranked if found[topic] >= _LEAST_PART * found[ranked[0]])
        if not kept:
            return Chosen(Decision.NO_EVIDENCE if concept == PASSED else Decision.UNREADABLE)
        return Chosen(Decision.PERSONALISED, kept)

    def _holding(self, query: str, people: PeopleTopics) -> npt.NDArray[np.int64]:
        """Count, for each topic, the clear pages that hold all the query's words and support it.

        One page speaks for its best topic alone.
        """
        words = QueryWords(self._attention.table, query)
        concept = people.people.concept
        if not len(words.shares) or not len(self._pages.bags):
            return np.zeros(len(concept), np.int64)
        pages = self._pages.pages[self._attention.coverage(words, self._pages.bags) >= 1 - 1e-4]
        pages = pages[clear(pages)]
        about = pages["topics"]
        best, every = (np.bincount(about[of], minlength=len(concept)) for of in supported(pages))
        return np.where(every > 1, every, best)
