"""Recognise what is sensitive for everybody: twelve human concepts, from health to children.

A page is **caught** if any of these holds:

1. it contains a *telling* word or name of a concept, one that hardly ever stands in innocent texts: two of
   them, or one that is 0.06 of its words, or one where rule 3 comes within 1.5 of its threshold; where it is
   plainly about an innocent topic, words that this topic lists too do not count, such as the trump of cards;
2. the topic it is most likely about (:mod:`tacit.retrieval.people_topics`) is sensitive, or the second or
   third is, with an F of at least 0.42 and half of the best;
3. for some concept c, ``4 (best F in c - best innocent F) + 0.3 regression of c`` reaches a threshold, where
   the regression reads the direction of the text and its best F in every concept; a text of n words must
   exceed it by 1/n, for a short one reaches it by chance;
4. it cannot be read: too few of its words are known, or it is written in another language. Where what is
   known is plainly about an innocent topic, fewer do: Latin names of plants and animals are no secret.
   Where function words of another language outnumber English ones, more must be known.

Whether a page is caught depends on that page and on public data alone, the same for everybody. Telling words,
regressions and thresholds are bundled; ``scripts/build_recogniser.py`` makes them.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from tacit.once import once
from tacit.retrieval.people_topics import PeopleTopics, people_topics
from tacit.taxonomy.people import Phrase, load_people, people_file, people_lines
from tacit.text.tokens import STOP_WORDS, words
from tacit.text.vectors import plural_forms

_Float32 = npt.NDArray[np.float32]

PASSED = -1
"""Stands for the concept of a page that is innocent, as far as can be told."""
UNREADABLE = 127
"""Stands for the concept of a page of which nobody can tell what it is about."""

BEST, _PART, _SAYS = 3, 0.5, 0.42
"""So many of a text's topics are asked whether they are sensitive; beside the best one those with this part
of its F, and with this F at least."""
_MARGIN, _REGRESSION = 4.0, 0.3
_TOLD, _NEARLY = 0.06, 1.5
"""A single telling word counts that is at least this share of the text, or so near to rule 3's threshold."""
_KNOWN, _KNOWN_PLAIN, _KNOWN_FOREIGN, _PLAINLY, _FAR = 0.35, 0.25, 0.7, 0.55, -0.5
"""At least this share of a text's words must be in the table; of a foreign text the third; the second of one
plainly innocent: its best F is an innocent topic's, the fourth at least, and so far from the thresholds."""

PLATFORMS = frozenset(
    "amazon bbc bing blogspot ebay etsy facebook google instagram medium pinterest quora reddit tiktok "
    "tumblr twitter wikipedia wordpress yahoo youtube".split()
)
"""Sites that hold pages about anything: their names in an address say nothing about a page."""
_BUNDLED = resources.files("tacit.data") / "people"
FOREIGN = frozenset(" ".join(people_file("foreign.txt")).split())  # function words of other languages


@dataclass(frozen=True)
class Concept:
    """What is sensitive for everybody, as a person sees it."""

    name: str
    covers: tuple[str, ...]
    """The topics that belong to it."""
    examples: tuple[str, ...]
    """Some of its telling words and names."""
    recognised: dict[str, float]
    """The share of pages about it that are caught, by kind of text, as ``benchmarks/recognition.py``
    measured."""


