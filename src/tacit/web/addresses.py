"""Addresses and topics as people read them.

A name that could pass for another is shown letter by letter, as DNS has it: a label of a host is shown as it
is written if all its letters are of one script (or of scripts that are written together, as in Japanese), and
none of it is made of letters alone that look like Latin ones. All others are shown in punycode, as browsers
do, so that ``аpple.com`` with a Cyrillic а reads ``xn--pple-43d.com``.
"""

import re
import unicodedata
from collections.abc import Iterable
from importlib import resources
from urllib.parse import unquote, urlsplit

_TOGETHER = (
    {"CJK", "HIRAGANA", "KATAKANA", "LATIN", "KATAKANA-HIRAGANA"},
    {"CJK", "HANGUL", "LATIN"},
    {"CJK", "BOPOMOFO", "LATIN"},
)
_LIKE_LATIN = frozenset("аеорсухіјѕԁһӏԛԝᴦгпкѵүɡıοαρνυικτμωհոսզց")
_LONGEST_STEP = 40
_MOST_STEPS = 4


def ascii_host(host: str) -> str:
    """A host as DNS has it; letters that no name may have are replaced."""
    try:
        return host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return host.encode("ascii", "replace").decode("ascii").lower()


def shown_host(host: str) -> str:
    """A host as it is shown.

    >>> shown_host("bücher.example"), shown_host("аpple.example")
    ('bücher.example', 'xn--pple-43d.example')
    """
    host = host.lower()
    return ".".join(label if _is_plain(label) else ascii_host(label) for label in host.split("."))


def _is_plain(label: str) -> bool:
    if label.isascii():
        return True
    letters = [letter for letter in label if not letter.isascii() or letter.isalpha()]
    if not all(letter.isalpha() or unicodedata.combining(letter) for letter in letters):
        return False
    scripts = {unicodedata.name(letter, "UNKNOWN").split()[0] for letter in letters}
    if scripts - {"LATIN", "CJK", "HANGUL"} and _LIKE_LATIN.issuperset(letters):
        return False
    return len(scripts) == 1 or any(scripts <= together for together in _TOGETHER)


def crumbs(url: str) -> list[str]:
    """The whole address as a path: host, then the steps of the path, the middle ones left out if many."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port not in {None, 80, 443} else ""
    steps = [unquote(step) for step in parts.path.split("/") if step]
    steps = [step if step.isprintable() else "…" for step in steps]
    if len(steps) > _MOST_STEPS:
        steps = [*steps[:2], "…", *steps[-2:]]
    short = [step if len(step) <= _LONGEST_STEP else step[: _LONGEST_STEP - 1] + "…" for step in steps]
    host = shown_host(parts.hostname or "").removeprefix("www.")
    return [("http://" if parts.scheme == "http" else "") + host + port, *short]


def table(name: str) -> dict[str, str]:
    """A table of this package: on each line a name and, after a space, what it stands for."""
    lines = (resources.files("tacit.web") / name).read_text("utf-8").splitlines()
    return {head: told for head, _, told in (line.partition(" ") for line in lines)}


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
