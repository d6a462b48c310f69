"""What is installed without extras does the main job, and every other command names the extra it needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = (
    "altair", "vl_convert", "ir_measures", "pytrec_eval", "pyhpke", "redis", "httpx", "authlib",
    "itsdangerous", "pyspark",
)  # fmt: skip
WITHOUT = f"""
import json, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
sys.path.insert(0, {str(ROOT)!r})
from tests.in_process import tacit
found = {{}}
for name, words in json.loads(sys.argv[1]).items():
    done = tacit(*words)
    found[name] = [done.returncode, done.stdout, done.stderr]
import tacit.web.server, tacit.web.site.application, tacit.web.desk.application
print(json.dumps(found))
"""
PAID = ("--epsilon", "2", "--delta", "1e-6", "--budget-epsilon", "4", "--budget-delta", "1e-5")
OIDC = ("--oidc", "https://login.example", "--client", "tacit", "--address", "https://host.example")
COMMANDS: dict[str, tuple[str, ...]] = {
    "synth": ("synth", "-o", "log.parquet", "--users", "300"),
    "release": ("release", "adaptive", "log.parquet", "-o", "out", *PAID, "--json"),
    "verify": ("verify", "out", "--ledger", "log.parquet.ledger"),
    "key": ("approve", "--new-key", "officer.key"),
    "approve": ("approve", "out", "--key", "officer.key", "--approver", "An officer"),
    "site": ("site", "out", "--ledger", "log.parquet.ledger", "-o", "site"),
    "simulate": ("simulate", "--k", "2", "--people", "50", "--windows", "1", "--json"),
    "help": ("--help",),
    "evaluate": ("evaluate", "release", "log.parquet", "-o", "report"),
    "demo": ("demo", "-o", "demo", "--users", "500"),
    "pool": ("pool", "relay", "no.join"),
    "oidc": ("site", "serve", "site", *OIDC, "--reader-group", "readers", "--secret-file", "officer.key"),
    "spark": ("release", "zealous", "log.parquet", "-o", "apart", "--epsilon", "1", "--engine", "local[1]"),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each command came to, one after the other in one process that lacks the extras."""
    folder = tmp_path_factory.mktemp("plain")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, json.dumps(COMMANDS)],
        capture_output=True, text=True, check=False, timeout=240, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_DATA_HOME": str(folder / "data")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("name", ["synth", "release", "verify", "key", "approve", "site", "simulate", "help"])
def test_the_main_job_is_done(found: dict[str, Any], name: str) -> None:
    code, said, complained = found[name]
    assert code == 0, complained
    assert said


@pytest.mark.parametrize(
    ("name", "extra"),
    [("evaluate", "report"), ("demo", "report"), ("pool", "pool"), ("oidc", "oidc"), ("spark", "spark")],
)
def test_a_command_names_the_extra_it_needs(found: dict[str, Any], name: str, extra: str) -> None:
    code, _said, complained = found[name]
    assert code in (1, 2), complained
    assert f"Install tacit[{extra}]" in complained and "Traceback" not in complained
