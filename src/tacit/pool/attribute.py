"""One attribute of a record: ordered numbers, ordered names, or names under a taxonomy.

A taxonomy's leaves are numbered in preorder, so that each of its topics is an interval of codes, and every
attribute can be cut like a line (section 6.1, after Iyengar).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tacit.errors import InputError

__all__ = ["PARTS", "Attribute", "Part", "attribute_from"]

Part = Literal["person", "query"]
PARTS: tuple[Part, ...] = ("person", "query")
"""Whose attribute it is: the person's (d), or of the public part of a query (q^p, Definition 4)."""

LARGEST_DOMAIN = 65_536
"""Codes are kept in 16 bits."""

_MOST_PIECES = 3
"""A generalised value is spelt out by at most so many names."""


@dataclass(frozen=True)
class Attribute:
    """An attribute and its totally ordered domain.

    Attributes:
        name: as it stands in records.
        labels: its values in order; code c stands for ``labels[c]``.
        numeric: the values are consecutive whole numbers.
        topics: named intervals of codes (inner topics of a taxonomy), outermost first.
        part: the person's, or the query's public part.
    """

    name: str
    labels: tuple[str, ...]
    numeric: bool = False
    topics: tuple[tuple[str, int, int], ...] = ()
    part: Part = "person"
    _codes: dict[str, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        if not self.labels or len(self.labels) > LARGEST_DOMAIN:
            raise InputError(
                f"attribute {self.name!r} has {len(self.labels):,} values; it must have 1 to "
                f"{LARGEST_DOMAIN:,}."
            )
        for code, label in enumerate(self.labels):
            if label.casefold() in self._codes:
                raise InputError(
                    f"attribute {self.name!r} names the value {label!r} twice.", "Keep one of them."
                )
            self._codes[label.casefold()] = code

    def __len__(self) -> int:
        return len(self.labels)

    def code(self, value: object) -> int:
        """The code of a value; the error does not repeat the value, which is somebody's."""
        text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        code = self._codes.get(text.strip().casefold())
        if code is None:
            rule = (
                f"a whole number from {self.labels[0]} to {self.labels[-1]}"
                if self.numeric
                else f"one of its {len(self)} values, such as {self.labels[0]!r}"
            )
            raise InputError(f"a record's {self.name!r} is outside the template.", f"It must be {rule}.")
        return code

    def words(self, low: int, high: int) -> str:
        """The interval of codes in words: "25", "25 to 28", "North America", "any age"."""
        if low == high:
            return self.labels[low]
        if low == 0 and high == len(self) - 1:
            return f"any {self.name}"
        if self.numeric or not self.topics:
            return f"{self.labels[low]} to {self.labels[high]}"
        pieces = list(self._pieces(low, high))
        if len(pieces) <= _MOST_PIECES:
            return " or ".join(pieces)
        return f"{self.labels[low]} to {self.labels[high]} ({high - low + 1} of {len(self)})"

    def _pieces(self, low: int, high: int) -> Iterator[str]:
        """The largest topics and single values that make up the interval, in order."""
        at = low
        while at <= high:
            inside = [topic for topic in self.topics if topic[1] == at and topic[2] <= high]
            if inside:
                widest = max(inside, key=lambda topic: topic[2])
                yield widest[0]
                at = widest[2] + 1
            else:
                yield self.labels[at]
                at += 1


def attribute_from(given: Mapping[str, Any]) -> Attribute:
    """An attribute as a template file declares it; see :func:`tacit.pool.template.read_template`."""
    name = given.get("name")
    if not isinstance(name, str) or not name.strip():
        raise InputError("an attribute of the template has no name.", "Give each [[attribute]] a name.")
    unknown = set(given) - {"name", "low", "high", "values", "taxonomy", "part"}
    if unknown:
        raise InputError(
            f"attribute {name!r} has an unknown key {min(unknown)!r}.",
            "An attribute has a name, an optional part, and one of: low and high, values, taxonomy.",
        )
    part = given.get("part", "person")
    if part not in PARTS:
        raise InputError(f"attribute {name!r}: part must be 'person' or 'query'; found {part!r}.")
    kinds = [kind for kind in ("low", "values", "taxonomy") if kind in given]
    if len(kinds) != 1 or ("low" in given) != ("high" in given):
        raise InputError(
            f"attribute {name!r} must declare its domain in one way; found {', '.join(kinds) or 'none'}.",
            "Give low and high (whole numbers), values (a list in order) or taxonomy (a tree).",
        )
    if kinds == ["low"]:
        low, high = given["low"], given["high"]
        if type(low) is not int or type(high) is not int or not 0 <= high - low < LARGEST_DOMAIN:
            raise InputError(
                f"attribute {name!r}: low and high must be whole numbers, the high one not below the low one "
                f"and at most {LARGEST_DOMAIN:,} values apart; found {low!r} and {high!r}."
            )
        return Attribute(name, tuple(str(value) for value in range(low, high + 1)), numeric=True, part=part)
    if kinds == ["values"]:
        return Attribute(name, tuple(_names(name, given["values"])), part=part)
    labels: list[str] = []
    topics: list[tuple[str, int, int]] = []
    _walk(name, given["taxonomy"], labels, topics)
    return Attribute(name, tuple(labels), topics=tuple(topics), part=part)


def _names(attribute: str, values: object) -> Sequence[str]:
    if not isinstance(values, list) or not all(isinstance(v, str | int) and str(v).strip() for v in values):
        raise InputError(f"attribute {attribute!r}: values must be a list of names.")
    return [str(value) for value in values]


def _walk(attribute: str, tree: object, labels: list[str], topics: list[tuple[str, int, int]]) -> None:
    """Number the leaves of ``tree`` in preorder; a topic is an interval of them."""
    if isinstance(tree, list):
        labels.extend(_names(attribute, tree))
        return
    if not isinstance(tree, dict) or not tree:
        raise InputError(
            f"attribute {attribute!r}: a taxonomy is a table of topics, each a table or a list of values."
        )
    for topic, below in tree.items():
        begin, place = len(labels), len(topics)
        _walk(attribute, below, labels, topics)
        topics.insert(place, (topic, begin, len(labels) - 1))
