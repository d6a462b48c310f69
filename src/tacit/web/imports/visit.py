"""A page that the person opened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

__all__ = ["Visit", "from_epoch", "readable"]

_SEARCH_WORDS = ("q", "query", "p", "wd", "text", "search_query")
_SEARCH_HOSTS = (
    "google.",
    "bing.",
    "duckduckgo.",
    "search.yahoo.",
    "yandex.",
    "baidu.",
    "ecosia.",
    "startpage.",
    "search.brave.",
    "qwant.",
    "kagi.",
    "127.0.0.1",
    "localhost",
)


@dataclass(frozen=True)
class Visit:
    """A page, when it was opened last, and the query that led to it if one is known."""

    url: str
    title: str
    time: datetime
    text: str = ""
    query: str = ""


def from_epoch(microseconds: float, epoch: datetime = datetime(1970, 1, 1, tzinfo=UTC)) -> datetime:
    """A time stored as microseconds since an epoch; the epoch itself where the number means no time."""
    try:
        return epoch + timedelta(microseconds=microseconds)
    except (OverflowError, ValueError):
        return epoch


def readable(visits: Iterable[Visit]) -> Iterator[Visit]:
    """Visits to pages of the web with a title, without pages that list search results."""
    for visit in visits:
        try:
            parts = urlsplit(visit.url)
            host = parts.hostname or ""
        except ValueError:
            continue
        if parts.scheme not in {"http", "https"} or not (visit.title.strip() or visit.text.strip()):
            continue
        listed = any(host.startswith(name) or f".{name}" in f".{host}" for name in _SEARCH_HOSTS)
        if listed and any(word in parse_qs(parts.query) for word in _SEARCH_WORDS):
            continue
        yield visit
