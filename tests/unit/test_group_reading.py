"""Profiles from logs and from JSON lines."""

import json
import random
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit import InputError, ParameterError
from tacit.groups import Profiles
from tacit.groups.bundles import rank_by_interest
from tacit.groups.reading import profiles_from_log, read_profiles
from tacit.searchlog import SCHEMA

NOON = datetime(2026, 3, 1, 12)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    records = [
        ("a", "the kittens and the dogs", NOON, None, None),
        ("a", "kittens", NOON.replace(hour=13), 1, "https://one.example"),
        ("a", "kittens", NOON.replace(hour=13), 2, "https://two.example"),  # a second click, not a query
        ("b", "Kittens xqzzt", NOON, None, None),
        ("c", "xqzzt the", NOON, None, None),
    ]
    path = tmp_path / "log.parquet"
    columns = list(zip(*records, strict=True))
    pq.write_table(
        pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA), path
    )
    return path


def as_dict(profiles: Profiles) -> dict[str, dict[str, float]]:
    return {user: profiles.profile(row) for row, user in enumerate(profiles.users)}


def test_stop_words_and_unknown_words_go_and_clicks_count_once(log: Path) -> None:
    assert as_dict(profiles_from_log(log)) == {"a": {"dogs": 1.0, "kittens": 2.0}, "b": {"kittens": 1.0}}


def test_a_seed_means_the_same_people_in_whatever_order_a_log_lies(tmp_path: Path) -> None:
    words = ["dog", "kitten", "horse", "island", "coffee", "violin", "garden"]
    records = [(f"u{n}", words[n * k % 7], NOON, None, None) for n in range(300) for k in (1, 2, 5)]
    found = []
    for number, rows in enumerate((records, records[::-1], random.Random(1).sample(records, len(records)))):
        columns = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
        pq.write_table(pa.table(columns, SCHEMA), path := tmp_path / f"{number}.parquet")
        read = profiles_from_log(path, whole_queries=True)
        found.append((list(read.users), list(read.vocabulary), read.terms.tolist()))
    assert found[0] == found[1] == found[2]


def test_users_without_a_usable_term_are_counted(log: Path) -> None:
    found = profiles_from_log(log)
    assert (len(found), found.without_terms, found.scrubbed_queries) == (2, 1, 0)


def test_queries_that_name_somebody_are_passed_over(tmp_path: Path) -> None:
    queries = ["kitten jane@mail.example.org", "dog ＪＡＮＥ＠mail.example.org", "horse 555-867-5309"]
    records = [("a", query, NOON, None, None) for query in [*queries, "kitten", "riding 1997"]]
    records.append(("b", "eagle 12345678", NOON, None, None))
    path = tmp_path / "log.parquet"
    columns = list(zip(*records, strict=True))
    pq.write_table(
        pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA), path
    )
    found = profiles_from_log(path)
    assert as_dict(found) == {"a": {"kitten": 1.0, "riding": 1.0}}
    assert (found.without_terms, found.scrubbed_queries) == (1, 4)
    whole = profiles_from_log(path, whole_queries=True)
    assert as_dict(whole) == {"a": {"kitten": 1.0, "riding 1997": 1.0}} and whole.scrubbed_queries == 4
    assert len(as_dict(profiles_from_log(path, scrub=False, whole_queries=True))["a"]) == 5
    kept = profiles_from_log(path, scrub=False)
    assert {"dog", "horse"} < set(as_dict(kept)["a"])
    assert (kept.without_terms, kept.scrubbed_queries) == (0, 0)


def write(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


def test_json_lines(tmp_path: Path) -> None:
    path = write(
        tmp_path / "p.jsonl",
        {"user": "b", "terms": {"Kitten ": 1, "kitten": 0.5, "c++": 2}},
        "",
        {"user": 7, "terms": {"riding": 0.8}},
    )
    found = as_dict(read_profiles(path))
    assert found == {"b": {"c++": 2.0, "kitten": 1.5}, "7": {"riding": pytest.approx(0.8)}}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("secret text", "line 2 is not a JSON object"),
        ('["secret"]', "line 2 lacks"),
        ({"user": "", "terms": {"secret": 1}}, "line 2 lacks"),
        ({"user": "secret", "terms": {}}, "line 2 lacks"),
        ({"user": "secret", "terms": {" ": 1}}, "line 2 holds an empty term"),
        (
            {"user": "secret", "terms": {"secret": "1"}},
            "line 2 holds a weight that is no finite number above 0",
        ),
        (
            {"user": "secret", "terms": {"secret": True}},
            "line 2 holds a weight that is no finite number above 0",
        ),
        (
            {"user": "secret", "terms": {"secret": -1}},
            "line 2 holds a weight that is no finite number above 0",
        ),
        (
            '{"user": "secret", "terms": {"secret": NaN}}',
            "line 2 holds a weight that is no finite number above 0",
        ),
        ('{"user": "secret\\ud800", "terms": {"a": 1}}', "line 2 holds half a surrogate pair"),
        ({"user": "first", "terms": {"secret": 1}}, "line 2: this user has a profile on an earlier line"),
    ],
)
def test_a_bad_line_is_named_by_number_and_never_quoted(tmp_path: Path, line: object, said: str) -> None:
    path = write(tmp_path / "p.jsonl", {"user": "first", "terms": {"kitten": 1}}, line)
    with pytest.raises(InputError, match=said) as caught:
        read_profiles(path)
    assert "secret" not in str(caught.value)
    assert "first" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_no_profiles_and_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no profile"):
        read_profiles(write(tmp_path / "empty.jsonl", ""))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_profiles(tmp_path / "binary")
    with pytest.raises(InputError, match="there is no file"):
        read_profiles(tmp_path / "absent")


def test_only_records_of_the_period_make_a_profile(tmp_path: Path) -> None:
    rows = [("a", "coffee", 1), ("a", "volcano", 5), ("b", "island", 5), ("c", "violin", 9)]
    columns = {
        "user": [user for user, *_ in rows],
        "query": [query for _, query, _ in rows],
        "time": [datetime(2006, 3, day) for *_, day in rows],
        "rank": [None] * len(rows),
        "url": [None] * len(rows),
    }
    pq.write_table(pa.table(columns, schema=SCHEMA), tmp_path / "log.parquet")
    found = profiles_from_log(tmp_path / "log.parquet", period=(datetime(2006, 3, 5), datetime(2006, 3, 9)))
    assert sorted(found.users) == ["a", "b"]
    assert sorted(found.vocabulary) == ["island", "volcano"]
    with pytest.raises(InputError, match="that period"):
        profiles_from_log(tmp_path / "log.parquet", period=(datetime(2007, 1, 1), None))
    with pytest.raises(ParameterError, match="before"):
        profiles_from_log(tmp_path / "log.parquet", period=(datetime(2006, 3, 9), datetime(2006, 3, 5)))


def test_results_are_ranked_by_interests_without_the_words_of_the_query() -> None:
    pages = [{"title": title} for title in ("weather", "java weather", "coffee weather")]
    ranked = rank_by_interest({"coffee": 1.0, "java": 9.0}, pages, "java")
    assert [page["title"] for page in ranked] == ["coffee weather", "weather", "java weather"]
    assert rank_by_interest({"coffee": 1.0, "java": 9.0}, pages)[0]["title"] == "java weather"
    assert rank_by_interest({}, pages, "java") == pages
