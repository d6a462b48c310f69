"""The server's side of a generalised profile: results scored by the directions of the exposed topics.

A result's words, without the query's, are compared with the sum of the exposed topics' directions, each
weighing as its preference says (or all alike where none are told), and the order fuses that with the
engine's own::

    lam cos(result, sum of preference(t) direction(t)) - ln(rank in the engine's order + kappa)

Filing each result under one topic and asking whether it was exposed (as ``topic_scores`` of the device does)
throws away how near it is, and was far worse on real results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tacit.errors import InputError
from tacit.retrieval.topic_vectors import TopicVectors
from tacit.text.vectors import plural_forms

STRENGTH, STEADINESS = 20.0, 25.0
"""lam and kappa."""


def exposed_leaves(
    vectors: TopicVectors, topics: Sequence[str], preferences: Mapping[str, float] | None = None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """The exposed topics with none exposed below them, and the preference for each, adding up to 1.

    Raises:
        TaxonomyError: a topic is not in the taxonomy.
        InputError: a preference is negative or no finite number.
    """
    tree = vectors.tree
    numbers = {tree.find(label): label for label in topics}
    inner = {int(tree.parent[number]) for number in numbers if number}
    leaves = sorted(number for number in numbers if number and number not in inner)
    told = preferences or {}
    shares = np.array([told.get(numbers[leaf], 0.0) for leaf in leaves], np.float64)
    if not (np.isfinite(shares).all() and (shares >= 0).all()):
        raise InputError("preferences must be numbers of 0 or more.")
    total = shares.sum()
    even = np.full(len(leaves), 1 / max(1, len(leaves)))
    return np.array(leaves, np.int32), shares / total if total > 0 else even


def profile_scores(
    vectors: TopicVectors,
    query: str,
    texts: Sequence[str],
    topics: Sequence[str],
    preferences: Mapping[str, float] | None = None,
) -> npt.NDArray[np.float32]:
    """How near each result is to the exposed topics, in [-1, 1]; all 0 where none is exposed.

    Args:
        vectors: the taxonomy's directions.
        query: the query, whose words all results share.
        texts: title and snippet (or text) of each result.
        topics: the labels that came with the query.
        preferences: the preference for each, where told.
    """
    leaves, shares = exposed_leaves(vectors, topics, preferences)
    if len(leaves) == 0 or len(texts) == 0:
        return np.zeros(len(texts), np.float32)
    table = vectors.table
    asked = {table.number(form) for word in table.content(query) for form in plural_forms(word)}
    rows = []
    for text in texts:
        bag = {word: times for word, times in table.bag(text).items() if word not in asked}
        rows.append(table.vector(bag))
    scores: npt.NDArray[np.float32] = np.array(rows, np.float32) @ vectors.towards(leaves, shares)
    return scores


def rank_by_profile(
    vectors: TopicVectors,
    query: str,
    texts: Sequence[str],
    topics: Sequence[str],
    preferences: Mapping[str, float] | None = None,
) -> list[int]:
    """The places of the results (in the engine's order) in the order that an exposed profile asks for."""
    scores = profile_scores(vectors, query, texts, topics, preferences)
    value = STRENGTH * scores - np.log(np.arange(1, len(texts) + 1) + STEADINESS)
    order: list[int] = np.argsort(-value, kind="stable").tolist()
    return order
