"""Topics as directions among word vectors: what is near a text, over any taxonomy.

A topic's direction comes from public data alone: its name and those above it, and documents about it. WordNet
brings a gloss with every topic. For taxonomies of names only, the glosses of the ten WordNet meanings nearest
to the names stand in; pages filed under a topic, where there are some, speak for themselves. Both sides of
a search can compute it, so that a server scores by the very directions that the device filed under.
"""

import hashlib
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from tacit.files import atomic_file, cache_directory
from tacit.once import once
from tacit.retrieval.people_topics import unit_rows
from tacit.taxonomy import TopicTree, load_wordnet
from tacit.text.vectors import WordTable, load_word_table

_MADE = "2"
"""Changes whenever the making of vectors does, so that none made otherwise are taken from the cache."""
_NAME_WEIGHTS = (1.0, 0.5, 0.25, 0.15)
"""How much the names count, from the topic itself upwards."""
_PARENT = 0.3
_BORROWED, _NEAREST_GLOSSES = 0.5, 10
_PAGES = 10.0
_AT_ONCE = 64
"""So many rows are compared with all topics in one go."""

_Float32 = npt.NDArray[np.float32]


class TopicVectors:
    """One direction for each topic of a taxonomy.

    Attributes:
        tree: the taxonomy.
        matrix: a row of length 1 for each topic; zero for the root, which is near nothing.
    """

    def __init__(self, tree: TopicTree, matrix: _Float32, table: WordTable) -> None:
        self.tree = tree
        self.matrix = matrix
        self.table = table

    def nearest(self, vectors: _Float32, count: int) -> tuple[npt.NDArray[np.int32], _Float32]:
        """The topics nearest to each row of ``vectors``, nearest first, and their cosines."""
        count = min(count, len(self.tree) - 1)
        if count < 1:  # the root alone, which is no answer
            return np.empty((len(vectors), 0), np.int32), np.empty((len(vectors), 0), np.float32)
        rows = np.empty((len(vectors), count), np.int32)
        cosines = np.empty((len(vectors), count), np.float32)
        for place, vector in enumerate(vectors):
            alike = self.matrix[1:] @ vector
            found = np.flatnonzero(alike >= np.partition(alike, -count)[-count])
            order = np.argsort(-alike[found], kind="stable")[:count]  # of equal ones the lower topic first
            rows[place], cosines[place] = 1 + found[order], alike[found[order]]
        return rows, cosines


@once
def wordnet_topic_vectors() -> TopicVectors:
    """The directions of WordNet's noun meanings: synonyms twice, the gloss, and a part of the parent's."""
    wordnet, table = load_wordnet(), load_word_table()
    tree = wordnet.tree

    def make() -> _Float32:
        own = table.directions(" ".join((*lemmas, *lemmas, gloss)) for lemmas, gloss in wordnet.entries())
        own[1:] += np.float32(_PARENT) * own[tree.parent[1:]]
        return _centred(own)

    return TopicVectors(tree, _cached(tree, table, b"wordnet", make), table)


def load_topic_vectors(tree: TopicTree, pages: Iterable[tuple[int, str]] = ()) -> TopicVectors:
    """The directions of any taxonomy's topics.

    Args:
        tree: the taxonomy.
        pages: texts filed under its topics, with the topic of each.
    """
    if tree is load_wordnet().tree:
        return wordnet_topic_vectors()
    table = load_word_table()
    filed = list(pages)
    identity = hashlib.sha256("\n".join(f"{topic} {text}" for topic, text in filed).encode()).digest()

    def make() -> _Float32:
        own = _name_vectors(tree, table)
        glosses = wordnet_topic_vectors()
        for begin in range(1, len(tree), _AT_ONCE):
            nearest, _ = glosses.nearest(own[begin : begin + _AT_ONCE], _NEAREST_GLOSSES)
            own[begin : begin + _AT_ONCE] += _BORROWED * unit_rows(glosses.matrix[nearest].mean(axis=1))
        if filed:
            sums = np.zeros_like(own)
            np.add.at(sums, [topic for topic, _ in filed], table.directions(text for _, text in filed))
            own = unit_rows(own) + _PAGES * unit_rows(sums)
        own[0] = 0
        return unit_rows(own)

    return TopicVectors(tree, _cached(tree, table, identity, make), table)


def _name_vectors(tree: TopicTree, table: WordTable) -> _Float32:
    names = table.directions(name.replace("_", " ") for name in tree.names)
    own = np.zeros_like(names)
    for topic in range(1, len(tree)):
        upwards = [topic, *reversed(tree.ancestors(topic)[1:])]
        for above, weight in zip(upwards, _NAME_WEIGHTS, strict=False):
            own[topic] += weight * names[above]
    return _centred(own)


def _centred(rows: _Float32) -> _Float32:
    """Rows without what all have in common, at length 1; the root's is zero."""
    known = np.linalg.norm(rows, axis=1) > 1e-6
    known[0] = False
    if not known.any():
        return np.zeros_like(rows)
    centred = rows - rows.mean(axis=0, where=known[:, None])
    centred[~known] = 0
    return unit_rows(centred)


def _cached(tree: TopicTree, table: WordTable, identity: bytes, make: Callable[[], _Float32]) -> _Float32:
    """Keep what ``make`` gives in the cache folder and read from there as needed."""
    name = hashlib.sha256(_MADE.encode() + identity + tree.parent.tobytes())
    name.update("\n".join(tree.names).encode())
    name.update(np.ascontiguousarray(table.vectors[::997]).tobytes())
    path = cache_directory() / f"topic-vectors-{name.hexdigest()[:16]}.npy"
    if not path.exists():
        made = make()
        with atomic_file(path) as temporary, temporary.open("wb") as file:
            np.save(file, made)
    matrix: _Float32 = np.asarray(np.load(path, mmap_mode="r"))
    return matrix
