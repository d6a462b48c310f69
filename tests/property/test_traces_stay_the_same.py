"""What a data set is known by is what DuckDB made of it when the ledgers that are there were opened."""

import hashlib
import hmac
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tacit.privacy.ledger import data_set
from tacit.privacy.ledger.data_set import Traces
from tacit.searchlog.schema import SCHEMA

_KEY = bytes(range(32))
MARKS = 3  # more would be all
_MARK = """left(sha256($key || chr(31) || epoch_us("time")::VARCHAR || chr(31) || "user" || chr(31) || query
    {url}), 32)"""
_URL = "|| chr(31) || coalesce(url, '')"
_THIN = """(abs(epoch_us("time") // 1000000) % 4294967296) * 1640531527 % 4294967296 < $bound"""
_TEXTS = st.sampled_from(["", "a", "b", "ü", "tea\x00", "\x1f", "𐐷", "ﬁ", "zz"])
_TIMES = st.one_of(
    st.integers(0, 3), st.integers(-(10**13), 10**15), st.sampled_from([2**62, -(2**62), -1000001])
)
_ROWS = st.lists(st.tuples(_TEXTS, _TEXTS, _TIMES, st.none() | _TEXTS), max_size=80)


def by_sql(log: Path, level: int, opening: int, urls: bool) -> tuple[list[str], list[Any]]:
    """Marks at a level, and the opening: the queries by which both were read once, with addresses."""
    known = {"log": str(log)}
    with duckdb.connect() as connection:
        read = "read_parquet($log, hive_partitioning=false)"
        asked = {**known, "key": _KEY.hex(), "bound": 1 << (32 - level)}
        mark = _MARK.format(url=_URL if urls else "")
        marks = connection.execute(f"SELECT {mark} FROM {read} WHERE {_THIN}", asked).fetchall()
        columns = """epoch_us("time"), "user", query""" + ", coalesce(url, '')" * urls
        rows = connection.execute(
            f"SELECT {columns} FROM {read} ORDER BY ALL LIMIT {opening}", known
        ).fetchall()
    return sorted(mark for (mark,) in marks), rows


@given(_ROWS, st.integers(1, 80), st.booleans(), st.integers(1, 100), st.integers(0, 3), st.booleans())
@example([("u", "q", 5, None)] * 3, 1, True, 2, 0, False)
def test_marks_and_openings_are_those_of_the_ledgers_that_are_there(
    rows: list[Any], size: int, coded: bool, opening: int, level: int, with_urls: bool
) -> None:
    users, queries, times, urls = zip(*rows, strict=True) if rows else ([], [], [], [])
    ranks = [None if url is None else 1 for url in urls]
    columns = [pa.array(c, f.type) for c, f in zip((users, queries, times, ranks, urls), SCHEMA, strict=True)]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        log = Path(folder) / "log.parquet"
        pq.write_table(pa.table(columns, schema=SCHEMA), log, row_group_size=size, use_dictionary=coded)
        patch.setattr(data_set, "LONGEST_OPENING", opening)
        patch.setattr(data_set, "MARKS", MARKS)
        patch.setattr(data_set, "_THINNED_TO", max(1, -(-len(rows) // 2**level)))
        traces = Traces(log, _KEY, with_urls)
        marks, earliest = by_sql(log, traces.sketch.level, opening, with_urls)
        assert traces.sketch.marks == tuple(sorted(set(marks))[:MARKS])
        digest = hashlib.sha256()
        for field in (field for row in earliest for field in row):
            text = str(field).encode()
            digest.update(len(text).to_bytes(8, "little") + text)
        assert traces.fingerprint(b"salt") == hmac.new(b"salt", digest.digest(), hashlib.sha256).hexdigest()
