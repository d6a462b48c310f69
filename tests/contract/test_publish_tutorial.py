"""The tutorial on publishing a log runs as written; one of its commands is meant to be refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

PAGE = Path(__file__).parent.parent.parent / "docs/tutorials/publish-a-log.md"


def test_every_command_of_the_tutorial(tmp_path: Path) -> None:
    commands = re.findall(r"```sh\n(.*?)\n```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(commands) == 8
    python = f'"{sys.executable}" -m tacit '
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for command in commands:
        line = re.sub(r"^tacit ", python, command)
        done = subprocess.run(line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
        refused = "-o third" in command
        assert done.returncode == (1 if refused else 0), done.stderr
        if refused:
            assert "requested (epsilon 2," in done.stderr and "remaining (epsilon 1," in done.stderr
            assert "too much by epsilon 0.99999" in done.stderr.replace("\n", " ")
    assert not (tmp_path / "third").exists()
    assert pq.read_table(tmp_path / "first/queries.parquet").num_rows > 0
    assert pq.read_table(tmp_path / "second/queries.parquet").num_rows > 0
