"""Random walks on sparse matrices against powers of a dense matrix written from the equations."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.thesis.thesis_adhoc import NEGLIGIBLE, STAY, rank_urls, transition_matrix, walk
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.evaluate_log import release

from tacit.evaluate import ReleasedData

QUERIES = st.sampled_from(["a", "b", "c", "d", "e"])
URLS = st.sampled_from(["U", "V", "W", "X"])
COUNTS = st.integers(1, 40)
RELEASES = st.builds(
    lambda clicks, steps: release(clicks=clicks, steps=steps),
    st.dictionaries(st.tuples(QUERIES, URLS), COUNTS, min_size=1, max_size=12),
    st.dictionaries(st.tuples(QUERIES, QUERIES).filter(lambda pair: pair[0] != pair[1]), COUNTS, max_size=12),
)


def dense(data: ReleasedData, *, impact: bool, back: bool) -> NDArray[np.float64]:
    """Eq. 3.5 (or 4.12), then 3.6 and 3.7, entry by entry."""
    queries, urls = data.queries.texts.to_pylist(), data.urls.texts.to_pylist()
    size = len(queries) + len(urls)
    weight = np.zeros((size, size))
    for row in data.tables["clicks"].to_pylist():
        j, k = queries.index(row["query"]), len(queries) + urls.index(row["url"])
        weight[j, k] = row["count"]
        if back:
            weight[k, j] = row["count"]
    for row in data.tables["steps"].to_pylist():
        weight[queries.index(row["query"]), queries.index(row["next_query"])] = row["count"]
    factor = np.array([1.0] * len(queries) + [0.0] * len(urls))
    for i in range(len(queries), size):
        factor[i] = 1 + np.log(1 + sum(weight[j, i] for j in range(len(queries))))
    matrix = np.zeros((size, size))
    for j in range(size):
        total = weight[j].sum()
        for k in range(size):
            if total == 0:
                matrix[j, k] = float(j == k)
            else:
                matrix[j, k] = STAY if j == k else (1 - STAY) * weight[j, k] / total
        if impact:
            matrix[j] *= factor
            matrix[j] /= matrix[j].sum()
    return matrix


@given(RELEASES, st.booleans(), st.booleans(), st.integers(0, 7))
def test_the_sparse_walk_is_the_dense_one(data: ReleasedData, impact: bool, back: bool, steps: int) -> None:
    expected = dense(data, impact=impact, back=back)
    found = transition_matrix(data, impact=impact, back=back)
    assert found.toarray() == pytest.approx(expected)
    starts = np.arange(len(data.queries))
    ended = walk(found, starts, steps, negligible=0).toarray()
    assert ended == pytest.approx(np.linalg.matrix_power(expected, steps)[starts])
    assert ended.sum(axis=1) == pytest.approx(np.ones(len(starts)))


@given(RELEASES, st.booleans())
def test_urls_are_ranked_by_where_the_walk_ends(data: ReleasedData, back: bool) -> None:
    matrix = transition_matrix(data, back=back)
    ended = np.linalg.matrix_power(dense(data, impact=False, back=back), 5)
    listed = rank_urls(data, matrix, np.arange(len(data.queries)), most=3, negligible=0)
    for query in range(len(data.queries)):
        scores = ended[query, len(data.queries) :]
        mine = listed.item[listed.unit == query]
        assert len(mine) == min(3, np.count_nonzero(scores > 0))
        assert scores[mine] == pytest.approx(np.sort(scores)[::-1][: len(mine)])


@given(RELEASES)
def test_letting_go_of_small_probabilities_loses_little(data: ReleasedData) -> None:
    matrix = transition_matrix(data)
    starts = np.arange(len(data.queries))
    exact, pruned = (walk(matrix, starts, 5, n).toarray() for n in (0, NEGLIGIBLE))
    # at each of five steps a walker loses less than the limit at each of the vertices
    assert (exact - pruned >= -1e-12).all()
    assert (exact - pruned).sum(axis=1).max() <= 5 * NEGLIGIBLE * matrix.shape[0]
