"""How alike documents and results are: the loops behind attention.

Words of the query are left out on both sides, since all results share them. What they take from a
document's length and vector is taken off where it has any; the others' products are one multiplication of
matrices.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.compiled import kernel

_Float32 = npt.NDArray[np.float32]
_Int32 = npt.NDArray[np.int32]
_Int8 = npt.NDArray[np.int8]
_Wide = npt.NDArray[np.int64]


@kernel
def without_query(
    which: _Wide,
    offsets: _Wide,
    words: _Int32,
    times: npt.NDArray[np.uint8],
    weights: _Float32,
    squares: _Float32,
    sums: _Float32,
    mark: _Int8,
    vectors: npt.NDArray[np.int8],
    scale: _Float32,
) -> tuple[_Float32, _Float32]:
    """Lengths and unit vectors of the chosen texts, the query's words left out."""
    lengths = np.empty(which.size, np.float32)
    units = np.empty((which.size, scale.size), np.float32)
    for place in range(which.size):
        text = which[place]
        square = squares[text]
        units[place] = sums[text]
        touched = False
        for spot in range(offsets[text], offsets[text + 1]):
            word = words[spot]
            if mark[word] > 0:
                square -= weights[spot] * weights[spot]
                touched = True
                if word < vectors.shape[0]:
                    for axis in range(scale.size):
                        units[place, axis] -= np.float32(times[spot]) * vectors[word, axis] * scale[axis]
        lengths[place] = np.sqrt(max(square, np.float32(0.0)))
        if touched and lengths[place] < 1e-3:  # what subtraction leaves of nothing
            lengths[place] = 0.0
            units[place] = 0.0
        norm = np.sqrt((units[place] * units[place]).sum())
        if norm > 1e-4:
            units[place] /= norm
        else:
            units[place] = 0.0
    return lengths, units


@kernel
def postings(
    offsets: _Wide, words: _Int32, weights: _Float32, lengths: _Float32, mark: _Int8, slot: _Int32
) -> tuple[_Int32, _Int32, _Int32, _Float32]:
    """Which results hold each of their words, and its weight there at length 1; the query's words left out.

    Gives the distinct words, where the entries of each begin, and result and weight of each entry; writes
    each word's place among the distinct ones (from 1) into ``slot``, where all were 0.
    """
    distinct = np.empty(words.size, np.int32)
    begins = np.zeros(words.size + 1, np.int32)
    size = 0
    for result in range(lengths.size):
        if lengths[result] > 0.0:
            for spot in range(offsets[result], offsets[result + 1]):
                word = words[spot]
                if mark[word] == 0:
                    if slot[word] == 0:
                        distinct[size] = word
                        size += 1
                        slot[word] = size
                    begins[slot[word]] += 1
    for place in range(size):
        begins[place + 1] += begins[place]
    holders = np.empty(begins[size], np.int32)
    held = np.empty(begins[size], np.float32)
    free = begins[:size].copy()
    for result in range(lengths.size):
        if lengths[result] > 0.0:
            for spot in range(offsets[result], offsets[result + 1]):
                place = slot[words[spot]] - 1
                if place >= 0:
                    holders[free[place]] = result
                    held[free[place]] = weights[spot] / lengths[result]
                    free[place] += 1
    return distinct[:size], begins[: size + 1], holders, held


@kernel
def to_results(
    which: _Wide,
    offsets: _Wide,
    words: _Int32,
    times: npt.NDArray[np.uint8],
    weights: _Float32,
    squares: _Float32,
    sums: _Float32,
    norms: _Float32,
    mark: _Int8,
    shares: _Float32,
    vectors: npt.NDArray[np.int8],
    scale: _Float32,
    slot: _Int32,
    begins: _Int32,
    holders: _Int32,
    held: _Float32,
    axes: _Float32,
    similarity: _Float32,
    vector: np.float32,
) -> _Float32:
    """C of the chosen documents (rows) and the results (columns), and their coverage of the query.

    ``similarity`` holds the products of the documents' sums with the results' unit vectors, the columns of
    ``axes``, and is turned into C in place; gives the coverage.
    """
    results = axes.shape[1]
    coverage = np.zeros(which.size, np.float32)
    unit = np.empty(scale.size, np.float32)
    for place in range(which.size):
        text = which[place]
        first, last = offsets[text], offsets[text + 1]
        square, norm = squares[text], norms[text]
        touched = False
        for spot in range(first, last):
            word = words[spot]
            if mark[word] > 0:
                if not touched:
                    unit[:] = sums[text]
                    touched = True
                seen = False  # another form of the same word may stand before it
                for before in range(first, spot):
                    seen = seen or mark[words[before]] == mark[word]
                if not seen:
                    coverage[place] += shares[mark[word] - 1]
                square -= weights[spot] * weights[spot]
                if word < vectors.shape[0]:
                    for axis in range(scale.size):
                        unit[axis] -= np.float32(times[spot]) * vectors[word, axis] * scale[axis]
        length = np.sqrt(max(square, np.float32(0.0)))
        if touched:
            if length < 1e-3:  # what subtraction leaves of nothing
                length = np.float32(0.0)
            norm = np.sqrt((unit * unit).sum())
            similarity[place] = 0.0
            for axis in range(scale.size):  # results innermost: the loop that vectorises
                for result in range(results):
                    similarity[place, result] += unit[axis] * axes[axis, result]
        near = vector / norm if norm > 1e-4 and length > 0.0 else np.float32(0.0)
        for result in range(results):
            similarity[place, result] = max(np.float32(0.0), similarity[place, result] * near)
        if length > 0.0:
            for spot in range(first, last):
                entry = slot[words[spot]]
                if entry > 0:  # a word of some result, and none of the query's
                    weight = weights[spot] / length
                    for held_by in range(begins[entry - 1], begins[entry]):
                        similarity[place, holders[held_by]] += weight * held[held_by]
    return coverage


@kernel
def most_brought(
    similarity: _Float32, attention: _Float32, columns: _Wide, count: int
) -> tuple[_Wide, _Float32]:
    """The ``count`` rows that bring most to each chosen column, the most first, and how much each brings.

    Of equal rows the first comes first; -1 where there are fewer.
    """
    rows = np.full((count, columns.size), -1, np.int64)
    brought = np.full((count, columns.size), -np.inf, np.float32)
    for row in range(attention.size):
        for column in range(columns.size):
            brings = similarity[row, columns[column]] * attention[row]
            if brings > brought[count - 1, column]:
                spot = count - 1
                while spot > 0 and brought[spot - 1, column] < brings:
                    brought[spot, column] = brought[spot - 1, column]
                    rows[spot, column] = rows[spot - 1, column]
                    spot -= 1
                brought[spot, column] = brings
                rows[spot, column] = row
    return rows, brought


@kernel
def promise(
    offsets: _Wide,
    words: _Int32,
    weights: _Float32,
    squares: _Float32,
    mark: _Int8,
    shares: _Float32,
    average: _Float32,
    coverage_weight: float,
) -> _Float32:
    """A quick estimate of r: the overlap with the average result, and the coverage of the query."""
    promised = np.empty(squares.size, np.float32)
    for text in range(squares.size):
        overlap = np.float32(0.0)
        covered = np.float32(0.0)
        for spot in range(offsets[text], offsets[text + 1]):
            word = words[spot]
            if mark[word] > 0:
                covered += shares[mark[word] - 1]
            else:
                overlap += weights[spot] * average[word]
        length = np.sqrt(squares[text])
        promised[text] = (overlap / length if length > 0.0 else 0.0) + coverage_weight * min(
            np.float32(1.0), covered
        )
    return promised
