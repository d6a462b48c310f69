"""What ``make check`` asks, asked by the tests too: style, types, import direction, docs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["lint-imports", "--no-cache"],
        ["mypy"],
        ["mkdocs", "build", "--strict", "--quiet", "--site-dir", "{site}"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_check(command: list[str], tmp_path: Path) -> None:
    program, *arguments = [part.format(site=tmp_path / "site") for part in command]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [BIN / program, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
