"""Public urls for a pure A_Click release: the results that a query is known to surface.

Listing the urls that were clicked reveals a single click with certainty. Listing public ones does not: the
results of an engine that anybody may ask, or a file. They are looked up for the selected queries alone,
which are published anyway.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacit.errors import InputError
from tacit.text import normalise

__all__ = ["PublicUrls", "urls_from_file", "urls_from_wordnet", "take_urls"]

_RESULTS = 10


@dataclass(frozen=True)
class PublicUrls:
    """A public map from a query to the urls it surfaces."""

    name: str
    urls: Callable[[str], tuple[str, ...]]
    digest: str = ""
    """SHA-256 of what the map is made from: who has the file, or the engine, can check it."""

    def to_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return {"name": self.name, "sha256": self.digest}

    def keys(self, queries: pa.Table) -> pa.Table:
        """(query, url) for each of the given queries."""
        found: list[str] = []
        urls: list[str] = []
        for query in queries.column("query").to_pylist():
            for url in dict.fromkeys(self.urls(query)):
                found.append(query)
                urls.append(url)
        return pa.table({"query": pa.array(found, pa.string()), "url": pa.array(urls, pa.string())})


def urls_from_wordnet() -> PublicUrls:
    """The ten best documents of the bundled WordNet engine."""
    from tacit.world import wordnet_corpus, wordnet_engine

    engine, corpus = wordnet_engine(), wordnet_corpus()

    def urls(query: str) -> tuple[str, ...]:
        return tuple(corpus[hit.document].url for hit in engine.search(query, _RESULTS))

    content = (resources.files("tacit.data") / "wordnet" / "nouns.parquet").read_bytes()
    made_by = f"{_RESULTS} results of tantivy {metadata.version('tantivy')}\n".encode()
    return PublicUrls("wordnet", urls, hashlib.sha256(made_by + content).hexdigest())


def urls_from_file(path: str | Path) -> PublicUrls:
    """A text file in UTF-8: one line for each query, tab, url."""
    path = Path(path)
    listed: dict[str, list[str]] = {}
    content = path.read_bytes()
    for number, line in enumerate(content.decode("utf-8").splitlines(), start=1):
        query, tab, url = line.partition("\t")
        if not (query and tab and url.strip()):
            raise InputError(
                f"line {number} of {path} is not a query, a tab and a url.",
                "Give a text file with one pair per line.",
            )
        listed.setdefault(normalise(query), []).append(url.strip())
    digest = hashlib.sha256(content).hexdigest()
    return PublicUrls(path.name, lambda query: tuple(listed.get(query, ())), digest)


def take_urls(given: str | None) -> PublicUrls | None:
    """``wordnet``, ``none`` or the path of a file."""
    if given is None or given == "none":
        return None
    return urls_from_wordnet() if given == "wordnet" else urls_from_file(given)
