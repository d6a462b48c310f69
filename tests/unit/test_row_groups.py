"""Row groups are read once where two need them, and texts have one number each."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit import head_start, row_groups
from tacit.errors import LogError
from tacit.head_start import at_work_on, named_log
from tacit.row_groups import different, encoded, only_used, together, work_through
from tacit.searchlog.schema import SCHEMA


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Ten records in four row groups."""
    columns = [["u", "v"] * 5, list("abcdeabcde"), range(10), [None] * 10, [None] * 10]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    pq.write_table(pa.table(arrays, schema=SCHEMA), tmp_path / "log.parquet", row_group_size=3)
    return tmp_path / "log.parquet"


def test_what_is_read_ahead_is_read_once(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = head_start.read_group

    def noted(log: Path, metadata: Any, group: int, columns: list[str]) -> list[pa.RecordBatch]:
        read.append(group)
        return real(log, metadata, group, columns)

    for module in (row_groups, head_start):
        monkeypatch.setattr(module, "read_group", noted)
    with at_work_on(log):
        for columns in (("query",), ("query", "user")):
            batches = list(work_through(log, columns, lambda batch: batch))
            assert [batch.num_rows for batch in batches] == [3, 3, 3, 1]
            assert {tuple(batch.schema.names) for batch in batches} == {columns}
        assert sorted(read) == [0, 1, 2, 3]
        list(work_through(log, ["time", "url"], len))
        assert sorted(read) == [0, 0, 1, 1, 2, 2, 3, 3], "of what was not read ahead"
        head_start.forget()
        list(work_through(log, ["query"], len))
        assert len(read) == 12, "it was let go"
    assert not head_start.ahead


def test_the_log_of_a_command_that_reads_all_of_it_is_named(log: Path) -> None:
    words = ["release", "adaptive", "--output", "out", str(log), "--epsilon", "1"]
    assert named_log(words) == named_log(["series", "next", "folder", str(log)]) == log
    for other in (["plan", "adaptive", str(log)], ["series", "show", str(log)], ["release", str(log)], []):
        assert named_log(other) is None
    assert named_log(["release", "adaptive", "none.parquet"]) is None


def test_wrong_words_after_a_log_end_at_once(log: Path) -> None:
    words = [sys.executable, "-m", "tacit", "release", "adaptive", str(log), "--epsilon", "none"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_a_log_that_is_not_there_is_missed_when_it_is_read(tmp_path: Path) -> None:
    none, cannot = tmp_path / "none.parquet", pytest.raises(LogError, match="cannot be read")
    with at_work_on(none), cannot:
        list(work_through(none, ["user"], len))


def test_a_long_log_is_not_kept(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.head_start._MOST_AHEAD", 9)
    with at_work_on(log):
        assert not head_start.ahead
        assert sum(work_through(log, ["user"], lambda batch: batch.num_rows)) == 10


@pytest.mark.parametrize("coded", [False, True])
def test_texts_have_one_number_each(coded: bool) -> None:
    texts = ["tea", "", "x" * 300, "y" * 300, "tea", "ﬁ", "fi", "\x00", "", "x" * 299]
    parts = pa.chunked_array([texts[:4], texts[4:], []], pa.string())
    if coded:
        coded_parts = [chunk.dictionary_encode() for chunk in parts.chunks]
        unused = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array(["tea", "never"]))
        parts, texts = pa.chunked_array([*coded_parts, unused]), [*texts, "tea"]
    known, which = encoded(parts)
    assert known.take(pa.array(which)).to_pylist() == texts
    assert sorted(known.to_pylist()) == sorted(set(texts))
    if coded:
        every, codes = together(parts)
        assert every.take(pa.array(codes)).to_pylist() == texts and len(every) > len(known)


def test_texts_numbered_ahead_are_the_ones_that_were_read(log: Path) -> None:
    table = pq.read_table(log)
    long = pa.array(["x" * 300, "a", "", "longer", "b", "b", "x" * 300, "y" * 299, "", "ü"])
    pq.write_table(table.set_column(1, SCHEMA.field("query"), long), log, row_group_size=3)
    with at_work_on(log):
        head_start.forget()
        head_start.begin(log, ["release", "adaptive"])
        batches = list(work_through(log, ["user", "query"], lambda batch: batch))
        ahead = [each.result() for each in head_start.numbered]
        assert [len(each) for each in ahead] == [1, 1]
        for name in ("query", "user"):  # not in the order in which they were numbered
            texts = pa.chunked_array([batch.column(name) for batch in batches])
            known, which = encoded(texts)
            assert known.take(pa.array(which)).to_pylist() == texts.to_pylist()
            assert len(known) == len(set(texts.to_pylist()))
        assert ahead == [{}, {}], "taken once"
        other = pa.chunked_array([["z", "a"]], pa.string())
        assert encoded(other)[0].to_pylist() == ["z", "a"]


def test_numbers_without_texts() -> None:
    for texts in (pa.chunked_array([], pa.string()), pa.chunked_array([[]], pa.string())):
        known, which = encoded(texts)
        assert len(known) == which.size == 0
    assert different(pa.array([], pa.string()))[1].size == 0
    known, which = only_used(pa.array(["a", "b", "c"]), np.array([2, 0, 2], np.int32))
    assert known.to_pylist() == ["a", "c"] and which.tolist() == [1, 0, 1]


_RELEASE = """
import sys
import tacit
tacit.read_log(sys.argv[1]).release(getattr(tacit, sys.argv[2])(epsilon=5, per_user=2), to=sys.argv[3],
    ledger=sys.argv[3] + ".ledger", budget_epsilon=9, budget_delta=1e-5)
assert not {"duckdb", "ibis"} & set(sys.modules), "half of the time of a small release"
"""


@pytest.mark.parametrize("mechanism", ["Zealous", "Adaptive"])
def test_queries_are_counted_without_an_engine(mechanism: str, log: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _RELEASE, log, mechanism, tmp_path / "out"], check=True)
