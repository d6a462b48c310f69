"""Topics as people read them: names without sense numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacit.device import Protection

_SENSE = re.compile(r"\.n\.\d+$")


def readable_topic(label: str) -> str:
    """The last part of a label without WordNet's sense number.

    >>> readable_topic("entity.n.01/domestic_animal.n.01")
    'domestic animal'
    """
    name = _SENSE.sub("", label.rpartition("/")[2]).replace("_", " ")
    return name.replace("%2F", "/").replace("%25", "%")


def leaf_labels(labels: Iterable[str]) -> list[str]:
    """The labels of a rooted tree under which no other lies."""
    found = list(labels)
    inner = {label.rpartition("/")[0] for label in found}
    return [label for label in found if label not in inner]


def leaf_words(labels: Iterable[str]) -> tuple[str, ...]:
    """The readable names of the most special topics, to expand a query by."""
    return tuple(dict.fromkeys(readable_topic(label) for label in leaf_labels(labels)))


def sent_names(decided: Protection) -> tuple[str, ...]:
    """The readable names of the most special topics that were sent."""
    return tuple(map(readable_topic, decided.names))
