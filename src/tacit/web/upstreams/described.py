"""Any JSON search API, by a small description of where things stand in its answer.

A description names the address with ``{query}`` in it, and paths to the list of results and, within each,
to the address, the title and the snippet. A path is names and numbers with dots between them. The address
of a result may also be a template: ``https://host/wiki/?curid={pageid}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus

from tacit.errors import InputError
from tacit.web.upstreams.answer import SearchResult, clean_result
from tacit.web.upstreams.engine import RESULTS_ASKED, Carriage, Exposed
from tacit.web.upstreams.wire import Outgoing, outgoing_request

__all__ = [
    "MEDIAWIKI",
    "OPENSEARCH",
    "SEARXNG",
    "DescribedEngine",
    "at_path",
    "expanded",
    "mediawiki",
    "opensearch",
]

MEDIAWIKI: Mapping[str, Any] = {
    "path": "/api.php?action=query&list=search&format=json&formatversion=2"
    "&srprop=snippet&srlimit={count}&srsearch={query}",
    "results": "query.search",
    "title": "title",
    "link": "{base}/index.php?curid={pageid}",
    "snippet": "snippet",
}
"""MediaWiki's search, under the address of its script path (for Wikipedia: https://en.wikipedia.org/w)."""

OPENSEARCH: Mapping[str, Any] = {
    "path": "/_search",
    "body": {
        "size": "{count}",
        "_source": ["url", "title", "text"],
        "query": {"multi_match": {"query": "{query}", "fields": ["title^2", "text"]}},
    },
    "results": "hits.hits",
    "title": "_source.title",
    "link": "_source.url",
    "snippet": "_source.text",
}
"""OpenSearch's ``_search``, under the address of an index whose documents have url, title and text."""

SEARXNG: Mapping[str, Any] = {
    "path": "/search?q={query}&format=json",
    "results": "results",
    "title": "title",
    "link": "url",
    "snippet": "content",
}
"""SearXNG's JSON interface; its settings must list ``json`` among ``search.formats``."""

_KNOWN = {"path", "body", "headers", "results", "title", "link", "snippet"}
_PLACE = re.compile(r"\{([A-Za-z0-9_.]+)\}")


def at_path(tree: object, path: str) -> object:
    """What stands at a dotted path in decoded JSON; None where nothing does."""
    for step in path.split(".") if path else ():
        if isinstance(tree, dict):
            tree = tree.get(step)
        elif isinstance(tree, list) and step.isdigit() and int(step) < len(tree):
            tree = tree[int(step)]
        else:
            return None
    return tree


def expanded(query: str, told: Exposed, carriage: Carriage) -> str:
    """The words that are sent: the query, with the exposed topics' names where the engine carries those."""
    if carriage is not Carriage.EXPANSION:
        return query
    present = query.casefold()
    return " ".join([query, *(word for word in told.words if word.casefold() not in present)])


@dataclass(frozen=True)
class DescribedEngine:
    """An engine that answers in JSON."""

    address: str
    description: Mapping[str, Any]
    carriage: Carriage = Carriage.NOTHING

    def __post_init__(self) -> None:
        unknown = sorted(set(self.description) - _KNOWN)
        if unknown:
            raise InputError(
                f"a description has no field {unknown[0][:40]!r}.",
                f"The fields are {', '.join(sorted(_KNOWN))}.",
            )
        for name in ("results", "title", "link", "snippet", "path"):
            if not isinstance(self.description.get(name, ""), str):
                raise InputError(f"{name} of a description must be text.", "Give a path such as hits.hits.")
        if not self.description.get("link"):
            raise InputError("a description must say where the address of a result stands.", "Give link.")
        if "{query}" not in self._template and "{query}" not in json.dumps(self.description.get("body", "")):
            raise InputError(
                "neither the address nor the body has {query} in it.", "Put it where the words go."
            )

    @property
    def _template(self) -> str:
        return self.address + str(self.description.get("path", ""))

    def request(self, query: str, told: Exposed) -> Outgoing:
        """The address (and body) with the query in its place."""
        words = expanded(query, told, self.carriage)
        url = self._template.replace("{query}", quote_plus(words)).replace("{count}", str(RESULTS_ASKED))
        headers = self.description.get("headers", {})
        if "body" not in self.description:
            return outgoing_request("GET", url, headers)
        body = json.dumps(_filled(self.description["body"], words), ensure_ascii=False).encode()
        return outgoing_request("POST", url, headers, body, "application/json")

    def read(self, body: bytes, content_type: str) -> list[SearchResult]:
        """The results, in the engine's order; those without a usable address are left out."""
        del content_type
        try:
            found = at_path(json.loads(body), self.description.get("results", ""))
        except (UnicodeDecodeError, RecursionError) as error:
            raise ValueError("not JSON") from error
        if not isinstance(found, list):
            raise ValueError("no list of results where the description says")
        results = []
        for item in found[: 4 * RESULTS_ASKED]:
            title, snippet = (
                at_path(item, self.description.get(name, name)) for name in ("title", "snippet")
            )
            result = clean_result(self._link(item), title, snippet)
            if result is not None:
                results.append(result)
        return results

    def _link(self, item: object) -> object:
        link = str(self.description["link"])
        if "{" not in link:
            return at_path(item, link)

        def fill(match: re.Match[str]) -> str:
            if match[1] == "base":
                return self.address.rstrip("/")
            value = at_path(item, match[1])
            return quote(str(value), safe="") if isinstance(value, str | int) else ""

        return _PLACE.sub(fill, link)


def _filled(template: object, query: str) -> object:
    if isinstance(template, dict):
        return {name: _filled(value, query) for name, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, query) for value in template]
    if template == "{count}":
        return RESULTS_ASKED
    return template.replace("{query}", query) if isinstance(template, str) else template


def mediawiki(address: str, carriage: Carriage = Carriage.NOTHING) -> DescribedEngine:
    """A wiki, by the address of its script path."""
    return DescribedEngine(address.rstrip("/").removesuffix("/api.php"), MEDIAWIKI, carriage)


def opensearch(address: str, carriage: Carriage = Carriage.NOTHING) -> DescribedEngine:
    """An OpenSearch index, by its address."""
    return DescribedEngine(address.rstrip("/").removesuffix("/_search"), OPENSEARCH, carriage)
