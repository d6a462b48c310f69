"""Search: documents, engines, and what an engine answers."""

from tacit.retrieval.engine import Corpus, Document, EmbeddedEngine, Hit, SearchEngine, average_precision

__all__ = ["Corpus", "Document", "EmbeddedEngine", "Hit", "SearchEngine", "average_precision"]
