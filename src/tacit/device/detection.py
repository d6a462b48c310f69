"""Topic detection: under which topic a document of the user is filed (section 6.2).

The discriminative naive Bayes classifier scores a topic t among the candidates T by::

    dnb(d, t) = sum over words w of d of  N(d,w) ln( (N(t,w) + eps) / (sum of N(t',w) over t' in T + eps) )

(18), where T are the topics that the user's query retrieves; without a query, the document's own title
or its rarest words retrieve them. Candidates may lie below one another. A word is then counted for the
lowest candidate that covers it, or the upper topic would always win and the sum would count it twice.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.device.kernel import kernel
from tacit.device.seed import Floats, Integers
from tacit.device.topic_index import TopicIndex, occurrences

__all__ = ["SMOOTHING", "detect_topic", "discriminative_bayes"]

SMOOTHING = 0.01
"""The smoothing factor eps of equations 17 and 18."""


@kernel
def _nearest_above(candidates: Integers, end: Integers) -> npt.NDArray[np.int64]:
    """For each candidate (ascending), the place of the nearest candidate above it; -1 for none."""
    above = np.full(candidates.size, -1, np.int64)
    for place in range(1, candidates.size):
        near = place - 1
        while near >= 0 and end[candidates[near]] <= candidates[place]:
            near = above[near]
        above[place] = near
    return above


@kernel
def _scores(
    candidates: Integers,
    word_numbers: Integers,
    frequencies: Floats,
    end: Integers,
    offsets: npt.NDArray[np.int64],
    topics: Integers,
    running: npt.NDArray[np.int64],
    smoothing: float,
) -> tuple[Floats, float]:
    """dnb of every candidate, and how many words of the document any candidate knows."""
    above = _nearest_above(candidates, end)
    scores = np.zeros(candidates.size)
    known = 0.0
    cell = np.empty(candidates.size)
    for place in range(word_numbers.size):
        word = word_numbers[place]
        for which in range(candidates.size):
            cell[which] = occurrences(candidates[which], word, end, offsets, topics, running)
        # In ascending order a candidate is taken off the one above it while it is still whole.
        for which in range(candidates.size):
            if above[which] >= 0:
                cell[above[which]] -= cell[which]
        total = 0.0
        for which in range(candidates.size):
            total += cell[which]
        if total > 0.0:
            known += frequencies[place]
        for which in range(candidates.size):
            scores[which] += frequencies[place] * np.log((cell[which] + smoothing) / (total + smoothing))
    return scores, known


def discriminative_bayes(
    index: TopicIndex, text: str, candidates: Integers, smoothing: float = SMOOTHING
) -> tuple[Floats, float]:
    """dnb(d, t) of every candidate topic (ascending), and the number of words that any of them knows."""
    numbers, frequencies = index.bag(text)
    return _scores(
        candidates,
        numbers,
        frequencies,
        index.tree.end,
        index.offsets,
        index.topics,
        index.running,
        smoothing,
    )


def detect_topic(index: TopicIndex, text: str, retrieved: Integers) -> int | None:
    """The topic under which a document is filed, among the topics of the retrieved documents.

    None where no candidate knows any word of the document.
    """
    candidates = np.unique(retrieved)
    if len(candidates) == 0:
        return None
    scores, known = discriminative_bayes(index, text, candidates)
    return int(candidates[int(np.argmax(scores))]) if known > 0 else None
