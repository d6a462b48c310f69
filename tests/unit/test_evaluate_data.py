"""What the tasks work on: parts of a log, released tables, users in folds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.evaluate_log import part, release

from tacit import InputError, ParameterError
from tacit.evaluate import ReleasedData, folds, released_whole
from tacit.evaluate.data import fold_of_records, split
from tacit.searchlog.sessions import SessionCut

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


def test_clicks_at_different_times_are_several_and_a_repeated_record_is_one() -> None:
    log = part(
        ("ann", 0, "b", 2, "C"),
        ("ann", 0, "a", 1, "B"),
        ("ann", 0, "b", 1, "A"),
        ("ann", 0, "b", 1, "A"),  # the same record again
        ("ann", 1, "b", 4, "A"),
        ("bob", 1, "b", None, "A"),
    )
    both = part(("ann", 0, "a", 1, "A"), ("ann", 0, "b", 1, "A"))
    assert len(both.clicks.url) == 2  # one page, for two queries
    # At one time by query, then url; whatever the order in the file.
    assert log.queries.take(log.searches.query).to_pylist() == ["a", "b", "b"]
    assert log.urls.take(log.clicks.url).to_pylist() == ["B", "A", "C", "A", "A"]
    assert log.clicks.rank.tolist() == [1, 1, 2, 4, 0]  # 0: nobody noted it


def test_a_log_released_whole_counts_users() -> None:
    found = {name: rows(table) for name, table in LOG.tables.items()}
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
    backwards = release(sequences=[(["a", "b"], 9), (["a", "b", "c"], 4)])
    assert sorted(backwards.follows.weight.tolist()) == [4, 4, 9]
    below = release(clicks={("a", "U"): 1}, sequences=[(["a", "b"], -1)])
    assert len(below.follows) == 0 and below.queries.texts.to_pylist() == ["a"]


def test_what_a_release_lacks_is_made_from_what_it_has() -> None:
    data = release(queries={"java coffee": 3, "the coffee": 2})
    assert data.keywords == {"java": 3, "coffee": 5}
    assert len(data.clicks) == len(data.steps) == len(data.follows) == 0
    counted = release(clicks={("java", "A"): 2, ("java", "B"): 3})
    assert counted.query_counts.tolist() == [5]
    # Who clicked may be who went on: the larger of the two sums is implied, not both together.
    assert release(clicks={("java", "A"): 2}, steps={("java", "tea"): 7}).query_counts.tolist() == [7, 0]
    assert release(clicks={("java", "A"): 2}, steps={("java", "tea"): 1}).query_counts.tolist() == [2, 0]


def test_steps_and_later_queries_are_each_of_their_own_table() -> None:
    whole = released_whole(LOG)
    assert (len(whole.steps), len(whole.follows)) == (3, 4)
    later = pa.table({"query": ["a", "a"], "later_query": ["b", "a"], "count": [2, 9]})
    alone = ReleasedData.from_tables([later])
    assert alone.steps.weight.tolist() == alone.follows.weight.tolist() == [2]
    assert alone.queries.texts.to_pylist() == ["a", "b"]
    # Of sequences, everything later; of steps, where there is nothing else, the next query.
    both = release(steps={("a", "b"): 3}, sequences=[(["a", "b", "c"], 4)])
    assert (len(both.steps), len(both.follows)) == (1, 3)
    assert release(steps={("a", "b"): 3}).follows.weight.tolist() == [3]
    assert len(release(sequences=[(["a", "a"], 4)]).follows) == 0


def test_standard_errors_beside_counts_are_passed_over() -> None:
    table = pa.table({"query": ["java"], "count": [3], "deviation": [1.5]})
    assert ReleasedData.from_tables([table]).query_counts.tolist() == [3]


def test_what_people_asked_is_not_shown_by_accident() -> None:
    assert repr(LOG) == "LogPart(8 records)"
    assert (
        repr(release(queries={"java": 3}, clicks={("java", "A"): 1})) == "ReleasedData(1 queries, 1 clicks)"
    )
    assert repr(release()) == "ReleasedData(nothing)"


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


def test_the_folds_are_those_of_the_seed_and_cut_sessions_as_asked() -> None:
    records = pa.concat_tables([part((f"user-{n}", n, "java", None, None)).records for n in range(60)])
    twice = pa.concat_tables([records, records.slice(10, 30)])  # records do not go round in step
    for seed in (0, 1):
        for fold, (_, test) in enumerate(folds(twice, 3, seed)):
            mine = fold_of_records(records.column("user"), 3, seed) == fold
            expected = set(records.column("user").filter(pa.array(mine)).to_pylist())
            assert set(test.records.column("user").to_pylist()) == expected
    hour = part(
        *(
            (user, minute, query, None, None)
            for user in ("ann", "bob")
            for minute, query in ((0, "java"), (60, "java beans"))
        )
    )
    for fold in (0, 1):
        both = split(hour.records, fold, 2, sessions=SessionCut.of(90))
        assert [p.sessions for p in both] == [len(p) // 2 for p in both]  # not cut by the hour's pause


def test_steps_and_later_queries_are_of_others_and_count_users_not_sessions() -> None:
    again = part(
        ("ann", 0, "java", None, None),
        ("ann", 1, "tea", None, None),
        ("ann", 2, "java", None, None),
        ("ann", 300, "java", None, None),
        ("ann", 301, "tea", None, None),
        ("ann", 600, "java tea", None, None),
    )
    found = {name: rows(table) for name, table in again.tables.items()}
    assert found["steps"] == {("java", "tea"): 1, ("tea", "java"): 1}
    assert found["follows"] == found["steps"]  # java is not later than itself
    assert found["keywords"] == {("java",): 1, ("tea",): 1}


def test_a_log_of_one_user_and_an_empty_part_are_data_too() -> None:
    empty = part()
    assert empty.sessions == 0 and len(empty.searches.query) == 0 and len(empty.clicks.url) == 0
    assert released_whole(empty).rows == 0
    single = part(("ann", 0, "java", 1, "A"))
    parts = list(folds(single.records, 2))
    assert sorted(len(test) for _, test in parts) == [0, 1]
    assert np.isfinite(released_whole(single).query_counts).all()
