"""Scrubbing judges each record alone: nobody can have another person's records dropped.

A log's prepared records are then the union of each user's own prepared records, which is what every
sensitivity bound of a release rests on.
"""

from collections import Counter
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.engines import Engine, open_engine
from tacit.release.preparation import Preparation
from tacit.searchlog import SCHEMA

QUERIES = [
    "weather",
    "route 101",
    "555-867-5309",
    "joe@x.org",
    "joe(at)x.org",
    "٠١٢٣٤٥٦٧٨٩",
    "12345678",
    "1 2 3",
]
URLS = [None, "http://x.org/", "http://x.org/joe(at)x.org", "http://y.org/@z", "http://x.org/?m=joe%40x.org"]
TIME = datetime(2006, 3, 1)

records = st.tuples(st.sampled_from("abc"), st.sampled_from(QUERIES), st.sampled_from(URLS))


def prepared(engine: Engine, rows: list[tuple[str, str, str | None]]) -> Counter[tuple[str, str, str | None]]:
    table = pa.table(
        {
            "user": [row[0] for row in rows],
            "query": [row[1] for row in rows],
            "time": [TIME] * len(rows),
            "rank": [None if row[2] is None else 1 for row in rows],
            "url": [row[2] for row in rows],
        },
        schema=SCHEMA,
    )
    kept = engine.table(Preparation().apply(engine.load(table)))
    return Counter(
        zip(kept["user"].to_pylist(), kept["query"].to_pylist(), kept["url"].to_pylist(), strict=True)
    )


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(records, min_size=1, max_size=12))
def test_a_log_prepared_is_the_union_of_its_users_prepared(rows: list[tuple[str, str, str | None]]) -> None:
    with open_engine(threads=1) as engine:
        alone: Counter[tuple[str, str, str | None]] = Counter()
        for user in {row[0] for row in rows}:
            alone += prepared(engine, [row for row in rows if row[0] == user])
        assert prepared(engine, rows) == alone
        each: Counter[tuple[str, str, str | None]] = Counter()
        for row in rows:
            each += prepared(engine, [row])
        assert prepared(engine, rows) == each
        plain = [row for row in rows if not ("@" in row[1] and "." in row[1])]
        assert each == Counter(row for row in plain if row[1] != "-"), (
            "addresses leave room for something else"
        )


def test_a_path_is_that_path_and_no_pattern_or_partition(tmp_path: Path) -> None:
    folder = tmp_path / "user=mallory"
    folder.mkdir()
    for name, user in (("log[12].parquet", "right"), ("log1.parquet", "wrong"), ("log*.parquet", "star")):
        table = pa.table(
            {"user": [user], "query": ["q"], "time": [TIME], "rank": [None], "url": [None]}, schema=SCHEMA
        )
        pq.write_table(table, folder / name)
    with open_engine(threads=1) as engine:
        for name, user in (("log[12].parquet", "right"), ("log*.parquet", "star")):
            assert engine.table(engine.log(folder / name))["user"].to_pylist() == [user]
