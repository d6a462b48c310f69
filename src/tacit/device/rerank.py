"""Reranking with a profile: at the server with the exposed one, or on the device with all of it (7.5).

A result is scored by how well its words fit the profile's topics (equation 20), and the final order
fuses that ranking with the engine's own by Borda count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tacit.device.detection import SMOOTHING
from tacit.device.kernel import kernel
from tacit.device.seed import Floats, Integers
from tacit.device.topic_index import TopicIndex, occurrences

__all__ = ["borda_fusion", "rerank", "uscore"]


@kernel
def _uscore(
    topics: Integers,
    weights: Floats,
    word_numbers: Integers,
    frequencies: Floats,
    end: Integers,
    offsets: npt.NDArray[np.int64],
    places: Integers,
    running: npt.NDArray[np.int64],
    smoothing: float,
) -> float:
    score = 0.0
    for place in range(word_numbers.size):
        word = word_numbers[place]
        everywhere = float(running[offsets[word + 1]] - running[offsets[word]])
        for which in range(topics.size):
            inside = occurrences(topics[which], word, end, offsets, places, running)
            score += (
                weights[which] * frequencies[place] * np.log((inside + smoothing) / (everywhere + smoothing))
            )
    return score


def uscore(
    index: TopicIndex,
    text: str,
    topics: Integers,
    weights: Floats | None = None,
    smoothing: float = SMOOTHING,
) -> float:
    """How well a result fits the topics of a profile: the sum of dnb(l, t) over them (equations 17, 20).

    The score is divided by the number of words: dnb is a sum over words, and unscaled it ranks short
    texts first whatever they say. Weights, if given, count each topic by the user's preference; the
    paper's sum weighs all alike.
    """
    numbers, frequencies = index.bag(text)
    if len(numbers) == 0 or len(topics) == 0:
        return -np.inf
    shares = np.ones(len(topics)) if weights is None else np.asarray(weights, np.float64)
    total = _uscore(
        np.asarray(topics, np.int32),
        shares,
        numbers,
        frequencies,
        index.tree.end,
        index.offsets,
        index.topics,
        index.running,
        smoothing,
    )
    return float(total / frequencies.sum() / shares.sum())


def borda_fusion(*rankings: Sequence[int]) -> list[int]:
    """One order from several of the same items: each gives an item as many points as it ranks others below.

    Ties go to the order of the first ranking.
    """
    points: dict[int, int] = {}
    for ranking in rankings:
        for place, item in enumerate(ranking):
            points[item] = points.get(item, 0) + len(ranking) - place
    first = {item: place for place, item in enumerate(rankings[0])}
    return sorted(points, key=lambda item: (-points[item], first.get(item, len(first))))


def rerank(
    index: TopicIndex,
    results: Sequence[int],
    texts: Sequence[str],
    topics: Integers,
    weights: Floats | None = None,
) -> list[int]:
    """The engine's results in personalised order.

    Args:
        index: word frequencies of the topics.
        results: the results in the engine's order.
        texts: what each says.
        topics: the profile's topics for this query, T_G(q): those exposed, or on the device all.
        weights: the user's preference for each topic, if it may be used.
    """
    if len(topics) == 0:
        return list(results)
    scores = [uscore(index, text, topics, weights) for text in texts]
    by_score = [results[place] for place in sorted(range(len(results)), key=lambda place: -scores[place])]
    return borda_fusion(results, by_score)
