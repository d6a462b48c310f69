"""Queries that name something personal: a public part is generalised, a private part is sent as it is.

Definition 4: a query q is divided into q^p, which may identify its sender and may be generalised ("Redmond"),
and q^s, which is what the person wants to ask ("stripper club"). The public part is an extension of the
record: attributes whose part is ``query``. The pool then generalises d and q^p together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tacit.errors import InputError
from tacit.pool.region import Region
from tacit.pool.template import Template

__all__ = ["ExtendedQuery", "GeneralisedQuery", "divide", "generalised_query"]


@dataclass(frozen=True)
class ExtendedQuery:
    """A query in its two parts."""

    public: dict[str, str]
    """q^p: a value for attributes of the query."""
    private: str
    """q^s: sent as it is."""


@dataclass(frozen=True)
class GeneralisedQuery:
    """What a service sees: the person's generalised attributes, q^p', and q^s."""

    person: dict[str, str]
    public: dict[str, str]
    private: str


def divide(template: Template, query: str) -> ExtendedQuery:
    """Take the values of the template's query attributes out of ``query``; the rest is the private part.

    The longest value wins ("new york city" over "new york"); an attribute takes one value, further ones
    of it are refused, since they would stay in the private part and be sent as they are.
    """
    public: dict[str, str] = {}
    private = query
    for attribute in template.attributes:
        if attribute.part != "query":
            continue
        alternatives = "|".join(re.escape(label) for label in sorted(attribute.labels, key=len, reverse=True))
        named = re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", re.IGNORECASE)
        found = {attribute.labels[attribute.code(match)] for match in named.findall(private)}
        if len(found) > 1:
            raise InputError(
                f"a query names {len(found)} values of {attribute.name!r}; one can be generalised.",
                "Ask about one at a time.",
            )
        if found:
            public[attribute.name] = found.pop()
            private = named.sub(" ", private)
    return ExtendedQuery(public, " ".join(private.split()))


def generalised_query(template: Template, region: Region, query: ExtendedQuery) -> GeneralisedQuery:
    """The query under ``region``, which must contain its public part."""
    values = template.values(region)
    for number, attribute in enumerate(template.attributes):
        if attribute.name in query.public:
            code = attribute.code(query.public[attribute.name])
            if not region.low[number] <= code <= region.high[number]:
                raise InputError(
                    f"the region does not contain the query's {attribute.name!r}.",
                    "Join the pool with the public part that the query has.",
                )
    parts = {attribute.name: attribute.part for attribute in template.attributes}
    return GeneralisedQuery(
        {name: words for name, words in values.items() if parts[name] == "person"},
        {name: words for name, words in values.items() if parts[name] == "query"},
        query.private,
    )
