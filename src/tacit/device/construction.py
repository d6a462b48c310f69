"""Building a profile: each of the user's documents is filed under the topic it is about (Offline-1).

Building is incremental: what was counted before is recognised and skipped, so today's clicks are added
without touching yesterday's. Documents are counted in batches, each one transaction: an interruption
loses at most the batch at hand, and running again completes the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tacit.device.detection import detect_topic
from tacit.device.repository import Repository
from tacit.device.sources import SourceDocument
from tacit.device.store import ProfileStore

__all__ = ["CANDIDATE_DOCUMENTS", "BuildReport", "build_profile", "file_document"]

CANDIDATE_DOCUMENTS = 20
"""How many documents a query retrieves to name the candidate topics of equation 18."""

_BATCH = 1_000
_TELLING_WORDS = 8


@dataclass(frozen=True)
class BuildReport:
    """What became of the documents."""

    filed: int
    """Counted under a topic now."""
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
    topic_of: dict[tuple[str, str], int | None] = {}  # the same page after the same query, many times
    batch: dict[bytes, int | None] = {}
    for document in documents:
        digest = store.digest(*document.identity)
        if digest in batch or store.is_counted(digest):
            known += 1
        else:
            key = (document.query, document.text)
            if key not in topic_of:
                topic_of[key] = file_document(repository, document.query, document.text)
            topic = topic_of[key]
            batch[digest] = topic
            filed += topic is not None
            unplaced += topic is None
        if len(batch) >= _BATCH:
            store.add(batch.items())
            batch.clear()
        advance(1)
    store.add(batch.items())
    return BuildReport(filed, known, unplaced)


def file_document(repository: Repository, query: str, text: str) -> int | None:
    """The topic of a document: candidates from the query, or from the document where there is none."""
    index = repository.index
    for words in (query, " ".join(index.telling_words(text, _TELLING_WORDS))):
        topic = detect_topic(index, text, repository.retrieve(words, CANDIDATE_DOCUMENTS))
        if topic is not None:
            return topic
    return None
