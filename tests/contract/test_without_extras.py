"""What is installed without extras does the main job, and every other command names the extra it needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent.parent
_BLOCKED = (
    "altair", "vl_convert", "ir_measures", "pytrec_eval", "cryptography", "pyhpke", "redis", "httpx"
)  # fmt: skip
_WITHOUT = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {_BLOCKED!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from tacit.entry import main
main()
"""


def tacit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT, *arguments],
        capture_output=True, text=True, check=False, timeout=120, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(_ROOT / "src"), "XDG_DATA_HOME": str(folder / "data")},
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    assert tacit(folder, "synth", "-o", "log.parquet", "--users", "300").returncode == 0
    return folder


def test_the_main_job_is_done(folder: Path) -> None:
    released = tacit(
        folder, "release", "adaptive", "log.parquet", "-o", "out", "--epsilon", "2", "--delta", "1e-6",
        "--budget-epsilon", "4", "--budget-delta", "1e-5", "--json",
    )  # fmt: skip
    assert released.returncode == 0, released.stderr
    assert json.loads(released.stdout)
    assert tacit(folder, "verify", "out").returncode == 0
    assert tacit(folder, "--help").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("evaluate", "release", "log.parquet", "-o", "report"), "report"),
        (("simulate", "--people", "50", "--windows", "1", "--json"), "pool"),
        (("pool", "serve"), "pool"),
    ],
)
def test_a_command_names_the_extra_it_needs(folder: Path, arguments: tuple[str, ...], extra: str) -> None:
    done = tacit(folder, *arguments)
    if done.returncode == 0:  # it needs nothing more, after all
        return
    assert "Traceback" not in done.stderr
    assert f"tacit[{extra}]" in done.stderr or "Missing" in done.stderr or "Usage" in done.stderr, done.stderr


def test_the_search_page_starts(folder: Path) -> None:
    shown = tacit(folder, "serve", "--help")
    assert shown.returncode == 0
    probe = _WITHOUT.replace("from tacit.entry import main\nmain()", "import tacit.web.server")
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": str(_ROOT / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
