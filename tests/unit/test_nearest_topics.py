"""The nearest topics are the nearest by sorting everything; columns read flat are the table's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.retrieval.topic_vectors import TopicVectors, load_topic_vectors
from tacit.taxonomy import TopicTree
from tacit.taxonomy.wordnet import FlatColumns
from tacit.text.vectors import load_word_table


@pytest.mark.parametrize("count", [1, 5, 39])
def test_the_nearest_are_those_of_sorting_everything(count: int) -> None:
    random = np.random.default_rng(3)
    matrix = random.integers(-3, 4, (40, 4)).astype(np.float32)  # small numbers: many equal products
    tree = TopicTree.from_paths(((f"topic {number:02}",), 1.0) for number in range(39))
    asked = np.stack([*matrix[[5, 9, 5, 0, 31]], np.zeros(4, np.float32)])
    rows, best = TopicVectors(tree, matrix, load_word_table()).nearest(asked, count)
    products = asked @ matrix.T
    products[:, 0] = -np.inf  # the root is near nothing
    expected = np.argsort(-products, axis=1, kind="stable")[:, :count]  # of equal ones the lower first
    assert rows.tolist() == expected.tolist()
    assert np.array_equal(best, np.take_along_axis(products, expected, axis=1))


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
