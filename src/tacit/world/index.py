"""The search index over the WordNet corpus, built once and kept in the cache folder."""

from __future__ import annotations

import hashlib
import shutil
from functools import cache
from importlib import metadata, resources
from pathlib import Path

from tacit.errors import InputError, IntegrityError
from tacit.files import atomic_directory, cache_directory
from tacit.retrieval import EmbeddedEngine
from tacit.world.corpus import wordnet_corpus

__all__ = ["build_index", "index_folder", "open_or_build", "wordnet_engine"]

_FORMAT = "1"  # change it when what is indexed, or how, changes


def index_folder() -> Path:
    """Where the index of exactly this corpus and this engine version lies, or would lie."""
    identity = hashlib.sha256(_FORMAT.encode())
    identity.update(metadata.version("tantivy").encode())
    identity.update((resources.files("tacit.data") / "wordnet" / "nouns.parquet").read_bytes())
    return cache_directory() / f"wordnet-index-{identity.hexdigest()[:16]}"


def build_index() -> EmbeddedEngine:
    """Build the index anew; a reader sees the old one or the new one, never a part."""
    folder = index_folder()
    if folder.exists():
        shutil.rmtree(folder)
    try:
        with atomic_directory(folder) as temporary:
            EmbeddedEngine.build(temporary, wordnet_corpus())
    except InputError:  # another process finished the same index first
        if not folder.exists():
            raise
    return EmbeddedEngine(folder)


def open_or_build() -> EmbeddedEngine:
    """The index in the cache folder, built when it is missing or cannot be read."""
    folder = index_folder()
    if not folder.exists():
        return build_index()
    try:
        return EmbeddedEngine(folder)
    except IntegrityError:
        return build_index()


@cache
def wordnet_engine() -> EmbeddedEngine:
    """The search engine over the WordNet corpus; the first call ever builds its index (seconds)."""
    return open_or_build()
