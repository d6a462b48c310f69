"""Topics as people read them: names without sense numbers."""

import re
from collections.abc import Iterable

_SENSE = re.compile(r"\.n\.\d+$")


def readable_topic(label: str) -> str:
    """The last part of a label without WordNet's sense number.

    >>> readable_topic("entity.n.01/domestic_animal.n.01")
    'domestic animal'
    """
    name = _SENSE.sub("", label.rpartition("/")[2]).replace("_", " ")
    return name.replace("%2F", "/").replace("%25", "%")


def leaf_names(labels: Iterable[str]) -> tuple[str, ...]:
    """Name the most specific of some topics, those under which no other lies."""
    found = list(labels)
    inner = {label.rpartition("/")[0] for label in found}
    return tuple(dict.fromkeys(readable_topic(label) for label in found if label not in inner))
