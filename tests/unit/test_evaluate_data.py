"""What the tasks work on: parts of a log, released tables, users in folds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.evaluate_log import part, release

from tacit.errors import InputError, ParameterError
from tacit.evaluate.folds import fold_of_records, folds
from tacit.evaluate.from_log import released_whole, tables_of
from tacit.evaluate.released import ReleasedData

LOG = part(
    ("ann", 0, "java", 1, "A"),
    ("ann", 0, "java", 2, "B"),
    ("ann", 1, "java", None, None),  # another page of results: the same search
    ("ann", 2, "coffee beans", 1, "C"),
    ("ann", 90, "java", 1, "A"),  # another session
    ("bob", 5, "coffee beans", None, None),
    ("bob", 6, "java", 1, "A"),
    ("bob", 7, "tea", None, None),
)


def rows(table: pa.Table) -> dict[tuple[str, ...], int]:
    listed = table.to_pylist()
    return {tuple(v for k, v in row.items() if k != "count"): row["count"] for row in listed}


def test_a_log_is_cut_into_searches_clicks_and_sessions() -> None:
    assert LOG.sessions == 3
    texts = LOG.queries.take(LOG.searches.query).to_pylist()
    assert texts == ["java", "coffee beans", "java", "coffee beans", "java", "tea"]
    assert LOG.searches.session.tolist() == [0, 0, 1, 2, 2, 2]
    assert LOG.urls.take(LOG.clicks.url).to_pylist() == ["A", "B", "C", "A", "A"]
    assert LOG.clicks.rank.tolist() == [1, 2, 1, 1, 1]


def test_a_log_released_whole_counts_users() -> None:
    found = {name: rows(table) for name, table in tables_of(LOG).items()}
    assert found["queries"] == {("java",): 2, ("coffee beans",): 2, ("tea",): 1}
    assert found["clicks"] == {("java", "A"): 2, ("java", "B"): 1, ("coffee beans", "C"): 1}
    assert found["steps"] == {
        ("java", "coffee beans"): 1,
        ("coffee beans", "java"): 1,
        ("java", "tea"): 1,
    }
    assert found["follows"] == found["steps"] | {("coffee beans", "tea"): 1}
    assert found["keywords"] == {("java",): 2, ("coffee",): 2, ("beans",): 2, ("tea",): 1}


def test_tables_are_recognised_by_their_columns_and_counts_below_1_are_left_out() -> None:
    data = release(
        queries={"java": 3, "tea": 0},
        clicks={("java", "A"): -2, ("java", "B"): 4},
        steps={("java", "tea"): 1},
    )
    assert data.rows == 3
    assert data.urls.texts.to_pylist() == ["B"]
    assert data.query_counts[data.queries.find(pa.array(["java", "tea"]))].tolist() == [3, 0]
    with pytest.raises(InputError, match="columns animal, count"):
        ReleasedData.from_tables([pa.table({"animal": ["cat"], "count": [1]})])
    twice = pa.table({"query": ["java"], "count": [1]})
    with pytest.raises(InputError, match="two tables of queries"):
        ReleasedData.from_tables([twice, twice])


def test_pairs_of_sequences_are_not_counted_twice() -> None:
    data = release(sequences=[(["a", "b", "c"], 4), (["a", "b"], 9), (["b", "c"], 5), (["a", "c"], 4)])
    names = data.queries.texts.to_pylist()
    pairs = zip(data.follows.row, data.follows.column, data.follows.weight, strict=True)
    found = {(names[i], names[j]): weight for i, j, weight in pairs}
    assert found == {("a", "b"): 9, ("b", "c"): 5, ("a", "c"): 4}
    below = release(clicks={("a", "U"): 1}, sequences=[(["a", "b"], -1)])
    assert len(below.follows) == 0 and below.queries.texts.to_pylist() == ["a"]


def test_what_a_release_lacks_is_made_from_what_it_has() -> None:
    data = release(queries={"java coffee": 3, "the coffee": 2})
    assert data.keywords == {"java": 3, "coffee": 5}
    assert len(data.clicks) == len(data.steps) == len(data.follows) == 0
    counted = release(clicks={("java", "A"): 2, ("java", "B"): 3})
    assert counted.query_counts.tolist() == [5]


def test_folds_keep_users_whole_and_use_everybody_once() -> None:
    records = pa.concat_tables([part((f"user-{n}", n, "java", None, None)).records for n in range(200)])
    seen: list[str] = []
    for to_release, to_test in folds(records, 5):
        held, tested = (set(p.records.column("user").to_pylist()) for p in (to_release, to_test))
        assert not held & tested and len(held | tested) == 200
        assert 20 < len(tested) < 60
        seen += tested
    assert len(seen) == len(set(seen)) == 200
    users = records.column("user")
    reversed_users = users.take(pa.array(range(199, -1, -1)))
    assert fold_of_records(users, 5).tolist() == fold_of_records(reversed_users, 5).tolist()[::-1]
    assert (fold_of_records(users, 5, seed=1) != fold_of_records(users, 5)).any()
    with pytest.raises(ParameterError, match="at least 2; found 1"):
        fold_of_records(users, 1)
    with pytest.raises(InputError, match="no records"):
        next(folds(records.slice(0, 0)))


def test_a_log_of_one_user_and_an_empty_part_are_data_too() -> None:
    empty = part()
    assert empty.sessions == 0 and len(empty.searches.query) == 0 and len(empty.clicks.url) == 0
    assert released_whole(empty).rows == 0
    single = part(("ann", 0, "java", 1, "A"))
    parts = list(folds(single.records, 2))
    assert sorted(len(test) for _, test in parts) == [0, 1]
    assert np.isfinite(released_whole(single).query_counts).all()
