"""Reading rules that people keep and share: uBlacklist subscriptions and Brave Goggles."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tacit.errors import InputError
from tacit.web.rules import Action, SiteRule, check_pattern

__all__ = ["ReadRules", "read_rules"]

_LARGEST = 200_000
_GOGGLE = re.compile(r"\$(?:.*,)?(boost|downrank|discard)(?:=(\d+))?\b")
_SITE = re.compile(r"\bsite=([^,\s]+)")


@dataclass(frozen=True)
class ReadRules:
    """The rules of a file, and how many of its lines could not be used."""

    rules: tuple[SiteRule, ...]
    passed_over: int


def read_rules(text: str, source: str) -> ReadRules:
    """The rules of a file, whichever of the two formats it has.

    uBlacklist blocks what a line matches; a line with ``@`` before the pattern takes it out again, and ``@1``
    marks it, which is read as raising. Goggles boost, downrank or discard; strengths become one step.

    Raises:
        InputError: no line of it is a rule.
    """
    text = text.removeprefix("\ufeff")
    lines = [line.strip() for line in _without_front_matter(text).splitlines()]
    goggle = any(_GOGGLE.search(line) for line in lines if not line.startswith("!"))
    rules: list[SiteRule] = []
    passed_over = 0
    for line in lines:
        if not line or line.startswith(("!", "#")):
            continue
        rule = _goggle_rule(line, source) if goggle else _blacklist_rule(line, source)
        if rule is None:
            passed_over += 1
        else:
            rules.append(rule)
        if len(rules) > _LARGEST:
            raise InputError(f"the file has more than {_LARGEST:,} rules.", "Import a smaller one.")
    if not rules:
        raise InputError("no line of the file is a rule.", "Give a uBlacklist or Goggles file.")
    return ReadRules(tuple(dict.fromkeys(rules)), passed_over)


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
    return _rule(action, line, source)


def _goggle_rule(line: str, source: str) -> SiteRule | None:
    found = _GOGGLE.search(line)
    if found is None:
        return None
    action = {"boost": Action.RAISE, "downrank": Action.LOWER, "discard": Action.BLOCK}[found[1]]
    pattern, options = line[: line.index("$")], line[line.index("$") :]
    site = _SITE.search(options)
    if not pattern and site:
        return _rule(action, site[1], source)
    if not pattern:
        return None  # a rule for everything
    body = "".join({"*": ".*", "^": r"(?:[^\w.%-]|$)", "|": ""}.get(c, re.escape(c)) for c in pattern)
    if pattern.startswith("|"):
        body = "^" + body
    if pattern.endswith("|"):
        body += "$"
    if site:
        body = rf"^https?://(?:[^/]+\.)?{re.escape(site[1])}(?::\d+)?/.*{body.removeprefix('^')}"
    return _rule(action, f"/{body}/", source)


def _rule(action: Action, pattern: str, source: str) -> SiteRule | None:
    try:
        return SiteRule(action, check_pattern(pattern), source)
    except InputError:
        return None
