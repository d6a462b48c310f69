"""What every search engine answers, embedded or remote."""

from __future__ import annotations

from typing import NamedTuple, Protocol

__all__ = ["Hit", "SearchEngine"]


class Hit(NamedTuple):
    """One result: which document, and how well the engine thinks it fits."""

    document: int
    score: float


class SearchEngine(Protocol):
    """Ranks the documents of a corpus for a query."""

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """At most ``k`` documents, best first; none for a query without words."""
        ...
