"""Documentation is tested as code: pages that promise it have every ``tacit`` command run, in order.

A page promises with the comment ``<!-- every tacit command of this page is run by the tests -->``. Its
commands run in one empty folder; lines with ``…`` stand for something of the reader's own and are passed
over.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PROMISE = "<!-- every tacit command of this page is run by the tests -->"
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if PROMISE in page.read_text()
]


def commands(text: str) -> list[str]:
    """The ``tacit`` commands of a page's console blocks; a backslash continues a line."""
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    joined = re.sub(r"\\\n\s*", " ", "\n".join(blocks))
    lines = [line[2:].partition("  #")[0].strip() for line in joined.split("\n") if line.startswith("$ ")]
    return [line for line in lines if line.startswith("tacit ") and "…" not in line]


def test_the_readme_promises() -> None:
    assert ROOT / "README.md" in PAGES


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_the_page_run(page: Path, tmp_path: Path) -> None:
    found = commands(page.read_text())
    assert found
    for command in found:
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(command)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
