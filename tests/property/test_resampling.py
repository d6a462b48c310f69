"""A resampled log keeps what was released, counted anew from the log alone."""

import json
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import InfeasibleError, IntegrityError, ParameterError, resample
from tacit.release.document.manifest import FORMAT
from tacit.release.resampling import Kept

QUERIES = ["a", "b", "c", "d", "e"]
counts = st.dictionaries(st.sampled_from(QUERIES), st.integers(1, 30), min_size=1)
steps = st.dictionaries(
    st.tuples(st.sampled_from(QUERIES), st.sampled_from(QUERIES)), st.integers(1, 12), max_size=6
)
clicks = st.dictionaries(
    st.tuples(st.sampled_from(QUERIES), st.sampled_from("xyz")), st.integers(1, 20), max_size=6
)


def publish(folder: Path, once: bool = True, mechanism: str = "session", **tables: pa.Table) -> Path:
    """A release's folder as far as resampling reads it."""
    folder.mkdir(parents=True)
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    part = {"contribution": {"groups": [1], "once": once}}
    manifest = {
        "format": FORMAT,
        "mechanism": mechanism,
        "published": {name: {} for name in tables},
        "schedule": [part],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def table(columns: list[str], rows: dict[object, int]) -> pa.Table:
    keys = [key if isinstance(key, tuple) else (key,) for key in rows]
    content = {name: [key[at] for key in keys] for at, name in enumerate(columns)}
    return pa.table({**content, "count": pa.array(list(rows.values()), pa.int64())})


def searches_of(path: Path) -> list[tuple[str, str, object, frozenset[str]]]:
    """User, query, time and clicked urls of each search, in order."""
    found: dict[tuple[str, str, object], set[str]] = {}
    for record in pq.read_table(path).to_pylist():
        urls = found.setdefault((record["user"], record["query"], record["time"]), set())
        if record["url"] is not None:
            urls.add(record["url"])
    return [(*key, frozenset(urls)) for key, urls in found.items()]


def sessions_of(path: Path) -> list[list[str]]:
    """Queries of each session, cut where a user pauses for more than half an hour."""
    sessions: list[list[str]] = []
    last: tuple[str, object] | None = None
    for user, query, time, _ in searches_of(path):
        same = last is not None and last[0] == user and (time - last[1]).total_seconds() <= 1800  # type: ignore[operator]
        if same:
            sessions[-1].append(query)
        else:
            sessions.append([query])
        last = (user, time)
    return sessions


@given(counts, steps, clicks, st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_counts_clicks_and_steps_are_kept(
    tmp_path_factory: pytest.TempPathFactory,
    asked: dict[str, int],
    following: dict[tuple[str, str], int],
    clicked: dict[tuple[str, str], int],
    seed: int,
) -> None:
    folder = tmp_path_factory.mktemp("r")
    release = publish(
        folder / "release",
        queries=table(["query"], asked),  # type: ignore[arg-type]
        transitions=table(["query", "next_query"], following),  # type: ignore[arg-type]
        clicks=table(["query", "url"], clicked),  # type: ignore[arg-type]
    )
    made = resample(release, folder / "log.parquet", seed=seed, users=500)
    searches = searches_of(folder / "log.parquet")
    assert Counter(query for _, query, _, _ in searches) == asked
    found = Counter((query, url) for _, query, _, urls in searches for url in urls)
    assert found == {pair: min(n, asked[pair[0]]) for pair, n in clicked.items() if pair[0] in asked}
    linked = Counter(pair for queries in sessions_of(folder / "log.parquet") for pair in pairwise(queries))
    for pair, times in linked.items():
        assert times <= following[pair]  # no step is made up
    assert made.kept["queries"].off == 0
    if following:
        assert made.kept["steps"].kept == sum(linked.values())
    assert len({(user, query) for user, query, _, _ in searches}) == len(searches)  # once per user


def test_every_step_is_kept_where_there_is_room(tmp_path: Path) -> None:
    following = {("a", "b"): 20, ("b", "c"): 15, ("c", "a"): 10}
    release = publish(
        tmp_path / "r",
        queries=table(["query"], {"a": 40, "b": 40, "c": 40}),
        pairs=table(["query", "next_query"], following),  # type: ignore[arg-type]
    )
    resample(release, tmp_path / "log.parquet", seed=1)
    made = Counter(pair for queries in sessions_of(tmp_path / "log.parquet") for pair in pairwise(queries))
    assert made == following


def test_sequences_come_out_with_all_their_parts(tmp_path: Path) -> None:
    # Ten sessions a b c, and five more b c: every ordered part as it would be counted.
    wanted = {("a", "b", "c"): 10, ("a", "b"): 10, ("a", "c"): 10, ("b", "c"): 15}
    rows = {"queries": pa.array([list(key) for key in wanted], pa.list_(pa.string()))}
    release = publish(tmp_path / "r", sequences=pa.table({**rows, "count": pa.array(list(wanted.values()))}))
    made = resample(release, tmp_path / "log.parquet", seed=1, users=100)
    assert made.kept["sequences"].off == 0
    found: Counter[tuple[str, ...]] = Counter()
    for queries in sessions_of(tmp_path / "log.parquet"):
        found.update(part for size in (2, 3) for part in set(combinations(queries, size)))
    assert found == wanted


def test_beginnings_of_sessions_come_out_too(tmp_path: Path) -> None:
    wanted = {("a", "b", "c"): 10, ("a", "b"): 14, ("b", "c"): 5}  # as `adaptive` counts them
    rows = {"queries": pa.array([list(key) for key in wanted], pa.list_(pa.string()))}
    made = pa.table({**rows, "count": pa.array(list(wanted.values())), "deviation": pa.array([1, 1, 1])})
    release = publish(tmp_path / "r", mechanism="adaptive", sessions=made)
    assert resample(release, tmp_path / "log.parquet", seed=1, users=100).kept["sequences"].off == 0
    assert Counter(map(tuple, sessions_of(tmp_path / "log.parquet"))) == {
        ("a", "b", "c"): 10,
        ("a", "b"): 4,
        ("b", "c"): 5,
    }


def test_what_could_not_be_kept_is_stated(tmp_path: Path) -> None:
    """Ten clicks cannot fall on three searches: three do, and the difference is said."""
    release = publish(
        tmp_path / "r",
        queries=table(["query"], {"a": 3}),
        clicks=table(["query", "url"], {("a", "x"): 10}),  # type: ignore[arg-type]
    )
    kept = resample(release, tmp_path / "log.parquet", seed=1, users=20).kept
    assert kept["clicks"] == Kept(rows=1, released=10, kept=3, off=7)
    assert kept["queries"] == Kept(rows=1, released=3, kept=3, off=0)


def test_keywords_make_a_log_too_and_negative_counts_say_nothing(tmp_path: Path) -> None:
    release = publish(tmp_path / "r", keywords=table(["keyword"], {"a": 3, "b": -4, "c": 0}))
    resample(release, tmp_path / "log.parquet", seed=1)
    assert Counter(query for _, query, _, _ in searches_of(tmp_path / "log.parquet")) == {"a": 3}


def test_the_same_seed_gives_the_same_log(tmp_path: Path) -> None:
    release = publish(tmp_path / "r", queries=table(["query"], {"a": 30, "b": 20}))
    for name, seed in (("one", 7), ("two", 7), ("three", 8)):
        resample(release, tmp_path / name, seed=seed)
    assert pq.read_table(tmp_path / "one").equals(pq.read_table(tmp_path / "two"))
    assert not pq.read_table(tmp_path / "one").equals(pq.read_table(tmp_path / "three"))


def test_what_cannot_be_resampled_is_refused(tmp_path: Path) -> None:
    empty = publish(tmp_path / "empty", queries=table(["query"], {}))
    with pytest.raises(InfeasibleError, match="nothing was published"):
        resample(empty, tmp_path / "log")
    keys = publish(tmp_path / "keys", queries=pa.table({"query": ["a"]}))
    with pytest.raises(InfeasibleError, match="keys without counts"):
        resample(keys, tmp_path / "log")
    topics = publish(tmp_path / "topics", mechanism="topics", topics=table(["topic"], {"animal": 9}))
    with pytest.raises(InfeasibleError, match="has no queries"):
        resample(topics, tmp_path / "log")
    with pytest.raises(IntegrityError, match=r"no manifest\.json"):
        resample(tmp_path, tmp_path / "log")
    release = publish(tmp_path / "r", queries=table(["query"], {"a": 3}))
    with pytest.raises(ParameterError, match="users must be a whole number, 1 or more"):
        resample(release, tmp_path / "log", users=0)
    (release / "queries.parquet").unlink()
    with pytest.raises(IntegrityError, match="table queries is missing"):
        resample(release, tmp_path / "log")
    assert not (tmp_path / "log").exists()
