"""A profile drawn as a tree for its owner's terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text
from rich.tree import Tree

from tacit.taxonomy import TopicTree

__all__ = ["topic_tree"]


def topic_tree(tree: TopicTree, topics: Sequence[int], describe: Callable[[int], Text]) -> Tree:
    """Draw ``topics`` (a rooted subtree, ascending), one line each, as ``describe`` words it."""
    drawn: dict[int, Tree] = {}
    root = Tree(describe(topics[0]) if topics else Text("(empty)", style="dim"))
    for topic in topics:
        above = drawn.get(int(tree.parent[topic]))
        drawn[topic] = root if above is None else above.add(describe(topic))
    return root
