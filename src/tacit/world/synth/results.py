"""What the embedded engine answers to each noun: asked once, kept in the cache folder.

A query is shown the results of its noun; with more words beside it, or mistyped, it still is. So the
117,798 nouns are all that must be asked, and a log of any size needs no further search.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from tacit.compiled import compiled
from tacit.files import atomic_file, cache_directory
from tacit.taxonomy import load_wordnet
from tacit.world.index import index_folder, wordnet_engine

__all__ = ["DEPTH", "PAGE_SIZE", "load_results", "page_length"]

PAGE_SIZE = 10
DEPTH = 2 * PAGE_SIZE
"""Results kept for a noun: two pages."""


def _ask() -> npt.NDArray[np.int32]:
    nouns, engine = load_wordnet().vocabulary, wordnet_engine()
    results = np.full((len(nouns), DEPTH), -1, np.int32)
    for number, noun in enumerate(nouns):
        hits = engine.search(noun, DEPTH)
        results[number, : len(hits)] = [hit.document for hit in hits]
    return results


@cache
def load_results() -> npt.NDArray[np.int32]:
    """The results of every noun, best first; -1 fills the row. The first call ever takes seconds."""
    # The name of the index folder tells the corpus and the engine apart.
    path = cache_directory() / f"{index_folder().name}-results-{DEPTH}.npy"
    try:
        loaded: npt.NDArray[np.int32] = np.load(path)
    except (OSError, ValueError, EOFError):  # absent, or damaged
        loaded = _ask()
        with atomic_file(path) as temporary, temporary.open("wb") as file:
            np.save(file, loaded)
    return loaded


@compiled
def page_length(results: npt.NDArray[np.int32], noun: int, page: int) -> int:
    """How many results a page (from 0) of a noun's results has."""
    start = page * PAGE_SIZE
    length = 0
    while length < PAGE_SIZE and start + length < DEPTH and results[noun, start + length] >= 0:
        length += 1
    return length
