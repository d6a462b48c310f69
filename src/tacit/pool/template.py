"""The template of personal information: which attributes a record has, and what they may be.

Declared in a TOML file::

    [[attribute]]
    name = "age"
    low = 17
    high = 90

    [[attribute]]
    name = "place"
    part = "query"                  # generalised along with the person's attributes (Definition 4)
    [attribute.taxonomy]
    "British Columbia" = ["Burnaby", "Vancouver"]
    Washington = ["Redmond", "Seattle"]
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tacit.errors import InputError
from tacit.pool.attribute import Attribute, attribute_from
from tacit.pool.region import Region

__all__ = ["Record", "Template", "parse_template", "read_template"]

Record = tuple[int, ...]
"""A person's record d: one code an attribute."""

_MOST_ATTRIBUTES = 64


@dataclass(frozen=True)
class Template:
    """The attributes of a record, in order."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        names = [attribute.name for attribute in self.attributes]
        if not 1 <= len(names) <= _MOST_ATTRIBUTES:
            raise InputError(f"a template must have 1 to {_MOST_ATTRIBUTES} attributes; found {len(names)}.")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"the template declares the attribute {twice!r} twice.", "Rename one of them.")

    @cached_property
    def domain(self) -> Region:
        """D, the region of all records; as a generalised record it is d*."""
        return Region(tuple(0 for _ in self.attributes), tuple(len(a) - 1 for a in self.attributes))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values each attribute has."""
        return tuple(len(attribute) for attribute in self.attributes)

    @cached_property
    def digest(self) -> str:
        """Names the template: agents and pool must mean the same codes."""
        text = json.dumps(self.as_dict(), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def encode(self, values: Mapping[str, object]) -> Record:
        """The record with these values; every attribute must be there, and nothing else."""
        missing = [a.name for a in self.attributes if a.name not in values]
        if missing:
            raise InputError(f"a record lacks {missing[0]!r}.", f"It needs {', '.join(self.names)}.")
        unknown = set(values) - set(self.names)
        if unknown:
            raise InputError(
                f"a record has {len(unknown)} attribute(s) that the template does not declare.",
                f"It may have {', '.join(self.names)}.",
            )
        return tuple(attribute.code(values[attribute.name]) for attribute in self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names."""
        return tuple(attribute.name for attribute in self.attributes)

    def check_region(self, low: Sequence[int], high: Sequence[int]) -> Region:
        """A region that came from elsewhere, refused unless it lies inside the domain."""
        region = Region(tuple(low), tuple(high))
        numbers = all(type(code) is int for code in (*region.low, *region.high))
        if (
            not numbers
            or len(region.low) != len(self.attributes)
            or len(region.high) != len(self.attributes)
            or not self.domain.covers(region)
            or any(a > b for a, b in zip(region.low, region.high, strict=True))
        ):
            raise InputError("a region does not lie inside the template's domain.")
        return region

    def values(self, region: Region) -> dict[str, str]:
        """The generalised values in words, an attribute each."""
        return {
            attribute.name: attribute.words(low, high)
            for attribute, low, high in zip(self.attributes, region.low, region.high, strict=True)
        }

    def words(self, region: Region) -> str:
        """The region in words, without the attributes about which it says nothing: "25 to 28, Burnaby"."""
        said = [
            attribute.words(low, high)
            for attribute, low, high in zip(self.attributes, region.low, region.high, strict=True)
            if (low, high) != (0, len(attribute) - 1) or len(attribute) == 1
        ]
        return ", ".join(said) or "anybody"

    def as_dict(self) -> dict[str, Any]:
        """What :func:`parse_template` reads."""
        return {"attribute": [_attribute_as_dict(attribute) for attribute in self.attributes]}


def _attribute_as_dict(attribute: Attribute) -> dict[str, Any]:
    said: dict[str, Any] = {"name": attribute.name, "part": attribute.part}
    if attribute.numeric:
        return said | {"low": int(attribute.labels[0]), "high": int(attribute.labels[-1])}
    if not attribute.topics:
        return said | {"values": list(attribute.labels)}
    return said | {"taxonomy": _tree(attribute, 0, len(attribute) - 1, list(attribute.topics))}


def _tree(attribute: Attribute, low: int, high: int, topics: list[tuple[str, int, int]]) -> Any:
    """The taxonomy below ``low`` to ``high``; takes its topics from the front of ``topics`` (preorder)."""
    if not (topics and low <= topics[0][1] and topics[0][2] <= high):
        return list(attribute.labels[low : high + 1])
    tree: dict[str, Any] = {}
    while topics and low <= topics[0][1] and topics[0][2] <= high:
        name, begin, end = topics.pop(0)
        tree[name] = _tree(attribute, begin, end, topics)
    return tree


def parse_template(given: Mapping[str, Any]) -> Template:
    """The template that ``given`` declares (a TOML or JSON document that was read already)."""
    attributes = given.get("attribute")
    if not isinstance(attributes, list) or not all(isinstance(each, dict) for each in attributes):
        raise InputError("a template declares its attributes as [[attribute]] tables; found none.")
    return Template(tuple(attribute_from(each) for each in attributes))


def read_template(path: str | Path) -> Template:
    """Read a template file (TOML)."""
    path = Path(path)
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"the template {path} is not TOML: {error}.") from error
    return parse_template(given)
