"""Bangs: words with an exclamation mark that say where a search goes.

``!w tea`` is handed on to SearXNG, which asks the engine of that name; where no SearXNG is asked, a known one
leads to the site's own search. ``!!w tea`` always leads there, and ``!! tea`` to the first result. ``!i``,
``!v`` and ``!n`` ask for images, videos and news. Whoever is led to a site tells that site what they asked.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote_plus

SITES: Mapping[str, str] = {
    "a": "https://www.amazon.com/s?k={}",
    "archive": "https://archive.org/search?query={}",
    "arxiv": "https://arxiv.org/search/?query={}&searchtype=all",
    "b": "https://www.bing.com/search?q={}",
    "brave": "https://search.brave.com/search?q={}",
    "ddg": "https://duckduckgo.com/?q={}",
    "e": "https://www.ecosia.org/search?q={}",
    "g": "https://www.google.com/search?q={}",
    "gh": "https://github.com/search?q={}",
    "imdb": "https://www.imdb.com/find/?q={}",
    "k": "https://kagi.com/search?q={}",
    "maps": "https://www.openstreetmap.org/search?query={}",
    "mdn": "https://developer.mozilla.org/search?q={}",
    "osm": "https://www.openstreetmap.org/search?query={}",
    "r": "https://www.reddit.com/search/?q={}",
    "s": "https://www.startpage.com/do/search?q={}",
    "scholar": "https://scholar.google.com/scholar?q={}",
    "so": "https://stackoverflow.com/search?q={}",
    "w": "https://en.wikipedia.org/w/index.php?search={}",
    "wikt": "https://en.wiktionary.org/w/index.php?search={}",
    "y": "https://search.yahoo.com/search?p={}",
    "yt": "https://www.youtube.com/results?search_query={}",
}
CATEGORIES: Mapping[str, str] = {
    **dict.fromkeys(("i", "im", "images"), "images"),
    **dict.fromkeys(("n", "news"), "news"),
    **dict.fromkeys(("v", "videos"), "videos"),
}
_BANG = re.compile(r"(?:^|\s)(!!?)([A-Za-z][\w-]*)?(?=\s|$)")


class Bang(NamedTuple):
    """A query and what its bang says."""

    query: str
    """Without the bang."""
    leave: str = ""
    """The address that it leads to, if it leads away."""
    category: str = ""
    first: bool = False
    """Whether it leads to the first result."""
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
    if name in CATEGORIES and marks == "!":
        return Bang(query, category=CATEGORIES[name])
    if name in SITES and (marks == "!!" or not handed_on):
        return Bang(query, leave=SITES[name].format(quote_plus(query)))
    return Bang(query, handed=f"{marks}{found[2]}") if handed_on else Bang(typed)
