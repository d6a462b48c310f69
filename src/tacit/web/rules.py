"""The person's rules on addresses of results: block, lower, raise or pin a site; strip tracking parameters.

A pattern is a host (``example.org``, which covers its subdomains), a uBlacklist match pattern
(``*://*.example.org/news/*``), or a regular expression between slashes. Lists that people share, uBlacklist
subscriptions, can be imported. Rules are applied after all ranking, on the device, and
are never sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TypeVar
from urllib.parse import urlsplit, urlunsplit

from tacit.errors import InputError
from tacit.web.addresses import ascii_host

_HOST = re.compile(r"(?!-)[a-z0-9-]{1,63}(\.(?!-)[a-z0-9-]{1,63})*", re.IGNORECASE)
_MATCH = re.compile(r"(\*|https?|ftp)://(\*|(?:\*\.)?[^/*:]+)(?::\d+)?(/.*)?")
_LONGEST = 500
_STEP = 6
"""By how many places a rule raises or lowers a result."""

_Item = TypeVar("_Item")


class Action(StrEnum):
    """What a rule does to the results it fits."""

    BLOCK = "block"
    LOWER = "lower"
    RAISE = "raise"
    PIN = "pin"


@dataclass(frozen=True)
class SiteRule:
    """One rule."""

    action: Action
    pattern: str
    source: str = "own"
    """Where it comes from: the person, or the name of an imported file."""
    number: int = 0


def check_pattern(pattern: str) -> str:
    """The pattern, tidied.

    Raises:
        InputError: it is none.
    """
    pattern = pattern.strip()
    if len(pattern) > _LONGEST:
        raise InputError(f"a pattern must be at most {_LONGEST} characters; found {len(pattern)}.")
    if (
        pattern.startswith(("http://", "https://"))
        and "*" not in pattern
        and _HOST.fullmatch(urlsplit(pattern).netloc)
    ):
        parts = urlsplit(pattern)
        pattern = parts.netloc if parts.path in {"", "/"} else f"*://{parts.netloc}{parts.path}*"
    _compiled(pattern)
    return pattern.lower() if _HOST.fullmatch(pattern) else pattern


@lru_cache(maxsize=100_000)
def _compiled(pattern: str) -> re.Pattern[str] | str:
    """A host in lower case, or a regular expression over the whole address."""
    if _HOST.fullmatch(pattern):
        return pattern.lower()
    if pattern.startswith("/") and pattern.rstrip("i").endswith("/") and len(pattern) > 2:
        body, flags = pattern[1:].rsplit("/", 1)
        if _is_nested(body):
            raise InputError("a regular expression may not repeat what repeats.", "Write it more simply.")
        try:
            return re.compile(body, re.IGNORECASE if flags == "i" else 0)
        except re.error as error:
            raise InputError(f"not a regular expression: {error}.") from error
    found = _MATCH.fullmatch(pattern)
    if found is None:
        raise InputError(
            "not a pattern.", "Write a host (example.org), *://*.example.org/path/*, or /regular expression/."
        )
    scheme, host, path = found[1], found[2], found[3] or "/*"
    scheme = "https?" if scheme == "*" else scheme
    if host == "*":
        host = "[^/]+"
    elif host.startswith("*."):
        host = r"(?:[^/]+\.)?" + re.escape(host[2:])
    else:
        host = re.escape(host)
    path = ".*".join(re.escape(piece) for piece in path.split("*"))
    return re.compile(rf"{scheme}://{host}(?::\d+)?{path}$", re.IGNORECASE)


def _is_nested(body: str) -> bool:
    """Whether a group that repeats inside is repeated itself, which can take for ever on some addresses."""
    return bool(re.search(r"[+*}][^()]*\)[+*{]", body))


class RuleBook:
    """Rules, ready to be applied: hosts by look-up, the few expressions one by one."""

    def __init__(self, rules: Iterable[SiteRule]) -> None:
        self.rules: Sequence[SiteRule] = tuple(rules)
        self._hosts: dict[str, SiteRule] = {}
        self._expressions: list[tuple[re.Pattern[str], SiteRule]] = []
        for rule in self.rules:
            compiled = _compiled(rule.pattern)
            if isinstance(compiled, str):
                self._hosts[compiled] = rule
            else:
                self._expressions.append((compiled, rule))

    def rule_for(self, url: str) -> SiteRule | None:
        """The rule that holds for an address: expressions before hosts, subdomains before their domains."""
        for expression, rule in self._expressions:
            if expression.search(url):
                return rule
        labels = ascii_host(urlsplit(url).hostname or "").split(".") if self._hosts else []
        suffixes = (".".join(labels[start:]) for start in range(len(labels)))
        return next((self._hosts[suffix] for suffix in suffixes if suffix in self._hosts), None)

    def arranged(self, items: Sequence[tuple[str, _Item]]) -> tuple[list[_Item], list[_Item]]:
        """Items, each after its address, in the order that the rules make of it; and those blocked."""
        kept: list[tuple[float, int, _Item]] = []
        blocked: list[_Item] = []
        for place, (url, item) in enumerate(items):
            rule = self.rule_for(url)
            match rule.action if rule is not None else None:
                case Action.BLOCK:
                    blocked.append(item)
                case Action.PIN:
                    kept.append((-1e6, place, item))
                case Action.RAISE:
                    kept.append((place - _STEP - 0.5, place, item))
                case Action.LOWER:
                    kept.append((place + _STEP + 0.5, place, item))
                case _:
                    kept.append((place, place, item))
        kept.sort(key=lambda entry: entry[:2])
        return [item for _, _, item in kept], blocked


_LARGEST = 200_000


@dataclass(frozen=True)
class ReadRules:
    """The rules of a file, and how many of its lines could not be used."""

    rules: tuple[SiteRule, ...]
    skipped: int


def read_rules(text: str, source: str) -> ReadRules:
    """The rules of a uBlacklist file.

    It blocks what a line matches; a line with ``@`` before the pattern takes it out again, and ``@1`` marks
    it, which is read as raising.

    Raises:
        InputError: no line of it is a rule.
    """
    text = text.removeprefix("\ufeff")
    lines = [line.strip() for line in _without_front_matter(text).splitlines()]
    rules: list[SiteRule] = []
    skipped = 0
    for line in lines:
        if not line or line.startswith("#"):
            continue
        rule = _blacklist_rule(line, source)
        if rule is None:
            skipped += 1
        else:
            rules.append(rule)
        if len(rules) > _LARGEST:
            raise InputError(f"the file has more than {_LARGEST:,} rules.", "Import a smaller one.")
    if not rules:
        raise InputError("no line of the file is a rule.", "Give a uBlacklist file.")
    return ReadRules(tuple(dict.fromkeys(rules)), skipped)


def _without_front_matter(text: str) -> str:
    """uBlacklist files may begin with a block between two lines of ``---``."""
    if not text.startswith("---"):
        return text
    parts = re.split(r"^---\s*$", text, maxsplit=2, flags=re.MULTILINE)
    return parts[2] if len(parts) == 3 else text


def _blacklist_rule(line: str, source: str) -> SiteRule | None:
    action = Action.BLOCK
    marked = re.match(r"@(\d*)\s*", line)
    if marked:
        action, line = Action.RAISE, line[marked.end() :]
    line = line.partition(" #")[0].strip()
    if re.match(r"(title|path|url|host|scheme)?\s*[/=~^$*]=?", line) and not line.startswith(("/", "*")):
        return None  # conditions on other things than the address
    try:
        return SiteRule(action, check_pattern(line), source)
    except InputError:
        return None


_EXACT = frozenset(
    "fbclid gclid gclsrc gbraid wbraid dclid msclkid yclid twclid ttclid igshid igsh mc_cid mc_eid mkt_tok "
    "oly_anon_id oly_enc_id vero_conv vero_id wickedid _hsenc _hsmi __hssc __hstc __hsfp hsCtaTracking "
    "_openstat ml_subscriber ml_subscriber_hash rb_clickid s_cid srsltid spm scm cvid ocid epik "
    "ref_src ref_url _ga _gl li_fat_id sc_cid trk trkCampaign yadid".split()
)
_BEGINNINGS = ("utm_", "stm_", "pk_", "piwik_", "mtm_", "matomo_", "hsa_", "at_medium", "at_campaign", "ns_")


def without_tracking(url: str) -> str:
    """The address without parameters that only serve to follow people; all else stays byte for byte.

    >>> without_tracking("https://example.org/a?id=7&utm_source=x#part")
    'https://example.org/a?id=7#part'
    """
    if "?" not in url:
        return url
    parts = urlsplit(url)
    if not parts.query:
        return url
    pieces = parts.query.split("&")
    kept = [piece for piece in pieces if not _tracks(piece.partition("=")[0])]
    if len(kept) == len(pieces):
        return url
    return urlunsplit(parts._replace(query="&".join(kept)))


def _tracks(name: str) -> bool:
    return name in _EXACT or name.lower().startswith(_BEGINNINGS)
