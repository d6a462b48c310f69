"""The nearest rows by blocks are the nearest by sorting everything; columns read flat are the table's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.retrieval import nearest as nearest_module
from tacit.retrieval.nearest import nearest_rows
from tacit.retrieval.topic_vectors import load_topic_vectors
from tacit.taxonomy import TopicTree
from tacit.taxonomy.wordnet import FlatColumns


@pytest.mark.parametrize("block", [1, 7, 1_000])
@pytest.mark.parametrize("count", [1, 5, 39])
def test_the_best_of_all_blocks_are_kept(block: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest_module, "_BLOCK", block)
    random = np.random.default_rng(3)
    matrix = random.integers(-3, 4, (40, 4)).astype(np.float32)  # small numbers: many equal products
    asked = matrix[[5, 9, 5, 0, 31]]
    rows, best = nearest_rows(matrix, asked, count, first=1)
    products = asked @ matrix.T
    products[:, 0] = -np.inf
    expected = np.argsort(-products, axis=1, kind="stable")[:, :count]
    assert rows.tolist() == expected.tolist()
    assert np.array_equal(best, np.take_along_axis(products, expected, axis=1))


@pytest.mark.parametrize("count", [1, 3, 50])
@pytest.mark.parametrize(("size", "width"), [(51, 50), (4_000, 50), (20_000, 30)])
def test_a_threshold_from_blocks_misses_none_of_the_nearest(size: int, width: int, count: int) -> None:
    random = np.random.default_rng(size)
    rows = random.normal(size=(size, width)).astype(np.float32)
    rows[size // 2 :] = rows[: size - size // 2]  # every row twice: equal products in different blocks
    asked = np.stack([*rows[1:20], rows[3] * 1e-3, np.zeros(width, np.float32), -rows[5]])
    found, best = nearest_rows(rows, asked, count, first=1)
    products = asked @ rows[1:].T
    expected = np.argsort(-products, axis=1, kind="stable")[:, :count]
    assert np.allclose(best, np.take_along_axis(products, expected, axis=1), atol=1e-5)
    assert all(len(set(row)) == count for row in found.tolist())


def test_of_equal_products_the_lower_row_comes_first_and_rows_before_the_first_are_none() -> None:
    rows = np.zeros((6, 3), np.float32)
    rows[[0, 2, 4], 0] = 1
    found, products = nearest_rows(rows, np.array([[1, 0, 0]], np.float32), 4, first=1)
    assert found[0].tolist() == [2, 4, 1, 3] and products[0].tolist() == [1, 1, 0, 0]


def test_a_taxonomy_of_its_root_alone_has_no_nearest_topic() -> None:
    vectors = load_topic_vectors(TopicTree.from_paths([]))
    topics, cosines = vectors.nearest(np.ones((2, 50), np.float32), 10)
    assert topics.shape == cosines.shape == (2, 0)


def test_columns_read_flat_are_those_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    columns = {
        "name": ["Ärger", "", "two words"],
        "parent": pa.array([-1, 0, 1], pa.int32()),
        "counts": pa.array([[1, 2], [], [300]], pa.list_(pa.uint16())),
        "lemmas": [["a", "ß"], [], ["c"]],
    }
    path = tmp_path / "some.parquet"
    pq.write_table(pa.table(columns), path)
    for _ in range(2):  # written, then read from the cache
        flat = FlatColumns(path)
        assert list(flat.each_text("name")) == columns["name"]
        assert flat.array("parent").tolist() == [-1, 0, 1]
        assert [flat.numbers("counts", row) for row in range(3)] == [(1, 2), (), (300,)]
        assert [flat.texts("lemmas", row) for row in range(3)] == [("a", "ß"), (), ("c",)]
    pq.write_table(pa.table({"name": ["other"]}), path)
    assert list(FlatColumns(path).each_text("name")) == ["other"]  # goes by content, not by name
