"""What is built from the source works without it: from a wheel, and from the archive that makes one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: object, at: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command], cwd=at, env={**os.environ, **environment}, capture_output=True,
        text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of the source, and a wheel made from what is in that archive alone."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, at=ROOT)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (source,) = [path for path in folder.iterdir() if path.is_dir()]
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, at=source)
    return folder


def test_a_wheel_works_in_a_folder_of_its_own(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    place = tmp_path / "installed"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", place)
    run(*pip, wheel, at=tmp_path)
    alone = {"PYTHONPATH": str(place), "TACIT_STATE": str(tmp_path / "state")}
    tacit = (sys.executable, place / "bin/tacit")
    where = run(sys.executable, "-c", "import tacit; print(tacit.__file__)", at=tmp_path, **alone)
    assert Path(where.strip()).is_relative_to(place)
    assert re.fullmatch(r"tacit \d+\.\d+\.\d+\n", run(*tacit, "--version", at=tmp_path, **alone))
    records = [
        f"u{user},{word},2026-11-0{user % 9 + 1} 10:00:00" for user in range(60) for word in ("tea", "milk")
    ]
    (tmp_path / "log.csv").write_text("\n".join(["user,query,time", *records]), encoding="utf-8")
    run(*tacit, "import", "log.csv", "-o", "log.parquet", at=tmp_path, **alone)
    budget = ("--budget-epsilon", 9, "--budget-delta", 1e-3, "-o", "out", "--json")
    release = ("release", "zealous", "log.parquet", "--epsilon", 2, "--delta", 1e-6, *budget)
    assert json.loads(run(*tacit, *release, at=tmp_path, **alone))["guarantee"]["epsilon"] <= 2
    assert (tmp_path / "out/release.html").is_file(), "pages find their templates"
    completed = run(
        *tacit, at=tmp_path, **alone, _TACIT_COMPLETE="complete_bash", COMP_WORDS="tacit rel", COMP_CWORD="1"
    )
    assert "release" in completed.split()


def test_a_wheel_has_what_a_licence_asks_for_and_no_tests(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert all(name.startswith(("tacit/", "tacit-")) for name in names)
    assert [name for name in names if name.endswith("NOTICE")] and [
        name for name in names if "LICENSE" in name
    ]
    bundled = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/tacit").rglob("*.html*")}
    assert bundled <= set(names)


def test_units_start_commands_that_exist() -> None:
    for unit in (ROOT / "packaging").glob("*.service"):
        text = unit.read_text(encoding="utf-8")
        ((verb, option),) = re.findall(
            r"^ExecStart=%h/\.local/bin/tacit (\w+) (--[\w-]+)$", text, re.MULTILINE
        )
        assert option in run(
            sys.executable, "-m", "tacit", verb, "--help", at=ROOT, PYTHONPATH=str(ROOT / "src")
        )


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")
def test_systemd_understands_the_units(tmp_path: Path) -> None:
    """A setting that is misspelt would be ignored by systemd, and with it what it confines."""
    command = tmp_path / ".local/bin/tacit"
    command.parent.mkdir(parents=True)
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    units = sorted((ROOT / "packaging").glob("*.service"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", *units],
        env={**os.environ, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert units and (done.returncode, done.stderr) == (0, "")


def test_a_container_is_built_from_files_that_are_there(tmp_path: Path) -> None:
    """Of the steps of the container file all but the download: what is copied is enough to make a wheel."""
    text = (ROOT / "packaging/Containerfile").read_text(encoding="utf-8")
    for words in re.findall(r"^COPY (.+)$", text, re.MULTILINE):
        *sources, to = words.split()
        place = tmp_path / to.lstrip("/")
        for source in sources:
            path = ROOT / source
            if path.is_dir():
                shutil.copytree(path, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, place)
    locked = re.search(r"pip install .*--require-hashes -r /(\S+)", text)
    assert locked and "hatchling==" in (tmp_path / locked[1]).read_text(encoding="utf-8"), "what builds it"
    installed = re.search(r"pip install .*--no-build-isolation /(\w+)", text)
    assert installed
    dist = ("-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist")
    run(sys.executable, *dist, at=tmp_path / installed[1])
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert "tacit/entry.py" in zipfile.ZipFile(wheel).namelist()
