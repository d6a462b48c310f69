"""Engines that answer as OpenSearch 1.1 has it: an RSS or Atom feed of results."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote_plus

from defusedxml import DefusedXmlException
from defusedxml import ElementTree as Safe

from tacit.errors import InputError
from tacit.web.upstreams.answer import SearchResult, clean_result
from tacit.web.upstreams.described import expanded
from tacit.web.upstreams.engine import RESULTS_ASKED, Carriage, Exposed
from tacit.web.upstreams.wire import Outgoing, outgoing_request

__all__ = ["FeedEngine"]

_FILLED = {"count": str(RESULTS_ASKED), "startPage": "1", "startIndex": "1", "inputEncoding": "UTF-8"}
_FILLED |= {"outputEncoding": "UTF-8", "language": "*"}
_PLACE = re.compile(r"\{([A-Za-z:]+)(\??)\}")
_ATOM = "{http://www.w3.org/2005/Atom}"
_RSS_1 = "{http://purl.org/rss/1.0/}"


@dataclass(frozen=True)
class FeedEngine:
    """An engine with an OpenSearch address template, such as ``https://host/?q={searchTerms}&format=rss``."""

    template: str
    carriage: Carriage = Carriage.NOTHING

    def __post_init__(self) -> None:
        if "{searchTerms}" not in self.template:
            raise InputError("the address has no {searchTerms} in it.", "Put it where the words go.")
        for name, optional in _PLACE.findall(self.template):
            if name != "searchTerms" and name not in _FILLED and not optional:
                raise InputError(
                    f"the address asks for {{{name}}}, which Tacit does not fill.", "Take it out."
                )

    def request(self, query: str, told: Exposed) -> Outgoing:
        """The template with its places filled; optional ones that are not known stay empty."""
        words = quote_plus(expanded(query, told, self.carriage))

        def fill(match: re.Match[str]) -> str:
            return words if match[1] == "searchTerms" else _FILLED.get(match[1], "")

        return outgoing_request("GET", _PLACE.sub(fill, self.template))

    def read(self, body: bytes, content_type: str) -> list[SearchResult]:
        """The entries of the feed. Entities, document types and outside references are refused."""
        del content_type
        try:
            root = Safe.fromstring(body, forbid_dtd=True)
        except (Safe.ParseError, DefusedXmlException, RecursionError, LookupError) as error:
            raise ValueError("not a feed") from error
        entries = [
            (item.findtext("link"), item.findtext("title"), item.findtext("description"))
            for item in root.iterfind("./channel/item")
        ]
        entries += [
            (
                item.findtext(f"{_RSS_1}link"),
                item.findtext(f"{_RSS_1}title"),
                item.findtext(f"{_RSS_1}description"),
            )
            for item in root.iterfind(f"./{_RSS_1}item")
        ]
        for item in root.iterfind(f"./{_ATOM}entry"):
            links = [link for link in item.iterfind(f"{_ATOM}link") if link.get("rel") in {None, "alternate"}]
            summary = item.findtext(f"{_ATOM}summary") or item.findtext(f"{_ATOM}content")
            entries.append((links[0].get("href") if links else None, item.findtext(f"{_ATOM}title"), summary))
        if not entries and root.tag not in {"rss", f"{_ATOM}feed"}:
            raise ValueError("neither RSS nor Atom")
        cleaned = [clean_result(*entry) for entry in entries[: 4 * RESULTS_ASKED]]
        return [result for result in cleaned if result is not None]
