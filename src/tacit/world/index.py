"""The search index over the WordNet corpus, built once and kept in the cache folder."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata, resources
from pathlib import Path

from tacit.errors import InputError
from tacit.files import atomic_directory, cache_directory
from tacit.retrieval import EmbeddedEngine
from tacit.world.corpus import wordnet_corpus

__all__ = ["build_index", "index_folder", "wordnet_engine"]

_FORMAT = "1"  # change it when what is indexed, or how, changes


def index_folder() -> Path:
    """Where the index of exactly this corpus and this engine version lies, or would lie."""
    identity = hashlib.sha256(_FORMAT.encode())
    identity.update(metadata.version("tantivy").encode())
    identity.update((resources.files("tacit.data") / "wordnet" / "nouns.parquet").read_bytes())
    return cache_directory() / f"wordnet-index-{identity.hexdigest()[:16]}"


def build_index(folder: Path) -> None:
    """Build the index; another process that finishes first wins, and nothing half-built is seen."""
    try:
        with atomic_directory(folder) as temporary:
            EmbeddedEngine.build(temporary, wordnet_corpus())
    except InputError:
        if not folder.exists():
            raise


@cache
def wordnet_engine() -> EmbeddedEngine:
    """The search engine over the WordNet corpus; the first call ever builds its index (seconds)."""
    folder = index_folder()
    if not folder.exists():
        build_index(folder)
    return EmbeddedEngine(folder)
