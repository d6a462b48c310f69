"""The loops behind attention against plain definitions: who holds which word, and which rows bring most."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.device.loops.likeness import most_brought, postings


@pytest.mark.parametrize("seed", range(6))
def test_postings_list_every_word_of_every_result_but_the_querys(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 6, 8)
    words = np.concatenate([random.choice(12, size, replace=False) for size in sizes]).astype(np.int32)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    weights = random.random(len(words)).astype(np.float32)
    lengths = random.random(8).astype(np.float32)
    lengths[2] = 0  # nothing but words of the query
    mark, slot = np.zeros(12, np.int8), np.zeros(12, np.int32)
    mark[[3, 7]] = 1
    expected: dict[int, list[tuple[int, float]]] = {}
    for result in range(8):
        for spot in range(offsets[result], offsets[result + 1]):
            if lengths[result] > 0 and not mark[words[spot]]:
                expected.setdefault(int(words[spot]), []).append((result, weights[spot] / lengths[result]))
    distinct, begins, holders, held = postings(offsets, words, weights, lengths, mark, slot)
    found = {
        int(word): [(int(holders[at]), held[at]) for at in range(begins[slot[word] - 1], begins[slot[word]])]
        for word in distinct
    }
    assert found == expected
    assert sorted(np.flatnonzero(slot).tolist()) == sorted(expected)


@pytest.mark.parametrize("rows", [0, 1, 2, 40])
def test_the_rows_that_bring_most_are_found_and_of_equal_ones_the_first(rows: int) -> None:
    random = np.random.default_rng(rows)
    similarity = random.integers(0, 4, (rows, 6)).astype(np.float32) / 2  # many equal
    attention = random.integers(1, 3, rows).astype(np.float32) / 4
    columns = np.array([4, 0, 5])
    found, brought = most_brought(similarity, attention, columns, 3)
    brings = similarity[:, columns] * attention[:, None]
    expected = np.argsort(-brings, axis=0, kind="stable")[:3]
    assert found[: len(expected)].tolist() == expected.tolist()
    assert np.array_equal(brought[: len(expected)], np.take_along_axis(brings, expected, axis=0))
    assert (found[len(expected) :] == -1).all()
