"""Records read as they lie in a log's file are those of the engine's expression, whatever the file."""

from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.engines import Engine, open_engine
from tacit.errors import LogError
from tacit.release.contribution import bounded_items, counts_of
from tacit.release.mechanisms.adaptive import HeldItem
from tacit.release.mechanisms.adaptive_holdings import Counted, read_held
from tacit.release.mechanisms.zealous_counting import count_queries, order_of
from tacit.release.parameters import Choice
from tacit.release.preparation import Preparation
from tacit.row_groups import work_through
from tacit.searchlog.schema import SCHEMA

_QUERIES = [
    "tea",
    "cats",
    "-",
    "",
    "me@home.org",
    "a@b",
    "a.b",
    "tea\x00pot",
    "\x00",
    "ﬁsh",
    "fish",
    "日本",
    "𐐷",
]
_START = 1_141_171_200 * 10**6  # the first of March 2006
_TIMES = st.one_of(
    st.integers(0, 3).map(lambda second: _START + second * 10**6), st.sampled_from([2**62, -(2**62)])
)
_ROWS = st.lists(
    st.tuples(
        st.sampled_from(["u1", "u10", "u2", "", "ü"]),
        st.sampled_from(_QUERIES),
        _TIMES,
        st.sampled_from([None, "http://a", "http://b", "http://ü\x00"]),
    ),
    max_size=60,
)
_FILES = st.fixed_dictionaries(
    {
        "row_group_size": st.integers(1, 60),
        "use_dictionary": st.booleans(),
        "dictionary_pagesize_limit": st.sampled_from([1, 1 << 20]),
        "data_page_size": st.sampled_from([1, 1 << 20]),
        "write_batch_size": st.integers(1, 8),
    }
)
_PREPARATIONS = st.builds(
    Preparation,
    since=st.sampled_from([None, datetime(2006, 3, 1, 0, 0, 1)]),
    until=st.sampled_from([None, datetime(2006, 3, 1, 0, 0, 3)]),
    scrub=st.booleans(),
)


@pytest.fixture(scope="module")
def engine() -> Any:
    with open_engine(threads=1) as opened:
        yield opened


def written(folder: str, rows: list[Any], how: dict[str, Any], grouped: bool) -> Path:
    """A log of these rows: as they are, or by user."""
    rows = sorted(rows, key=lambda row: row[0]) if grouped else rows
    users, queries, times, urls = zip(*rows, strict=True) if rows else ([], [], [], [])
    ranks = [None if url is None else 1 for url in urls]
    columns = [pa.array(c, f.type) for c, f in zip((users, queries, times, ranks, urls), SCHEMA, strict=True)]
    pq.write_table(pa.table(columns, schema=SCHEMA), Path(folder) / "log.parquet", **how)
    return Path(folder) / "log.parquet"


def who_holds_what(counted: Counted, kind: HeldItem) -> list[Any]:
    """Pairs of how many holders there are before one and the keys held, without users' numbers."""
    holdings, keys = counted.holdings, counted.tables[kind.value].to_pylist()
    who = np.repeat(np.arange(holdings.starts.size - 1), np.diff(holdings.starts))
    found: dict[int, list[Any]] = {}
    for user, item in zip(who.tolist(), (holdings.items - counted.offsets[kind.value]).tolist(), strict=True):
        if 0 <= item < len(keys):
            found.setdefault(user, []).append(tuple(keys[item].values()))
    return sorted(sorted(items) for items in found.values())


@given(_ROWS, _FILES, _PREPARATIONS, st.booleans())
def test_users_hold_the_same_by_file_and_by_engine(
    engine: Engine, rows: list[Any], how: dict[str, Any], preparation: Preparation, grouped: bool
) -> None:
    kinds = (HeldItem.QUERIES, HeldItem.CLICKS)
    with TemporaryDirectory() as folder:
        log = written(folder, rows, how, grouped)
        mine = read_held(engine, lambda columns: preparation.read(log, columns), kinds)
        other = read_held(engine, preparation.apply(engine.log(log)), kinds)
    for kind in kinds:
        assert who_holds_what(mine, kind) == who_holds_what(other, kind)
        of = [sorted(map(tuple, each.tables[kind.value].to_pylist()), key=str) for each in (mine, other)]
        assert of[0] == of[1], "keys of records that take part alone"
    assert mine.holdings.kinds == other.holdings.kinds == mine.holdings.words.size
    assert np.array_equal(np.sort(mine.holdings.words), np.sort(other.holdings.words))


@given(_ROWS, _FILES, _PREPARATIONS, st.booleans(), st.integers(1, 4), st.sampled_from(Choice))
def test_bounded_counts_are_the_same_by_file_and_by_engine(
    engine: Engine,
    rows: list[Any],
    how: dict[str, Any],
    preparation: Preparation,
    grouped: bool,
    limit: int,
    choice: Choice,
) -> None:
    with TemporaryDirectory() as folder:
        log = written(folder, rows, how, grouped)
        mine = count_queries(preparation.read(log, ["user", "query", "time"]), limit, choice)
        bounded = bounded_items(preparation.apply(engine.log(log)), ["query"], limit, choice)
        other = engine.table(counts_of(bounded, ["query"]))
    assert mine.num_rows == other.num_rows
    assert dict(zip(*mine.to_pydict().values(), strict=True)) == dict(
        zip(*other.to_pydict().values(), strict=True)
    )


def test_what_is_no_text_is_refused_and_not_quoted(tmp_path: Path) -> None:
    """A file may hold any bytes where it says that there is text."""
    bad = pa.array([b"secret \xff"]).view(pa.string())
    table = pa.table(
        [pa.array(["u"]), bad, pa.array([0], pa.timestamp("us")), pa.nulls(1, pa.int32()), bad], SCHEMA.names
    )
    pq.write_table(table, tmp_path / "log.parquet")
    with pytest.raises(LogError) as raised:
        list(work_through(tmp_path / "log.parquet", ["query"], len))
    assert "secret" not in str(raised.value) and raised.value.__suppress_context__


def test_rows_that_span_more_than_a_number_holds_are_ordered_too() -> None:
    wide = np.array([(1 << 32) - 1, 0, 1 << 31, 1])  # twice 32 bits: one more than a signed number has
    for columns in ((wide, wide), (wide, wide, wide), (np.array([-(1 << 62), 1 << 62, 0, 0]), wide)):
        assert order_of(*columns).tolist() == np.lexsort(columns[::-1]).tolist()
