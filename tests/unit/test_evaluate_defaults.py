"""What the papers fix is what the tasks take by default; a changed default would change every figure."""

from __future__ import annotations

import inspect

import pytest
from benchmarks.thesis import thesis_adhoc as walk
from benchmarks.thesis import thesis_suggestion as suggestion

from tacit.evaluate import data as from_log
from tacit.evaluate.tasks import index_caching, session_search, substitution
from tacit.evaluate.tasks import substitution as phrases
from tacit.evaluate.tasks.index_caching import having
from tacit.text import words
from tacit.world import wordnet_corpus


def test_the_thesiss_constants() -> None:
    assert walk.STAY == 0.1  # s of eq. 3.5
    assert walk.STEPS == 5
    assert walk.FEEDBACK_WEIGHT == 0.6  # λ of eq. 3.8
    assert suggestion.SIMILARITY_WEIGHT == 0.5  # λ of eq. 4.9, which the thesis leaves open
    assert session_search.DISCOUNT == 0.92  # γ of eq. 4.13
    assert from_log.WINDOW == 10


def test_the_constants_of_the_paper_on_zealous_and_of_jones() -> None:
    cache = index_caching.Cache()
    assert (cache.bytes, cache.posting, cache.longest) == (1 << 30, 8, 200_000)
    assert substitution.TOP == (2, 5, 10)
    assert phrases.TOGETHER == 3.0


def test_the_defaults_are_what_the_tasks_use() -> None:
    assert inspect.signature(session_search.SessionSearch).parameters["discount"].default == 0.92
    assert inspect.signature(walk.transition_matrix).parameters["stay"].default == 0.1
    assert inspect.signature(walk.walk).parameters["steps"].default == 5
    assert inspect.signature(suggestion.ThesisSuggestion).parameters["weight"].default == 0.5


def test_document_frequencies_are_shares_of_a_hundred_million_documents() -> None:
    corpus = wordnet_corpus()
    counted = sum("java" in set(words(f"{document.title} {document.text}")) for document in corpus)
    assert having("java") == pytest.approx(counted / len(corpus) * 100_000_000)
    # A word that the corpus does not have counts as half a document of it.
    assert having("xqzzy") == pytest.approx(0.5 / len(corpus) * 100_000_000)
