"""The people's taxonomy: topics that a person would say aloud, each with words that tell it.

Some 340 topics in two levels, with names after Chrome's Topics taxonomy and the Open Directory, and what
these leave out on purpose: what is sensitive for everybody, under twelve human concepts. The words were
written by hand for each topic; lists made from neighbours or from subordinate meanings never did better.
"""

from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
import numpy.typing as npt

from tacit.errors import IntegrityError
from tacit.taxonomy.tree import TopicTree
from tacit.text.tokens import words

PEOPLE = "people"
"""The name of the bundled taxonomy that people see."""

Phrase = tuple[str, ...]
"""One or more words in a row, in lower case."""


@dataclass(frozen=True, eq=False)
class PeopleTaxonomy:
    """The people's taxonomy with its words."""

    tree: TopicTree
    words: dict[int, tuple[Phrase, ...]]
    """The words and phrases of each topic that has some: those without topics below them."""
    concept: npt.NDArray[np.int8]
    """The sensitive concept that each topic belongs to, as a place in ``concepts``; -1 for the innocent."""
    concepts: tuple[str, ...]
    """The sensitive concepts by name."""
    names: tuple[tuple[Phrase, ...], ...]
    """For each concept, names and words that tell it by themselves: apps, drugs, parties, peoples."""

    def sensitive(self, topic: int) -> str | None:
        """The concept that a topic belongs to; None where everybody may know of it."""
        place = int(self.concept[topic])
        return None if place < 0 else self.concepts[place]


def phrase_of(written: str) -> Phrase:
    """The words of an entry, as texts are cut into words.

    >>> phrase_of("new-year's-eve")
    ('new', 'year', 'eve')
    """
    return tuple(word.removesuffix("'s") for word in words(written.replace("-", " ")))


def people_lines(name: str) -> list[tuple[str, tuple[Phrase, ...]]]:
    """The entries of a bundled file: what stands before the colon, and the phrases after it."""
    found = []
    for line in people_file(name):
        head, colon, rest = line.partition(": ")
        if not colon:
            raise IntegrityError(f"a line of the bundled {name} has no words.", "Install Tacit again.")
        found.append((head, tuple(dict.fromkeys(phrase_of(word) for word in rest.split()))))
    return found


def people_file(name: str) -> list[str]:
    """The lines of a bundled file, comments aside."""
    text = (resources.files("tacit.data") / "people" / name).read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@cache
def load_people() -> PeopleTaxonomy:
    """The people's taxonomy, read once per process."""
    listed = {tuple(h.lstrip("!").split("/")): (h[0] == "!", told) for h, told in people_lines("topics.txt")}
    tree = TopicTree.from_paths((path, 0.0) for path in listed)
    concepts = tuple(sorted({path[0] for path, (sensitive, _) in listed.items() if sensitive}))
    place = {name: number for number, name in enumerate(concepts)}
    concept = np.full(len(tree), -1, np.int8)
    told: dict[int, tuple[Phrase, ...]] = {}
    for topic in range(1, len(tree)):
        path = tree.path(topic)[1:]
        concept[topic] = place.get(path[0], -1)
        if path in listed:
            told[topic] = listed[path][1]
    named = dict(people_lines("sensitive.txt"))
    return PeopleTaxonomy(tree, told, concept, concepts, tuple(named[name] for name in concepts))


def people_taxonomy() -> TopicTree:
    """The people's taxonomy as a tree."""
    return load_people().tree
