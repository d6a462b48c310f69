"""The engine of a release: its limits, what it leaves behind, what its errors say."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import ibis
import pyarrow as pa
import pytest

from tacit import InfeasibleError
from tacit.engines import open_engine
from tacit.errors import LogError


def test_it_spills_to_a_private_folder_and_removes_it(tmp_path: Path) -> None:
    with open_engine(memory=200 << 20, threads=1, spill=tmp_path) as engine:
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        numbers = ibis.range(4_000_000).unnest().name("n").as_table()
        texts = numbers.mutate(text=numbers.n.cast("string").lpad(60, "x"))
        assert engine.table(engine.keep(texts).count().as_table()).column(0).to_pylist() == [4_000_000]
        assert any(folder.iterdir())
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = tmp_path / f"tacit-release-{gone.pid}-abc"
    left.mkdir()
    (left / "raw").write_text("records")
    mine = tmp_path / f"tacit-release-{os.getpid()}-abc"
    mine.mkdir()
    with open_engine(threads=1, spill=tmp_path):
        assert not left.exists()
        assert mine.exists()


def test_ctrl_c_stops_a_running_query() -> None:
    with open_engine(threads=1) as engine:
        numbers = ibis.range(200_000).unnest().name("n").as_table()
        pairs = numbers.cross_join(numbers.view())
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            engine.keep(pairs.filter(pairs.n % 7 == pairs.n_right % 11).count().as_table())
        timer.join()


def test_too_little_memory_is_said_plainly(tmp_path: Path) -> None:
    with open_engine(memory=20 << 20, threads=1, spill=tmp_path) as engine:
        engine.backend.con.execute("SET max_temp_directory_size = '1MB'")
        numbers = ibis.range(4_000_000).unnest().name("n").as_table()
        with pytest.raises(InfeasibleError, match="out of memory"):
            engine.keep(numbers.mutate(text=numbers.n.cast("string").lpad(60, "x")))


def test_a_broken_value_is_not_quoted() -> None:
    with open_engine(threads=1) as engine:
        secret = engine.load(pa.table({"query": ["secret words of a user"]}))
        with pytest.raises(Exception) as caught:
            engine.table(secret.select(n=secret["query"].cast("int64")))
        assert "secret" not in str(caught.value) + str(caught.value.__cause__)


def test_a_file_that_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    path.write_bytes(b"PAR1 nonsense")
    with open_engine(threads=1) as engine, pytest.raises(LogError):
        engine.log(path)
