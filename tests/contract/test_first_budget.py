"""A budget too small for its first release opens no ledger; the next try may give a larger one."""

import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.searchlog import SCHEMA


def release(log: Path, output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "tacit",
        "release",
        "zealous",
        str(log),
        "-o",
        str(output),
        *options,
    ]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_forgotten_delta_leaves_no_ledger_behind(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    people = [f"u{number}" for number in range(200)]
    columns = {"user": people, "query": ["weather"] * 200, "time": [datetime(2006, 3, 1)] * 200}
    empty = {"rank": [None] * 200, "url": [None] * 200}
    pq.write_table(pa.table({**columns, **empty}, schema=SCHEMA), log)
    ask = ("--epsilon", "1", "--delta", "1e-6", "--budget-epsilon", "4")
    refused = release(log, tmp_path / "out", *ask)
    assert refused.returncode == 1
    assert "--budget-delta" in refused.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.parquet"]
    done = release(log, tmp_path / "out", *ask, "--budget-delta", "1e-5")
    assert done.returncode == 0, done.stderr
    assert "weather" in (tmp_path / "out" / "queries.tsv").read_text()


def test_an_empty_release_says_why(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    one = {"user": ["u"], "query": ["q"], "time": [datetime(2006, 3, 1)], "rank": [None], "url": [None]}
    pq.write_table(pa.table(one, schema=SCHEMA), log)
    done = release(
        log, tmp_path / "out", "--epsilon", "1", "--delta", "1e-9", "--budget-epsilon", "1",
        "--budget-delta", "1e-9",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Nothing was frequent enough" in done.stdout
