"""Topics as people read them: names without sense numbers, and the tree of what was sent in few lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from tacit.device import SentTopic

_SENSE = re.compile(r"\.n\.\d+$")


def readable_topic(label: str) -> str:
    """The last part of a label without WordNet's sense number.

    >>> readable_topic("entity.n.01/domestic_animal.n.01")
    'domestic animal'
    """
    return _SENSE.sub("", label.rpartition("/")[2]).replace("_", " ")


def leaf_labels(labels: Iterable[str]) -> list[str]:
    """The labels of a rooted tree under which no other lies."""
    found = list(labels)
    inner = {label.rpartition("/")[0] for label in found}
    return [label for label in found if label not in inner]


def leaf_words(labels: Iterable[str]) -> tuple[str, ...]:
    """The readable names of the most special topics, to expand a query by."""
    return tuple(dict.fromkeys(readable_topic(label) for label in leaf_labels(labels)))


class Branch(NamedTuple):
    """One line of the drawing: a topic, or several of which each has only the next below it."""

    names: str
    """As people read them, from the top down."""
    sent: bool
    share: float
    risk: float
    sensitivity: float
    below: tuple[Branch, ...]


def branch(topic: SentTopic) -> Branch:
    """The drawing of a topic and what lies below it; a change from sent to hidden begins a new line."""
    names = [readable_topic(topic.label)]
    while len(topic.below) == 1 and topic.below[0].sent == topic.sent and not topic.sensitivity:
        topic = topic.below[0]
        names.append(readable_topic(topic.label))
    return Branch(
        names=" › ".join(names),
        sent=topic.sent,
        share=topic.share,
        risk=topic.risk,
        sensitivity=topic.sensitivity,
        below=tuple(map(branch, topic.below)),
    )
