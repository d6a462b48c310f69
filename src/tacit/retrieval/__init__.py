"""Search: documents, engines, and what an engine answers."""

from tacit.retrieval.engine import Corpus, Document, EmbeddedEngine, Hit, SearchEngine, average_precision
from tacit.retrieval.people_topics import PeopleTopics, people_topics

__all__ = [
    "Corpus", "Document", "EmbeddedEngine", "Hit", "PeopleTopics", "SearchEngine",
    "average_precision", "people_topics",
]  # fmt: skip
