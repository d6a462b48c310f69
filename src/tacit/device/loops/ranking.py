"""Compiled loops of ranking on the device: the overlap of words between a history and results.

Everything else about attention is a few operations on whole arrays; these two visit single words of thousands
of documents, which arrays cannot do without writing every product down first (five times as slow).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.compiled import kernel

_Float32 = npt.NDArray[np.float32]
_Int32 = npt.NDArray[np.int32]
_Int64 = npt.NDArray[np.int64]


@kernel
def add_overlap(
    begins: _Int64,
    ends: _Int64,
    words: _Int32,
    weights: _Float32,
    lengths: _Float32,
    slot: _Int32,
    posted: _Int64,
    holders: _Int64,
    held: _Float32,
    similarity: _Float32,
) -> None:
    """Add the cosine of word weights of every document (a row) and every result (a column) to ``similarity``.

    A document's words are ``words[begins[row]:ends[row]]``. ``slot`` says which of the results' words a word
    is, from 1, and 0 for none; the query's words have none, so that they are left out. Word ``n`` of the
    results is held by ``holders[posted[n - 1]:posted[n]]``, with weight ``held`` at length 1.
    """
    for row in range(begins.size):
        if lengths[row] > 0.0:
            for spot in range(begins[row], ends[row]):
                word = slot[words[spot]]
                if word > 0:
                    weight = weights[spot] / lengths[row]
                    for place in range(posted[word - 1], posted[word]):
                        similarity[row, holders[place]] += weight * held[place]


@kernel
def promise(
    offsets: _Int64,
    words: _Int32,
    weights: _Float32,
    squares: _Float32,
    mark: npt.NDArray[np.int8],
    shares: _Float32,
    average: _Float32,
    coverage_weight: float,
    promised: _Float32,
) -> None:
    """Write a quick estimate of r: the overlap with the average result, and the coverage of the query.

    It reads every word of a long history once, to choose the documents that are worth comparing with every
    result. A word that stands in two forms counts twice, which the exact measure corrects.
    """
    for text in range(squares.size):
        overlap = np.float32(0.0)
        covered = np.float32(0.0)
        for spot in range(offsets[text], offsets[text + 1]):
            word = words[spot]
            if mark[word] > 0:
                covered += shares[mark[word] - 1]
            else:
                overlap += weights[spot] * average[word]
        if covered > 1.0:
            covered = np.float32(1.0)
        if squares[text] > 0.0:
            overlap /= np.sqrt(squares[text])
        promised[text] = overlap + coverage_weight * covered
