"""The tutorial on publishing a log runs as written; one of its commands is meant to be refused."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.in_process import tacit

PAGE = Path(__file__).parent.parent.parent / "docs/tutorials/publish-a-log.md"


def _figures(text: str) -> list[float]:
    """What was requested, was left and is too much, to four digits: the ledger rounds beyond them."""
    pattern = r"requested \(epsilon (\S+),.*remaining \(epsilon (\S+),.*too\s+much\s+by\s+epsilon (\S+)\s"
    found = re.search(pattern, text, re.DOTALL)
    assert found is not None, text
    return [round(float(figure), 4) for figure in found.groups()]


def test_every_command_of_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = re.findall(r"```sh\n(.*?)\n```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(commands) == 8
    monkeypatch.chdir(tmp_path)
    for command in commands:
        name, *words = shlex.split(command.replace("\\\n", " "))
        done = (
            tacit(*words)
            if name == "tacit"
            else subprocess.run([name, *words], capture_output=True, text=True)
        )
        refused = "third" in words
        assert done.returncode == (1 if refused else 0), done.stderr
        if refused:
            assert _figures(done.stderr) == _figures(PAGE.read_text(encoding="utf-8")), done.stderr
    assert not (tmp_path / "third").exists()
    assert pq.read_table(tmp_path / "first/queries.parquet").num_rows > 0
    assert pq.read_table(tmp_path / "second/queries.parquet").num_rows > 0
