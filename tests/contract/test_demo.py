"""The demo runs from beginning to end, on a small log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

_SOURCE = Path(__file__).parents[2] / "src"


def test_the_demo_ends_with_what_it_promises(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tacit", "demo", "-o", "demo", "--users", "500", "--json"],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=280,
        env={**os.environ, "PYTHONPATH": str(_SOURCE)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert Path(result["page"]).is_file()
    assert [command.split()[1] for command in result["commands"]] == [
        "synth", "stats", "release", "verify", "group", "profile", "profile", "generalise"
    ]  # fmt: skip
    assert (tmp_path / "demo/groups").is_dir() and (tmp_path / "demo/me.profile").is_file()
