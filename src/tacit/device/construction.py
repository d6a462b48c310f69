"""Building a profile: each of the user's documents is filed under the topics it is about (Offline-1).

A document is filed under its nearest topics among word vectors, over any taxonomy
(:mod:`tacit.retrieval.topic_vectors`). The paper's own way, :func:`file_document`, chooses one topic by
discriminative naive Bayes among the topics of the documents that a query retrieves.

Building is incremental: what was counted before is recognised and skipped, so today's clicks are added
without touching yesterday's. Documents are counted in batches, each one transaction: an interruption
loses at most the batch at hand, and running again completes the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

import numpy as np

from tacit.device.detection import detect_topic
from tacit.device.features import pack
from tacit.device.history import FILING, Filing, History, HistoryDocument
from tacit.device.history_index import NEAREST
from tacit.device.repository import Repository
from tacit.device.sources import SourceDocument
from tacit.device.store import ProfileStore

__all__ = [
    "CANDIDATE_DOCUMENTS",
    "BuildReport",
    "build_profile",
    "file_document",
    "filings",
    "history_documents",
]

CANDIDATE_DOCUMENTS = 20
"""How many documents a query retrieves to name the candidate topics of equation 18."""

_BATCH = 500
_AT_ONCE = 32
_TELLING_WORDS = 8


@dataclass(frozen=True)
class BuildReport:
    """What became of the documents."""

    filed: int
    """Counted under their topics now."""
    known: int
    """Counted before, and skipped."""
    unplaced: int
    """About no topic of the taxonomy, as far as their words tell."""


def build_profile(
    store: ProfileStore,
    repository: Repository,
    documents: Iterable[SourceDocument],
    advance: Callable[[int], None] = lambda _: None,
) -> BuildReport:
    """File ``documents`` into a profile.

    Args:
        store: the profile file.
        repository: the taxonomy with its documents.
        documents: what the user read.
        advance: told how many documents were dealt with, for progress.
    """
    filed = known = unplaced = 0
    history = History(store)
    remaining = iter(documents)
    while batch := list(islice(remaining, _BATCH)):
        new: dict[bytes, SourceDocument] = {}
        for document in batch:
            digest = store.digest(*document.identity)
            if digest not in new and not store.is_counted(digest):
                new[digest] = document
        known += len(batch) - len(new)
        prepared = history_documents(store, repository, list(new.values()))
        history.add(prepared)
        placed = sum(document.filing is not None and len(document.filing) > 0 for document in prepared)
        filed += placed
        unplaced += len(prepared) - placed
        advance(len(batch))
    return BuildReport(filed, known, unplaced)


def history_documents(
    store: ProfileStore, repository: Repository, sources: Sequence[SourceDocument]
) -> list[HistoryDocument]:
    """What the user read, with its words and topics, ready to be stored.

    A document is filed by its words and those of the query that led to it: a query may say more plainly than
    a page what it is about.
    """
    table = repository.vectors.table
    filed = filings(repository, [f"{one.query} {one.title} {one.text}" for one in sources])
    return [
        HistoryDocument(
            digest=store.digest(*source.identity),
            time=source.time or datetime.now(UTC),
            query=source.query,
            url=source.url,
            title=source.title,
            text=source.text,
            features=pack(table, f"{source.title} {source.text}"),
            filing=filing,
        )
        for source, filing in zip(sources, filed, strict=True)
    ]


def filings(repository: Repository, texts: Sequence[str]) -> list[Filing]:
    """The nearest topics of each text; none for a text without a known word."""
    vectors = repository.vectors
    found: list[Filing] = []
    for begin in range(0, len(texts), _AT_ONCE):
        rows = vectors.table.directions(texts[begin : begin + _AT_ONCE])
        topics, cosines = vectors.nearest(rows, NEAREST)
        for row, near, cosine in zip(rows, topics, cosines, strict=True):
            filing = np.empty(len(near) if row.any() else 0, FILING)
            filing["topic"], filing["cosine"] = (near, cosine) if row.any() else ((), ())
            found.append(filing[filing["cosine"] > 0])
    return found


def file_document(repository: Repository, query: str, text: str) -> int | None:
    """The topic of a document: candidates from the query, or from the document where there is none."""
    index = repository.index
    for words in (query, " ".join(index.telling_words(text, _TELLING_WORDS))):
        topic = detect_topic(index, text, repository.retrieve(words, CANDIDATE_DOCUMENTS))
        if topic is not None:
            return topic
    return None
