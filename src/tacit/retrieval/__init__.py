"""Search: documents, engines, and what an engine answers."""

from tacit.retrieval.corpus import Corpus, Document
from tacit.retrieval.embedded import EmbeddedEngine
from tacit.retrieval.engine import Hit, SearchEngine

__all__ = ["Corpus", "Document", "EmbeddedEngine", "Hit", "SearchEngine"]
