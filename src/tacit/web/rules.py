"""The person's rules on addresses of results: block, lower, raise or pin a site; strip tracking parameters.

A pattern is a site, ``example.org``, which covers its subdomains, or a part of one, ``example.org/news``.
Rules are applied after all ranking, on the device, and are never sent.

Bangs say where a search goes: ``!w tea`` to the site's own search, which so learns what was asked, others as
``docs/how-to/put-it-before-searxng.md`` lists them.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple, TypeVar
from urllib.parse import quote_plus, urlsplit, urlunsplit

from tacit.errors import InputError
from tacit.web.addresses import ascii_host, table

_HOST = re.compile(r"(?!-)[a-z0-9-]{1,63}(\.(?!-)[a-z0-9-]{1,63})*")
_LONGEST = 500
_STEP = 6.5

_Item = TypeVar("_Item")


class Action(StrEnum):
    """What a rule does to the results it fits."""

    BLOCK = "block"
    LOWER = "lower"
    RAISE = "raise"
    PIN = "pin"


class SiteRule(NamedTuple):
    pattern: str
    action: Action


def check_pattern(pattern: str) -> str:
    """Tidy a pattern; an address becomes the part of the site that it leads to.

    >>> check_pattern("https://Example.org/news/")
    'example.org/news'

    Raises:
        InputError: it is none.
    """
    pattern = pattern.strip()
    if len(pattern) > _LONGEST:
        raise InputError(f"a pattern must be at most {_LONGEST} characters; found {len(pattern)}.")
    host, slash, path = pattern.rpartition("://")[2].rstrip("/").partition("/")
    host = ascii_host(host)
    if not _HOST.fullmatch(host) or any(letter.isspace() for letter in path):
        raise InputError("not a pattern.", "Write a site (example.org) or a part of one (example.org/news).")
    return f"{host}{slash}{path}"


class RuleBook:
    def __init__(self, rules: Mapping[str, Action]) -> None:
        self.rules = dict(rules)

    def rule_for(self, url: str) -> SiteRule | None:
        """Find the rule that holds for an address: that of the nearest subdomain, and its longest path."""
        if not self.rules:
            return None
        parts = urlsplit(url)
        labels = ascii_host(parts.hostname or "").split(".")
        steps = parts.path.rstrip("/").split("/")
        paths = list(accumulate(steps, lambda above, step: f"{above}/{step}"))[::-1]
        hosts = (".".join(labels[start:]) for start in range(len(labels)))
        patterns = (f"{host}{path}" for host in hosts for path in paths)
        return next((SiteRule(one, self.rules[one]) for one in patterns if one in self.rules), None)

    def arranged(self, items: Sequence[tuple[str, _Item]]) -> list[_Item]:
        """Put items, each after its address, in the order of the rules, those that they block left out."""
        moves = {Action.PIN: -1e6, Action.RAISE: -_STEP, Action.LOWER: _STEP}
        kept: list[tuple[float, int, _Item]] = []
        for place, (url, item) in enumerate(items):
            rule = self.rule_for(url)
            if rule is None or rule.action is not Action.BLOCK:
                kept.append((place + (moves[rule.action] if rule is not None else 0), place, item))
        kept.sort(key=lambda entry: entry[:2])
        return [item for _, _, item in kept]


_EXACT = table("tracking.txt")
_BEGINNINGS = ("utm_", "stm_", "pk_", "piwik_", "mtm_", "matomo_", "hsa_", "at_medium", "at_campaign", "ns_")


def without_tracking(url: str) -> str:
    """The address without parameters that only serve to follow people; all else stays byte for byte.

    >>> without_tracking("https://example.org/a?id=7&utm_source=x#part")
    'https://example.org/a?id=7#part'
    """
    parts = urlsplit(url)
    pieces = parts.query.split("&")
    named = [(piece, piece.partition("=")[0]) for piece in pieces]
    kept = [piece for piece, name in named if name not in _EXACT and not name.lower().startswith(_BEGINNINGS)]
    return url if len(kept) == len(pieces) else urlunsplit(parts._replace(query="&".join(kept)))


SITES: Mapping[str, str] = table("bangs.txt")
_SEARXNG_HAS = frozenset({"arxiv", "brave", "ddg", "gh", "imdb", "mdn", "osm", "yt"})
"""Those of them that SearXNG reads itself; the others it would take for words of the query."""
_KINDS = {"i": "images", "im": "images", "n": "news", "v": "videos"}
_BANG = re.compile(r"(?:^|\s)(!!?)([A-Za-z][\w-]*)?(?=\s|$)")


class Bang(NamedTuple):
    """A query and what its bang says."""

    query: str
    leave: str = ""
    category: str = ""
    first: bool = False
    handed: str = ""
    """The bang, where an engine that knows bangs is to read it."""


def read_bang(typed: str, *, handed_on: bool) -> Bang:
    """Read what a query with a bang asks for; an engine may read bangs itself (``handed_on``)."""
    found = _BANG.search(typed)
    if found is None:
        return Bang(typed)
    query = " ".join((typed[: found.start()] + " " + typed[found.end() :]).split())
    marks, name = found[1], (found[2] or "").lower()
    if not query:
        return Bang(typed)
    if not name:
        return Bang(query, first=True) if marks == "!!" else Bang(typed)
    kind = _KINDS.get(name, name)
    if kind in _KINDS.values() and marks == "!":
        return Bang(query, category=kind)
    if name in SITES and (marks == "!!" or not handed_on or name not in _SEARXNG_HAS):
        return Bang(query, leave=SITES[name].format(quote_plus(query)))
    return Bang(query, handed=f"{marks}{found[2]}") if handed_on else Bang(typed)
