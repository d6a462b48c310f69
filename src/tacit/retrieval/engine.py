"""Documents with topics, what every search engine answers, and the embedded engine (tantivy, BM25).

Average Precision is here too: guards and evaluation measure rankings by the same function.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import tantivy

from tacit.errors import IntegrityError
from tacit.taxonomy import TopicTree
from tacit.text import words


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a corpus."""

    number: int
    title: str
    text: str
    url: str
    topic: int
    """The node of the corpus's topic tree that the document is about."""


class Corpus(Protocol):
    """Documents numbered from 0, each under a topic of one tree."""

    @property
    def tree(self) -> TopicTree: ...

    def __len__(self) -> int: ...

    def __getitem__(self, number: int) -> Document: ...

    def __iter__(self) -> Iterator[Document]: ...


class Hit(NamedTuple):
    """One result: which document, and how well the engine thinks it fits."""

    document: int
    score: float


class SearchEngine(Protocol):
    """Ranks the documents of a corpus for a query."""

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """Find at most ``k`` documents, best first; none for a query without words."""
        ...


def average_precision(ranking: Iterable[object], relevant: Collection[object]) -> float:
    """Average Precision: the mean over relevant documents of the precision at their ranks; 0 without any.

    The same as ir-measures' AP, as a test shows, which takes 30 times as long for many short rankings
    (``python benchmarks/own_parts.py``) and would be needed wherever a device is measured.
    """
    ranks = [rank for rank, document in enumerate(ranking, start=1) if document in relevant]
    return sum(found / rank for found, rank in enumerate(ranks, start=1)) / max(1, len(relevant))


_HEAP = 512 << 20
_TITLE_WEIGHT = 2.0


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("title", stored=False, tokenizer_name="en_stem")
    builder.add_text_field("text", stored=False, tokenizer_name="en_stem")
    return builder.build()


class EmbeddedEngine:
    """A search engine over an index folder made by :meth:`build`."""

    def __init__(self, folder: str | Path) -> None:
        try:
            self._index = tantivy.Index(_schema(), path=str(folder), reuse=True)
            self._index.reload()
            self._searcher = self._index.searcher()
            if self._searcher.num_segments > 1:  # a result's number would not be its document's
                raise ValueError("more than one segment")
        except ValueError as error:
            problem = f"the search index at {folder} cannot be read."
            raise IntegrityError(problem, "Delete the folder and build it again.") from error

    @classmethod
    def build(cls, folder: str | Path, documents: Iterable[Document]) -> EmbeddedEngine:
        """Index ``documents``, numbered from 0 without gaps, into an empty folder."""
        index = tantivy.Index(_schema(), path=str(folder), reuse=False)
        writer = index.writer(heap_size=_HEAP, num_threads=1)
        for expected, document in enumerate(documents):
            if document.number != expected:
                problem = f"document {document.number} came where {expected} was expected."
                raise IntegrityError(problem, "Number the documents from 0 without gaps.")
            writer.add_document(tantivy.Document(title=document.title, text=document.text))
        writer.commit()
        writer.wait_merging_threads()
        return cls(folder)

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """Find at most ``k`` documents with any of the query's words, best first."""
        terms = [word.removesuffix("'s") for word in words(query)]
        if not terms or k < 1:
            return []
        # Only quoted words reach the parser, so no character of a query can act as query syntax.
        quoted = " ".join(f'"{term}"' for term in terms)
        parsed = self._index.parse_query(quoted, ["title", "text"], field_boosts={"title": _TITLE_WEIGHT})
        found = self._searcher.search(parsed, k, count=False)
        return [Hit(address.doc, score) for score, address in found.hits]
