"""Compiled loops over the topic index: word frequencies and naive Bayes scores.

They serve the paper's own way of filing and reranking (sections 6.2 and 7.5), where every word of a document
meets every candidate topic.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from tacit.compiled import kernel
from tacit.device.loops.generalise import Floats, Integers

Wide = npt.NDArray[np.int64]


@kernel
def _first_at_least(topics: Integers, low: int, high: int, wanted: int) -> int:
    while low < high:
        middle = (low + high) // 2
        if topics[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def occurrences(
    topic: int, word: int, end: Integers, offsets: Wide, topics: Integers, running: Wide
) -> float:
    """N(t, w) from the index's arrays."""
    low, high = offsets[word], offsets[word + 1]
    first = _first_at_least(topics, low, high, topic)
    last = _first_at_least(topics, first, high, end[topic])
    return float(running[last] - running[first])


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
def bayes_scores(
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


@kernel
def word_scores(
    topics: Integers,
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
        for topic in topics:
            inside = occurrences(topic, word, end, offsets, places, running)
            score += frequencies[place] * math.log((inside + smoothing) / (everywhere + smoothing))
    return score
