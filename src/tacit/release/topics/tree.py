"""The published topics: some levels of a public taxonomy, each topic with the one above it.

A taxonomy may have many more topics than are published. Each of them has its **place**: the published topic
under which it counts. A published topic with others below it has one more, ``other``, for what is about none
of them, so that whatever counts for a topic counts for exactly one right below it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.errors import TaxonomyError
from tacit.taxonomy import TopicTree
from tacit.text import sensitive_patterns

__all__ = ["OTHER", "TOP", "ListedTopics", "PublishedTopics", "StatedTopics", "published_topics"]

OTHER = "other"
"""The name of what belongs to none of the topics beside it."""
TOP = -1
"""In the place of the topic above, for those of the first level; of a topic, for those that count nowhere."""
_LONGEST = 200

_Numbers = NDArray[np.int32]


@dataclass(frozen=True)
class StatedTopics:
    """Public topics as a manifest states them: enough for the guarantee, not to publish."""

    form: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What the taxonomy is called."""
        return str(self.form.get("name", ""))

    def to_dict(self) -> dict[str, Any]:
        """As it was stated."""
        return dict(self.form)


def _digest(labels: Iterable[str]) -> str:
    """SHA-256 over the paths, one per line: who has the table can check that it lists these."""
    return hashlib.sha256("".join(f"{label}\n" for label in sorted(labels)).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class ListedTopics:
    """Topics by their paths alone, as a published table lists them, each after the one above it."""

    labels: tuple[str, ...]
    above: _Numbers
    level: _Numbers

    @classmethod
    def of(cls, paths: Iterable[str]) -> ListedTopics:
        """The topics of these paths; KeyError where the topic above one of them is not listed."""
        labels = tuple(sorted(paths, key=lambda path: (path.count("/"), path)))
        number = {label: n for n, label in enumerate(labels)} | {"": TOP}
        above = np.array([number[label.rpartition("/")[0]] for label in labels], np.int32)
        return cls(labels, above, np.array([label.count("/") + 1 for label in labels], np.int32))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def levels(self) -> int:
        """How many levels there are."""
        return int(self.level.max())

    @property
    def digest(self) -> str:
        """As :attr:`PublishedTopics.digest`."""
        return _digest(self.labels)


@dataclass(frozen=True, eq=False)
class PublishedTopics:
    """Topics that are published, each after the one above it.

    Args:
        tree: the whole taxonomy.
        name: of the taxonomy.
        source: SHA-256 of what it was read from.
        labels: the path of each topic: ``animal/dog``.
        above: the number of the topic above each; ``TOP`` on the first level.
        level: of each, from 1.
        place: for each topic of the taxonomy the published one under which it counts, or ``TOP``.
    """

    tree: TopicTree
    name: str
    source: str
    labels: tuple[str, ...]
    above: _Numbers
    level: _Numbers
    place: _Numbers

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def levels(self) -> int:
        """How many levels there are."""
        return int(self.level.max())

    @property
    def digest(self) -> str:
        """SHA-256 over the paths: who has the table can check that it lists these."""
        return _digest(self.labels)

    def to_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return {"name": self.name, "topics": len(self), "sha256": self.digest, "source": self.source}

    def paths(self) -> NDArray[np.int32]:
        """For each topic the topics from the first level down to it, by level; ``TOP`` below it."""
        found = np.full((len(self), self.levels), TOP, np.int32)
        for topic in range(len(self)):
            if self.above[topic] != TOP:
                found[topic] = found[self.above[topic]]
            found[topic, self.level[topic] - 1] = topic
        return found

    def path_table(self) -> pa.Table:
        """The same as a table: ``place`` and a column a level."""
        paths = self.paths()
        columns = {f"level_{n + 1}": pa.array(paths[:, n]) for n in range(self.levels)}
        return pa.table({"place": pa.array(np.arange(len(self), dtype=np.int32)), **columns})


def published_topics(
    tree: TopicTree,
    kept: NDArray[np.bool_],
    levels: int,
    *,
    name: str,
    source: str,
    first: Sequence[int] = (),
    called: Callable[[int], Sequence[str]] | None = None,
) -> PublishedTopics:
    """The kept topics of a taxonomy, at most ``levels`` of them above one another.

    Args:
        tree: the taxonomy.
        kept: which of its topics are published, if they are not too deep.
        levels: how many levels there are at most.
        name: what the taxonomy is called.
        source: SHA-256 of what it was read from.
        first: topics that stand on the first level whatever is above them.
        called: names that a topic may have, the best first; that of the taxonomy unless given.
    """
    called = called or (lambda topic: (tree.names[topic],))
    labels: list[str] = []
    above: list[int] = []
    level: list[int] = []
    place = np.full(len(tree), TOP, np.int32)
    lifted = set(first)
    taken: set[str] = set()

    def add(upper: int, names: Sequence[str]) -> int:
        """Publish a topic under the first of its names that is free; ``TOP`` where none may be shown."""
        before = "" if upper == TOP else f"{labels[upper]}/"
        for each in names:
            label = before + each.replace("%", "%25").replace("/", "%2F")
            if label not in taken and len(label) <= _LONGEST and not sensitive_patterns(label):
                taken.add(label)
                labels.append(label)
                above.append(upper)
                level.append(1 if upper == TOP else level[upper] + 1)
                return len(labels) - 1
        return TOP

    for topic in range(1, len(tree)):
        upper = TOP if topic in lifted else int(place[tree.parent[topic]])
        deep = 0 if upper == TOP else level[upper]
        made = TOP
        if kept[topic] and deep < levels and (not lifted or topic in lifted or upper != TOP):
            made = add(upper, called(topic))
        place[topic] = upper if made == TOP else made
    with_others = set(above) - {TOP}
    if np.any(place[1:] == TOP):
        with_others.add(TOP)
    rest = {upper: add(upper, (OTHER, f"{OTHER} than these")) for upper in sorted(with_others)}
    if not labels or TOP in rest.values():
        raise TaxonomyError("the taxonomy has no topics that can be published.", "Give another taxonomy.")
    settled = np.array([rest.get(int(each), int(each)) for each in place], np.int32)
    settled[0] = TOP
    return PublishedTopics(
        tree, name, source, tuple(labels), np.array(above, np.int32), np.array(level, np.int32), settled
    )
