"""Records, regions and the template that declares them (its TOML file: docs/reference/python/pool.md).

A **record** d is a point: for each attribute a code from 0 to the size of its domain less one. A **region**
d' (the generalised record) gives each attribute an interval of codes, both ends included.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal

from tacit.errors import InputError


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle of records: ``low[a]`` to ``high[a]`` for each attribute a, both included."""

    low: tuple[int, ...]
    high: tuple[int, ...]

    def __contains__(self, record: Sequence[int]) -> bool:
        return len(record) == len(self.low) and all(
            low <= value <= high for low, value, high in zip(self.low, record, self.high, strict=True)
        )


Part = Literal["person", "query"]
"""Whose attribute it is: the person's (d), or of the public part of a query (q^p, Definition 4)."""

LARGEST_DOMAIN = 65_536
"""Codes are kept in 16 bits."""

_MOST_PIECES = 3
"""A generalised value is spelt out by at most so many names."""


@dataclass(frozen=True)
class Attribute:
    """An attribute and its totally ordered domain: code c stands for ``labels[c]``.

    ``topics`` are named intervals of codes (inner topics of a taxonomy), outermost first; the values of a
    ``numeric`` attribute are consecutive whole numbers.
    """

    name: str
    labels: tuple[str, ...]
    numeric: bool = False
    topics: tuple[tuple[str, int, int], ...] = ()
    part: Part = "person"
    _codes: dict[str, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        if not self.labels or len(self.labels) > LARGEST_DOMAIN:
            problem = f"attribute {self.name!r} has {len(self.labels):,} values"
            raise InputError(f"{problem}; it must have 1 to {LARGEST_DOMAIN:,}.")
        for code, label in enumerate(self.labels):
            if label.casefold() in self._codes:
                problem = f"attribute {self.name!r} names the value {label!r} twice."
                raise InputError(problem, "Keep one of them.")
            self._codes[label.casefold()] = code

    def __len__(self) -> int:
        return len(self.labels)

    def code(self, value: object) -> int:
        """The code of a value; the error does not repeat the value, which is somebody's."""
        text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        code = self._codes.get(text.strip().casefold())
        if code is None:
            first, last = self.labels[0], self.labels[-1]
            rule = f"from {first} to {last}" if self.numeric else f"one of its {len(self)}, such as {first!r}"
            raise InputError(f"a record's {self.name!r} is outside the template.", f"It must be {rule}.")
        return code

    def words(self, low: int, high: int) -> str:
        """The interval of codes in words: "25", "25 to 28", "North America", "any but Asia", "any age"."""
        if low == high:
            return self.labels[low]
        if low == 0 and high == len(self) - 1:
            return f"any {self.name}"
        if self.numeric or not self.topics:
            return f"{self.labels[low]} to {self.labels[high]}"
        pieces = list(self._pieces(low, high))
        if len(pieces) <= _MOST_PIECES:
            return " or ".join(pieces)
        outside = [*self._pieces(0, low - 1), *self._pieces(high + 1, len(self) - 1)]
        if len(outside) == 1:
            return f"any but {outside[0]}"
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
    """An attribute as a template file declares it."""
    name = given.get("name")
    if not isinstance(name, str) or not name.strip():
        raise InputError("an attribute of the template has no name.", "Give each [[attribute]] a name.")
    unknown = set(given) - {"name", "low", "high", "values", "taxonomy", "part"}
    if unknown:
        rule = "An attribute has a name, an optional part, and one of: low and high, values, taxonomy."
        raise InputError(f"attribute {name!r} has an unknown key {min(unknown)!r}.", rule)
    part = given.get("part", "person")
    if part not in ("person", "query"):
        raise InputError(f"attribute {name!r}: part must be 'person' or 'query'; found {part!r}.")
    kinds = [kind for kind in ("low", "values", "taxonomy") if kind in given]
    if len(kinds) != 1 or ("low" in given) != ("high" in given):
        found = f"found {', '.join(kinds) or 'none'}."
        rule = "Give low and high (whole numbers), values (a list in order) or taxonomy (a tree)."
        raise InputError(f"attribute {name!r} must declare its domain in one way; {found}", rule)
    if kinds == ["low"]:
        low, high = given["low"], given["high"]
        if type(low) is not int or type(high) is not int or not 0 <= high - low < LARGEST_DOMAIN:
            rule = f"be whole numbers in this order, at most {LARGEST_DOMAIN:,} values apart"
            raise InputError(f"attribute {name!r}: low and high must {rule}; found {low!r} and {high!r}.")
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
        rule = "a taxonomy is a table of topics, each a table or a list of values"
        raise InputError(f"attribute {attribute!r}: {rule}.")
    for topic, below in tree.items():
        begin, place = len(labels), len(topics)
        _walk(attribute, below, labels, topics)
        topics.insert(place, (topic, begin, len(labels) - 1))


Record = tuple[int, ...]
"""A person's record d: one code an attribute."""

_MOST_ATTRIBUTES = 64


@dataclass(frozen=True)
class Template:
    """The attributes of a record, in order, and their declaration, as :func:`parse_template` reads it."""

    attributes: tuple[Attribute, ...]
    declared: dict[str, Any] = field(repr=False, compare=False)

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
        """The number of values of each attribute."""
        return tuple(len(attribute) for attribute in self.attributes)

    @cached_property
    def digest(self) -> str:
        """Names the template: agents and pool must mean the same codes."""
        text = json.dumps(self.declared, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def encode(self, values: Mapping[str, object]) -> Record:
        """The record with these values; every attribute must be there, and nothing else."""
        missing = [a.name for a in self.attributes if a.name not in values]
        if missing:
            raise InputError(f"a record lacks {missing[0]!r}.", f"It needs {', '.join(self.names)}.")
        unknown = set(values) - set(self.names)
        if unknown:
            problem = f"a record has {len(unknown)} attribute(s) that the template does not declare."
            raise InputError(problem, f"It may have {', '.join(self.names)}.")
        return tuple(attribute.code(values[attribute.name]) for attribute in self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names."""
        return tuple(attribute.name for attribute in self.attributes)

    def values(self, region: Region) -> dict[str, str]:
        """The generalised values in words, an attribute each."""
        return {
            attribute.name: attribute.words(low, high)
            for attribute, low, high in zip(self.attributes, region.low, region.high, strict=True)
        }

    def words(self, region: Region) -> dict[str, str]:
        """The region in words, without the attributes about which it says nothing."""
        anything = self.values(self.domain)
        return {name: said for name, said in self.values(region).items() if said != anything[name]}


def parse_template(given: Mapping[str, Any]) -> Template:
    """The template that ``given`` declares (a TOML or JSON document that was read already)."""
    attributes = given.get("attribute")
    if not isinstance(attributes, list) or not all(isinstance(each, dict) for each in attributes):
        raise InputError("a template declares its attributes as [[attribute]] tables; found none.")
    return Template(tuple(attribute_from(each) for each in attributes), {"attribute": attributes})


def adult_template() -> Template:
    """Read the bundled template."""
    with as_file(files("tacit.data") / "adult" / "template.toml") as path:
        return read_template(path)


def read_template(path: str | Path) -> Template:
    """Read a template file (TOML)."""
    path = Path(path)
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"the template {path} is not TOML: {error}.") from error
    return parse_template(given)


def without_values(template: Template, record: Record, query: str) -> tuple[str, list[str]]:
    """The text without values of query attributes (q^p of Definition 4), and whose they were.

    The service's gateway puts the region's words in their place: a device does not know yet which region its
    query will go out under. The longest value wins ("new york city" over "new york"); an attribute takes one
    value, and it must be the record's: the region would not contain another.
    """
    named = []
    for attribute, own in zip(template.attributes, record, strict=True):
        if attribute.part != "query":
            continue
        alternatives = "|".join(re.escape(label) for label in sorted(attribute.labels, key=len, reverse=True))
        value = re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", re.IGNORECASE)
        found = {attribute.code(match) for match in value.findall(query)}
        if len(found) > 1:
            problem = f"a query names {len(found)} values of {attribute.name!r}; one can be generalised."
            raise InputError(problem, "Ask about one at a time.")
        if found:
            if found != {own}:
                problem = f"the query's {attribute.name!r} is not that of your record."
                raise InputError(problem, "Join the pool with the public part that the query has.")
            named.append(attribute.name)
            query = " ".join(value.sub(" ", query).split())
    return query, named
