"""``tacit import`` as people run it: what it prints, what it leaves, and what it never says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

_ROOT = Path(__file__).parents[2]
_DEFECTS = _ROOT / "tests" / "golden" / "aol-defects.txt"
_LARGE = b"1234567\tsome quite ordinary query\t2006-03-01 07:17:12\t1\thttp://www.example.com\n"


def _tacit(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "tacit", *map(str, arguments)]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(_ROOT / "src"), "COLUMNS": "200"}


def _run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _tacit(*arguments), capture_output=True, text=True, env=_environment(), check=False, timeout=120
    )


def test_the_result_is_json_on_stdout_and_never_holds_a_line(tmp_path: Path) -> None:
    done = _run("import", _DEFECTS, "-o", tmp_path / "log.parquet", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["lines"], result["records"], result["normalised"]) == (32, 13, True)
    assert sum(result["bad_lines"].values()) == 16
    assert result["files"][0]["bad_lines"]["rank"] == {"count": 3, "first_lines": [22, 24, 25]}
    assert "canary" not in (done.stdout + done.stderr).lower()
    readable = _run("import", _DEFECTS, "-o", tmp_path / "log.parquet", "--force")
    assert "13 records from 32 lines" in readable.stdout
    assert "canary" not in (readable.stdout + readable.stderr).lower()


def test_a_refusal_never_holds_a_line_and_leaves_no_file(tmp_path: Path) -> None:
    for arguments in (["--strict"], ["--format", "csv"], ["--format", "excite"], ["--format", "jsonl"]):
        done = _run("import", _DEFECTS, "-o", tmp_path / "log.parquet", "--json", *arguments)
        assert done.returncode == 1
        assert "error:" in done.stderr
        assert "canary" not in (done.stdout + done.stderr).lower()
        assert not list(tmp_path.iterdir())


def _started_import(tmp_path: Path) -> tuple[subprocess.Popen[str], Path]:
    """An import under way, with its temporary file there."""
    source = tmp_path / "large.txt"
    source.write_bytes(_LARGE * 1_500_000)
    process = subprocess.Popen(
        _tacit("import", source, "-o", tmp_path / "log.parquet"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(),
    )
    for _ in range(2_000):
        if found := list(tmp_path.glob(".log.parquet*")):
            return process, found[0]
        assert process.poll() is None, "the import ended before it could be interrupted"
        time.sleep(0.01)
    raise AssertionError("the import did not begin")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_import_leaves_no_file(tmp_path: Path, sent: signal.Signals) -> None:
    process, _ = _started_import(tmp_path)
    process.send_signal(sent)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["large.txt"]


def test_a_killed_import_leaves_a_hidden_temporary_that_the_next_one_clears(tmp_path: Path) -> None:
    process, temporary = _started_import(tmp_path)
    process.kill()
    process.communicate(timeout=60)
    assert {path.name for path in tmp_path.iterdir()} == {"large.txt", temporary.name}
    assert _run("import", _DEFECTS, "-o", tmp_path / "log.parquet").returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"large.txt", "log.parquet"}
    assert pq.read_metadata(tmp_path / "log.parquet").num_rows == 13


def test_a_disk_that_is_full_leaves_no_file(tmp_path: Path) -> None:
    """The limit on file sizes makes writes fail as a full disk does."""
    source = tmp_path / "varied.txt"
    lines = (
        f"{n}\tcanary {n * 7919}\t2006-03-01 07:17:12\t1\thttp://www.{n}.example\n" for n in range(600_000)
    )
    source.write_text("".join(lines))
    command = " ".join(_tacit("import", source, "-o", tmp_path / "log.parquet"))
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 1000; exec {command}"],
        capture_output=True,
        text=True,
        env=_environment(),
        check=False,
        timeout=120,
    )
    assert done.returncode == 1
    assert "error:" in done.stderr and "Traceback" not in done.stderr
    assert "canary" not in done.stdout + done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["varied.txt"]


def test_an_import_that_fails_keeps_the_file_that_was_there(tmp_path: Path) -> None:
    output = tmp_path / "log.parquet"
    assert _run("import", _DEFECTS, "-o", output).returncode == 0
    before = output.read_bytes()
    assert _run("import", _DEFECTS, "-o", output, "--strict", "--force").returncode == 1
    assert output.read_bytes() == before


def test_export_and_stats_speak_json(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    _run("import", _DEFECTS, "-o", log)
    exported = _run("export", log, "-o", tmp_path / "again.txt.gz", "--json")
    assert json.loads(exported.stdout) == {
        "output": str(tmp_path / "again.txt.gz"),
        "format": "aol",
        "records": 13,
        "values_with_separators": 0,
    }
    again = _run("import", tmp_path / "again.txt.gz", "-o", tmp_path / "again.parquet", "--strict")
    assert again.returncode == 0
    assert pq.read_table(tmp_path / "again.parquet").equals(pq.read_table(log))
    stats = _run("stats", log, "--json")
    figures = json.loads(stats.stdout)
    assert (figures["users"], figures["queries"], figures["clicks"], figures["sessions"]) == (4, 13, 8, 6)
    assert "java" not in stats.stdout + stats.stderr
    refused = _run("stats", log, "--frequent-queries", "3", "--min-users", "4")
    assert refused.returncode == 2
    assert "--min-users must be at least 5; found 4" in refused.stderr
