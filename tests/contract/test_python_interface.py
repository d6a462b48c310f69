"""The Python interface: its pages run as written, frames give the log they hold, objects show themselves."""

from __future__ import annotations

import gc
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.notebook_page import run_page
from tests.release_log import write_log

import tacit
from tacit import InputError, ParameterError
from tacit.errors import LogError

DOCS = Path(__file__).parent.parent.parent / "docs"
RECORDS: dict[str, list[Any]] = {
    "user": ["ann", "ann", "bob"],
    "query": ["java", "java island", "  Java  "],
    "time": [datetime(2026, 3, 1, 9, minute) for minute in (0, 2, 50)],
    "rank": [None, 2, None],
    "url": [None, "https://a.example/", None],
}


@pytest.mark.parametrize(
    "page", ["tutorials/in-a-notebook.md", "reference/python/tacit.md", "how-to/use-a-release.md"]
)
def test_the_page_runs_and_shows_what_it_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: {0})  # workers would load all of it again
    names = run_page(DOCS / page)
    for value in names.values():
        if type(value).__module__.startswith("tacit"):
            assert value._repr_html_().startswith("<"), type(value)


@pytest.mark.parametrize(
    "made", [pa.table, pd.DataFrame, pl.DataFrame, dict], ids=["arrow", "pandas", "polars", "dict"]
)
def test_a_table_of_any_kind_gives_the_same_log(made: Any) -> None:
    log = tacit.read_log(made(RECORDS))
    assert log.to_arrow().to_pylist() == [
        {name: values[row] for name, values in RECORDS.items()} | {"query": query}
        for row, query in enumerate(["java", "java island", "java"])
    ]


def test_columns_are_named_and_missing_ones_told() -> None:
    frame = pd.DataFrame({"who": RECORDS["user"], "what": RECORDS["query"], "when": RECORDS["time"]})
    log = tacit.read_log(frame, columns={"user": "who", "query": "what", "time": "when"})
    assert log.to_arrow()["url"].null_count == 3
    with pytest.raises(LogError, match="has no column"):
        tacit.read_log(frame)
    with pytest.raises(InputError, match="cannot be read from int"):
        tacit.read_log(5)


def test_a_file_in_another_format_is_read_and_a_log_is_used_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,query,time\nann,java,2026-03-01 09:00:00\n")
    assert len(tacit.read_log(tmp_path / "log.csv")) == 1
    assert len(tacit.read_log([tmp_path / "log.csv"])) == 1
    path = write_log(tmp_path / "log.parquet", 50)
    assert tacit.read_log(path).path == path
    with pytest.raises(InputError, match="no file or folder"):
        tacit.read_log(tmp_path / "absent.csv")


def test_what_was_kept_for_a_log_goes_with_it_and_is_private() -> None:
    log = tacit.read_log(RECORDS)
    folder = log.path.parent
    assert folder.stat().st_mode & 0o077 == 0
    assert log.path.stat().st_mode & 0o077 == 0
    del log
    gc.collect()
    assert not folder.exists()


def test_a_log_without_a_place_needs_its_ledger_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no file beside which"):
        tacit.read_log(RECORDS).release(tacit.Zealous(epsilon=1, delta=1e-6), to=tmp_path / "out")


def test_sessions_are_counted_within_each_user() -> None:
    cut = tacit.read_log(RECORDS).sessions()
    assert cut["session"].to_pylist() == [0, 0, 0]
    later = RECORDS | {"time": [*RECORDS["time"][:1], datetime(2026, 3, 2), RECORDS["time"][2]]}
    assert tacit.read_log(later).sessions()["session"].to_pylist() == [0, 1, 0]


def test_nothing_shows_what_people_searched_for(tmp_path: Path) -> None:
    log = tacit.read_log(write_log(tmp_path / "log.parquet", 50))
    queries = {query for query in log.to_arrow()["query"].to_pylist() if len(query) > 4}
    shown = f"{log!r}{log}{log._repr_html_()}{log.stats()!r}{log.stats()}{log.stats()._repr_html_()}"
    assert not [query for query in queries if query in shown]


def test_a_ledger_is_opened_once_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "log.ledger"
    with pytest.raises(InputError, match="no ledger"):
        tacit.Ledger.open_or_create(path)
    tacit.Ledger.open_or_create(path, epsilon=2, delta=1e-6)
    again = tacit.Ledger.open_or_create(path, epsilon=2, delta=1e-6)
    assert again.left.epsilon == tacit.Ledger.open_or_create(path).left.epsilon == 2
    with pytest.raises(InputError, match="has the budget"):
        tacit.Ledger.open_or_create(path, epsilon=3, delta=1e-6)


def test_a_changed_release_is_not_true(tmp_path: Path) -> None:
    log = tacit.read_log(write_log(tmp_path / "log.parquet", 300))
    ledger = tacit.Ledger.open_or_create(tmp_path / "log.parquet.ledger", epsilon=4, delta=1e-5)
    log.release(tacit.Zealous(epsilon=1, delta=1e-6), ledger=ledger, to=tmp_path / "out")
    assert tacit.verify(tmp_path / "out", ledger)
    (tmp_path / "out/queries.tsv").write_text("query\tcount\nforged\t99\n")
    found = tacit.verify(tmp_path / "out", ledger)
    assert not found
    assert "✗" in str(found) and "does not hold" in found._repr_html_()


def test_every_public_name_is_there_and_nothing_heavy_is_loaded_before() -> None:
    heavy = ["numpy", "pyarrow", "duckdb", "ibis", "numba", "rich", "typer"]
    code = f"import sys, tacit; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert [name for name in tacit.__all__ if not hasattr(tacit, name)] == []
    assert set(tacit.__all__) <= set(dir(tacit))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tacit.nonsense  # type: ignore[attr-defined]


def test_an_import_keeps_to_the_rules_of_the_command(tmp_path: Path) -> None:
    source = tmp_path / "log.csv"
    source.write_text("user,query,time\nann,java,2026-03-01 09:00:00\n")
    log = tacit.read_log(source, to=tmp_path / "log.parquet")
    assert log.path == tmp_path / "log.parquet" and len(log) == 1
    with pytest.raises(InputError, match="exists already"):
        tacit.read_log(source, to=tmp_path / "log.parquet")
    with pytest.raises(InputError):
        tacit.read_log(source, to=source, force=True)
    assert len(tacit.read_log(source, to=tmp_path / "log.parquet", force=True)) == 1