class Recogniser:
    """Tells which pages are about something sensitive; get it with :func:`recogniser`.

    Attributes:
        concepts: the concepts by name, in the order of their numbers.
    """

    def __init__(
        self, topics: PeopleTopics, telling: dict[Phrase, int], weights: _Float32, thresholds: _Float32
    ) -> None:
        self.topics = topics
        self.concepts = topics.people.concepts
        self._telling = telling
        self._longest = max((len(phrase) for phrase in telling), default=1)
        self._weights = weights
        self._thresholds = thresholds
        self._concept = topics.people.concept[topics.topics].astype(np.intp)
        self._own = {
            ((form,), column)
            for column in np.flatnonzero(self._concept < 0).tolist()
            for phrase in topics.people.words[int(topics.topics[column])]
            for form in set().union(*map(plural_forms, phrase))
            if (form,) in telling
        }
        """Telling words that innocent topics list too, alone or in a phrase, with the columns of these."""

    def concepts_of(self, texts: Sequence[str], scores: _Float32 | None = None) -> npt.NDArray[np.int8]:
        """The concept that each text is caught by; :data:`PASSED` or :data:`UNREADABLE` otherwise.

        Args:
            texts: what stands on the pages, with the queries that led to them and their addresses' words.
            scores: F of each, where it is known already.
        """
        found = np.full(len(texts), PASSED, np.int8)
        if not len(texts):
            return found
        if scores is None:
            scores = self.topics.scores(texts)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :BEST]
        excess = self.evidence(texts, scores) - self._thresholds
        for place, text in enumerate(texts):
            best, most = order[place], float(excess[place].max())
            fits = scores[place, best]
            says = (fits >= max(_SAYS, _PART * fits[0])) | (best == best[0])
            near = [int(c) for c in self._concept[best[says]] if c >= 0]
            plain = fits[0] >= _PLAINLY and most < _FAR and not near
            told = self._told(text, most, int(best[0]) if plain else None)
            if told is not None:
                found[place] = told
            elif not self.readable(text, _KNOWN_PLAIN if plain else _KNOWN):
                found[place] = UNREADABLE
            elif near:
                found[place] = near[0]
            elif most >= 1 / max(1, len(self.topics.table.content(text))):
                found[place] = int(excess[place].argmax())
        return found

    def concept_of_query(self, query: str) -> int:
        """The same for a query, which is too short for more than its words and its best topic."""
        scores = self.topics.scores([query])[0]
        best = int(scores.argmax())
        about = best if scores[best] > _PLAIN else None
        told = next(self._telling_in(query, about), PASSED if about is None else int(self._concept[best]))
        if told != PASSED:
            return told
        return PASSED if self.readable(query) else UNREADABLE

    def _told(self, text: str, excess: float, column: int | None) -> int | None:
        """The concept of a page's first telling word, unless it stands by chance in a long text."""
        found = list(self._telling_in(text, column))
        alone = len(found) == 1 and excess < -_NEARLY
        chance = alone and _TOLD * len(self.topics.table.content(text)) > 1
        return found[0] if found and not chance else None

    def _telling_in(self, text: str, column: int | None) -> Iterator[int]:
        """The concepts of a text's telling words and names, in order. Words of the topic in ``column``, which
        it is plainly about, do not count: card games have a trump."""
        said = [word.removesuffix("'s") for word in words(text)]
        for place in range(len(said)):
            for length in range(1, min(self._longest, len(said) - place) + 1):
                phrase = tuple(said[place : place + length])
                concept = self._telling.get(phrase)
                if concept is not None and (phrase, column) not in self._own:
                    yield concept

    def readable(self, text: str, least: float = _KNOWN) -> bool:
        """Whether this share of a text's words is known: those of another language are not."""
        said = [word.removesuffix("'s") for word in words(text) if not word.isdigit()]
        content = [word for word in said if len(word) > 1 and word not in STOP_WORDS]
        known = sum(self.knows(word) for word in content)
        foreign = len(FOREIGN.intersection(said) - STOP_WORDS)
        english = sum(word in STOP_WORDS for word in said)
        least = max(least, _KNOWN_FOREIGN) if foreign > english else least
        return bool(content) and known >= least * len(content) and not (foreign > 1 and foreign > english)

    def knows(self, word: str) -> bool:
        """Whether a word has a vector, or tells a topic or a concept by itself."""
        table = self.topics.table
        return table.number(word) < len(table) or (word,) in self._telling or bool(self.topics.listed(word))

    def features(self, texts: Sequence[str], scores: _Float32) -> _Float32:
        """Stack what the regressions read: directions, the best F by concept, the best innocent F, and 1."""
        best = self.best_by_concept(scores)
        return np.hstack((self.topics.directions(texts), best, np.ones((len(texts), 1)))).astype(np.float32)

    def best_by_concept(self, scores: _Float32) -> _Float32:
        """The best F in each concept, and last among the innocent topics."""
        columns = [scores[:, self._concept == c].max(axis=1) for c in (*range(len(self.concepts)), PASSED)]
        return np.stack(columns, axis=1)

    def evidence(self, texts: Sequence[str], scores: _Float32) -> _Float32:
        """Compute what rule 3 compares with the thresholds, a column a concept."""
        best = self.best_by_concept(scores)
        regression = self.features(texts, scores) @ self._weights.T
        return _MARGIN * (best[:, :-1] - best[:, -1:]) + _REGRESSION * regression

    def described(self) -> list[Concept]:
        """The concepts with what they cover and how well each is recognised, for the person to look at."""
        people = self.topics.people
        measured = json.loads((_BUNDLED / "recognised.json").read_text("utf-8"))["concepts"]
        return [
            Concept(
                name,
                tuple(people.tree.names[t] for t in self.topics.topics[self._concept == place].tolist()),
                tuple(" ".join(phrase) for phrase in people.names[place][:24] if phrase[-1][-1] != "s")[:12],
                measured.get(name, {}),
            )
            for place, name in enumerate(self.concepts)
        ]


_PLAIN = 0.9
"""A query whose best topic is sensitive with at least this F is plainly about it."""


def concept_name(concept: int) -> str | None:
    """The name of what a page was caught by; None for one that passed."""
    if concept == PASSED:
        return None
    return "unreadable" if concept == UNREADABLE else load_people().concepts[concept]


def page_text(query: str, title: str, text: str, url: str) -> str:
    """Join what a page is judged by: its query, title and text, and the known words of its address."""
    try:
        parts = urlsplit(url)
        address = words(f"{parts.hostname or ''} {parts.path}".replace("_", " "))
    except ValueError:
        address = []
    judge = recogniser()  # the uk of an address says nothing about Britain, nor its com of the web
    nothing = STOP_WORDS | PLATFORMS
    told = (word for word in address if len(word) > 2 and word not in nothing and judge.knows(word))
    return " ".join((query, title, text, *told))


@once
def recogniser() -> Recogniser:
    """The recogniser over bundled data, made once per process."""
    topics = people_topics()
    place = {name: number for number, name in enumerate(topics.people.concepts)}
    telling = {phrase: place[name] for name, phrases in people_lines("telling.txt") for phrase in phrases}
    with (_BUNDLED / "recogniser.npz").open("rb") as file, np.load(file) as kept:
        return Recogniser(topics, telling, kept["weights"].astype(np.float32), kept["thresholds"])
