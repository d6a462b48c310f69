"""A topic tree with supports: what a search can be about, and how likely each topic is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from tacit.errors import TaxonomyError
from tacit.validation import text

_Float = npt.NDArray[np.float64]


def share_out(parent: npt.NDArray[np.int32], depth: npt.NDArray[np.int32], counts: _Float) -> _Float:
    """Supports for a tree in pre-order such that each node's is the sum over its children.

    Raises:
        TaxonomyError: a count is negative or not finite, or a leaf has none (its information content
            would be infinite).
    """
    if len(counts) != len(parent):
        raise TaxonomyError(f"{len(counts)} counts for {len(parent)} topics: each topic needs one.")
    if not np.all(np.isfinite(counts)) or np.any(counts < 0):
        raise TaxonomyError("a count is negative or not finite; counts must be at least 0.")
    levels = [np.flatnonzero(depth == level) for level in range(int(depth.max()) + 1)]
    has_children = np.zeros(len(parent), bool)
    has_children[parent[1:]] = True
    if np.any(counts[~has_children] == 0):
        raise TaxonomyError(
            f"{int(np.sum(counts[~has_children] == 0))} leaf topics have a count of 0; each must be above 0.",
            "Add one to every leaf count, or leave out the empty topics.",
        )
    below = np.zeros(len(parent))  # what all children hold, before sharing
    total = counts.copy()
    for nodes in reversed(levels[1:]):
        np.add.at(below, parent[nodes], total[nodes])
        above = np.unique(parent[nodes])
        total[above] = counts[above] + below[above]
    support = total.copy()
    for nodes in levels[1:]:
        above = parent[nodes]
        support[nodes] = total[nodes] * (support[above] / below[above])
    # Rounding: sum upwards once more, so that eq. 1 holds to the last bit that addition allows.
    for nodes in reversed(levels[1:]):
        above = np.unique(parent[nodes])
        support[above] = 0.0
        np.add.at(support, parent[nodes], support[nodes])
    return support


_KEPT_LABELS = 10_000
_LONGEST_PATH = 10_000
"""So many labels are remembered: a guard asks for the same few hundred again and again."""

_Int32 = npt.NDArray[np.int32]


class TopicTree:
    """A rooted tree of named topics with supports.

    Make one with :meth:`from_parents` or :meth:`from_paths`.

    Attributes:
        names: the name of each node.
        parent: the parent of each node; -1 for the root.
        depth: edges between the root and each node.
        height: the most of them.
        end: one past the last node of each node's subtree.
        support: how much of human knowledge each topic covers (eq. 1).
        child_offsets: where each node's children begin in ``child_nodes``.
        child_nodes: the children of all nodes, in order.
    """

    def __init__(self, parent: _Int32, names: Sequence[str], counts: npt.NDArray[np.float64]) -> None:
        """``parent`` must already be in pre-order; see :meth:`from_parents` for any other order."""
        self.parent = np.ascontiguousarray(parent, np.int32)
        self.names = names
        self.depth = _depths(self.parent)
        self.height = int(self.depth.max())
        self.child_offsets, self.child_nodes = _children(self.parent)
        self.end = _ends(self.parent)
        self.support = share_out(self.parent, self.depth, counts)
        self._below: dict[int, dict[str, int]] = {}
        self._labels: dict[int, str] = {}

    @classmethod
    def from_parents(
        cls, parent: Sequence[int] | _Int32, names: Sequence[str], counts: Sequence[float] | None = None
    ) -> TopicTree:
        """A tree from a parent pointer a node, in any numbering; siblings keep their order.

        Args:
            parent: the parent of each node; the root has -1.
            names: the name of each node.
            counts: how often each topic was found, at leaves or anywhere. What was counted at an
                internal node is shared among its leaves in proportion to theirs. Without counts every
                leaf weighs the same, as the paper allows where supports are unknown.
        """
        order = _preorder(np.asarray(parent, np.int64), len(names))
        position = np.empty(len(order), np.int32)
        position[order] = np.arange(len(order), dtype=np.int32)
        moved = np.asarray(parent, np.int64)[order]
        renumbered = np.where(moved < 0, -1, position[moved]).astype(np.int32)
        if counts is None:
            leaf = np.ones(len(order), bool)
            leaf[renumbered[1:]] = False
            weights = leaf.astype(np.float64)
        else:
            weights = np.asarray(counts, np.float64)[order]
        return cls(renumbered, [names[node] for node in order], weights)

    @classmethod
    def from_paths(cls, paths: Iterable[tuple[Sequence[str], float]], root: str = "Top") -> TopicTree:
        """A tree from (path below the root, count) pairs; missing inner topics are added.

        The same path may come more than once; its counts add up. Siblings are ordered by name, so that
        the order of the input does not matter. If all counts are 0, every leaf weighs the same.
        """
        totals: dict[tuple[str, ...], float] = {(): 0.0}
        for path, count in paths:
            key = tuple(path)
            for length in range(len(key)):
                totals.setdefault(key[:length], 0.0)
            totals[key] = totals.get(key, 0.0) + count
        ordered = sorted(totals)
        number = {path: node for node, path in enumerate(ordered)}
        parent = [number[path[:-1]] if path else -1 for path in ordered]
        names = [path[-1] if path else root for path in ordered]
        counts = [totals[path] for path in ordered]
        return cls.from_parents(parent, names, counts if any(counts) else None)

    def __len__(self) -> int:
        return len(self.parent)

    def __repr__(self) -> str:
        return f"TopicTree({len(self):,} topics, {self.height} levels below the root)"

    # -- the shape -----------------------------------------------------------------------------------

    def children(self, topic: int) -> _Int32:
        return self.child_nodes[self.child_offsets[topic] : self.child_offsets[topic + 1]]

    def ancestors(self, topic: int) -> list[int]:
        """The topics above ``topic``, root first, ``topic`` itself excluded."""
        above = []
        node = int(self.parent[topic])
        while node >= 0:
            above.append(node)
            node = int(self.parent[node])
        return above[::-1]

    def is_ancestor(self, upper: int, topic: int) -> bool:
        """Whether ``upper`` is ``topic`` or lies above it."""
        return bool(upper <= topic < self.end[upper])

    # -- names ---------------------------------------------------------------------------------------

    def path(self, topic: int) -> tuple[str, ...]:
        """The names from the root down to ``topic``."""
        return tuple(self.names[node] for node in [*self.ancestors(topic), topic])

    def label(self, topic: int) -> str:
        """The path as text: ``Top/Arts/Music``. A slash inside a name is written ``%2F``."""
        known = self._labels.get(topic)
        if known is None:
            known = "/".join(name.replace("%", "%25").replace("/", "%2F") for name in self.path(topic))
            if len(self._labels) >= _KEPT_LABELS:
                self._labels.clear()
            self._labels[topic] = known
        return known

    def find(self, path: str | Sequence[str]) -> int:
        """The topic at a path from the root, given as a label or as names.

        Raises:
            TaxonomyError: there is no such topic.
        """
        if isinstance(path, str):
            path = [part.replace("%2F", "/").replace("%25", "%") for part in path.split("/")]
        node = -1
        for name in path:
            below = self._named_below(node).get(name)
            if below is None:
                problem = "the tree has no topic at this path."
                raise TaxonomyError(problem, f"Paths begin with the root, {self.names[0]!r}.")
            node = below
        if node < 0:
            raise TaxonomyError("an empty path names no topic.", f"The root is {self.names[0]!r}.")
        return node

    def named(self, name: str) -> int:
        """The topic of that name, if only one has it; or the topic at that path, if it holds a slash.

        Where no topic is spelt exactly so, capitals do not count.

        Raises:
            TaxonomyError: no topic or several have the name, or none stands at the path.
        """
        text("topic", name, _LONGEST_PATH)
        if "/" in name or name == self.names[0]:
            return self.find(name)
        found = [topic for topic, known in enumerate(self.names) if known == name]
        lowered = name.casefold()
        found = found or [topic for topic, known in enumerate(self.names) if known.casefold() == lowered]
        if len(found) != 1:
            remedy = "Give a name that Guard.find or tacit profile show lists, or its path from the root."
            raise TaxonomyError(f"{len(found) or 'no'} topics have that name; one is expected.", remedy)
        return found[0]

    def _named_below(self, topic: int) -> dict[str, int]:
        """The children of a topic by name (of -1: the root), made where somebody looks for one."""
        found = self._below.get(topic)
        if found is None:
            children = self.children(topic).tolist() if topic >= 0 else [0]
            found = self._below[topic] = {self.names[child]: child for child in children}
        return found

    # -- probabilities -------------------------------------------------------------------------------

    def probability(self, topic: int, given: int = 0) -> float:
        """Pr(topic | given), for a topic in the subtree of ``given`` (eq. 2 and 3); 0 elsewhere."""
        if not self.is_ancestor(given, topic):
            return 0.0
        return float(self.support[topic] / self.support[given])


def _preorder(parent: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """The old numbers in depth-first order; refuses what is not one rooted tree."""
    if len(parent) != size:
        raise TaxonomyError(f"{len(parent)} parents for {size} names: each topic needs both.")
    roots = np.flatnonzero(parent < 0)
    if len(roots) != 1:
        raise TaxonomyError(f"a topic tree has exactly one root; found {len(roots)}.")
    if size and int(parent.max(initial=-1)) >= size:
        raise TaxonomyError(f"a parent must be one of the {size} topics; found number {parent.max()}.")
    below: list[list[int]] = [[] for _ in range(size)]
    for node, above in enumerate(parent.tolist()):
        if above >= 0:
            below[above].append(node)
    order: list[int] = []
    stack = [int(roots[0])]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(reversed(below[node]))
    if len(order) != size:
        raise TaxonomyError(f"{size - len(order)} topics are not connected to the root (a cycle).")
    return np.array(order, np.int64)


def _depths(parent: _Int32) -> _Int32:
    depth = [0] * len(parent)
    for node, above in enumerate(parent.tolist()):
        if node:
            depth[node] = depth[above] + 1
    return np.array(depth, np.int32)


def _children(parent: _Int32) -> tuple[_Int32, _Int32]:
    counts = np.bincount(parent[1:], minlength=len(parent))
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    nodes = (np.argsort(parent[1:], kind="stable") + 1).astype(np.int32)
    return offsets, nodes


def _ends(parent: _Int32) -> _Int32:
    above, end = parent.tolist(), list(range(1, len(parent) + 1))
    for node in range(len(end) - 1, 0, -1):
        end[above[node]] = max(end[above[node]], end[node])
    return np.array(end, np.int32)
