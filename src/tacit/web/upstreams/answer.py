"""What an engine answered, in one form whatever the engine."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

__all__ = [
    "LONGEST_SNIPPET",
    "LONGEST_TITLE",
    "LONGEST_URL",
    "USUAL_ADDRESS",
    "Answer",
    "SearchResult",
    "clean_result",
    "plain_text",
]

LONGEST_TITLE = 300
LONGEST_SNIPPET = 600
LONGEST_URL = 4_000

USUAL_ADDRESS = re.compile(
    r"https?://([a-z0-9.-]+)(/[^\x00-\x20?#]*)?(?:\?([^\x00-\x20#]*))?(?:#[^\x00-\x20]*)?"
)
"""Host, path and query of nearly every address, found several times as fast as by taking it apart in full."""

_TAG = re.compile(r"<[^<>]{0,1000}>")
_NO_ADDRESS = re.compile("[\x00-\x20]")
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One result: plain text, and an address a browser may be sent to."""

    url: str
    title: str
    snippet: str
    plain_place: int | None = None
    """Its place in the engine's own order before the engine personalised it, where the engine says."""


@dataclass(frozen=True)
class Answer:
    """What one engine answered, or why it did not."""

    engine: str
    results: tuple[SearchResult, ...] = ()
    milliseconds: float = 0.0
    problem: str = ""
    """What went wrong, for the person to read; empty if nothing did. Never contains the query."""
    remedy: str = ""


def plain_text(marked: object, longest: int) -> str:
    """The readable text of a string that may carry HTML: tags dropped, entities read, spaces joined.

    Characters that are not seen but change how a line reads (such as those that turn its direction) are
    dropped too, since a hostile title could use them to pose as another address.
    """
    if not isinstance(marked, str):
        return ""
    text = html.unescape(_TAG.sub("", marked[: 8 * longest]))
    if not text.isprintable():
        text = _UNSEEN.sub("", text)
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def clean_result(
    url: object, title: object, snippet: object, plain_place: object = None
) -> SearchResult | None:
    """A result fit to show, or None where its address is not one that a page may link to."""
    if not isinstance(url, str):
        return None
    address = url.strip()
    if len(address) > LONGEST_URL:
        return None
    usual = USUAL_ADDRESS.fullmatch(address)
    host = usual[1] if usual is not None else _host(address)
    if not host:
        return None
    shown = plain_text(title, LONGEST_TITLE) or host
    place = plain_place if isinstance(plain_place, int) and not isinstance(plain_place, bool) else None
    return SearchResult(address, shown, plain_text(snippet, LONGEST_SNIPPET), place)


def _host(address: str) -> str | None:
    """The host of an address that a page may link to."""
    if _NO_ADDRESS.search(address):
        return None
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port  # a port that is no number raises
    except ValueError:
        return None
    return host if parts.scheme in {"http", "https"} else None
