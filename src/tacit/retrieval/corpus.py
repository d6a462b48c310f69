"""Documents with topics: what a search engine searches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from tacit.taxonomy import TopicTree

__all__ = ["Corpus", "Document"]


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
    def tree(self) -> TopicTree:
        """The topics of the documents."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, number: int) -> Document: ...

    def __iter__(self) -> Iterator[Document]: ...
