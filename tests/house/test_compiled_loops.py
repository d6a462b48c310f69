"""Compiled loops are keyed by their own folders: what is edited elsewhere compiles nothing again."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
ROOMS = ("device", "world")
LOOPS = sorted(path for room in ROOMS for path in (SOURCE / "tacit" / room).rglob("loops/*.py"))


def imports(tree: ast.Module) -> set[str]:
    return {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)} | {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }


@pytest.mark.parametrize("path", LOOPS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_loop_uses_nothing_of_the_house_outside_its_folder(path: Path) -> None:
    """Or a change elsewhere would leave machine code in the cache that no longer fits the sources."""
    folder = ".".join(path.relative_to(SOURCE).parent.parts)
    ours = {name for name in imports(ast.parse(path.read_text())) if name.split(".")[0] == "tacit"}
    assert all(name == "tacit.compiled" or f"{name}.".startswith(f"{folder}.") for name in ours), ours


@pytest.mark.parametrize("room", ROOMS)
def test_loops_stand_in_folders_of_their_own(room: str) -> None:
    """A docstring beside a loop is part of what its machine code is keyed by."""
    beside = [
        str(path.relative_to(SOURCE))
        for path in (SOURCE / "tacit" / room).rglob("*.py")
        if path not in LOOPS and "tacit.compiled" in imports(ast.parse(path.read_text()))
    ]
    assert beside == []


PROTECT = """
from pathlib import Path
from tacit.device import Guard
with Guard(Path("me.profile")) as guard:
    page = {"url": "https://coffee.example/", "title": "Espresso", "snippet": "Grind the coffee beans"}
    for number in range(4):
        guard.clicked("coffee beans", page | {"url": f"https://coffee.example/{number}"})
    guard.confirm()
    assert guard.protect("coffee beans").sent
    guard.rerank("coffee beans", [page] * 3)
"""


def test_editing_a_docstring_of_the_device_compiles_nothing_again(tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "src")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TACIT_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": str(tmp_path / "src"),
    }

    def machine_code() -> dict[str, float]:
        (tmp_path / "me.profile").unlink(missing_ok=True)
        subprocess.run([sys.executable, "-c", PROTECT], env=environment, cwd=tmp_path, check=True)
        return {
            str(path.relative_to(tmp_path)): path.stat().st_mtime
            for path in (tmp_path / "cache").rglob("compiled-*/**/*.nb*")
        }

    before = machine_code()
    assert before
    for path in (tmp_path / "src/tacit/device").rglob("*.py"):
        if path.parent.name != "loops":
            path.write_text(path.read_text() + '\n"""A docstring more."""\n')
    assert machine_code() == before
