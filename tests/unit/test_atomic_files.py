"""Files are whole or absent, whatever ends the writing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tacit import InputError
from tacit.files import atomic_directory, atomic_file, cache_directory


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "out") as temporary:
        temporary.write_text("half")
        assert not (tmp_path / "out").exists()
        temporary.write_text("whole")
    assert (tmp_path / "out").read_text() == "whole"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_what_was_there_before(tmp_path: Path, failure: type[BaseException]) -> None:
    (tmp_path / "out").write_text("old")

    def write() -> None:
        with atomic_file(tmp_path / "out") as temporary:
            temporary.write_text("new")
            raise failure

    with pytest.raises(failure):
        write()
    assert (tmp_path / "out").read_text() == "old"
    assert names(tmp_path) == ["out"]


def test_private_files_are_private_from_the_first_byte(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "secret", mode=0o600) as temporary:
        assert temporary.stat().st_mode & 0o777 == 0o600
        temporary.write_text("x")
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_a_directory_appears_only_when_it_is_whole_and_replaces_nothing(tmp_path: Path) -> None:
    with atomic_directory(tmp_path / "out") as temporary:
        (temporary / "table").write_text("x")
        assert not (tmp_path / "out").exists()
    assert names(tmp_path / "out") == ["table"]
    with pytest.raises(InputError, match="exists already"), atomic_directory(tmp_path / "out"):
        pass
    assert names(tmp_path) == ["out"]


def test_a_missing_folder_is_explained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"), atomic_file(tmp_path / "no" / "out"):
        pass


def test_what_a_killed_process_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    code = (
        "import sys, time; from tacit.files import atomic_file\n"
        "with atomic_file(sys.argv[1]) as temporary:\n"
        "    temporary.write_text('half'); print('ready', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "out")], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    (leftover,) = names(tmp_path)
    assert leftover.startswith(".out.partial-")
    with atomic_file(tmp_path / "out") as temporary:
        temporary.write_text("whole")
    assert names(tmp_path) == ["out"]


def test_a_living_process_keeps_its_temporary(tmp_path: Path) -> None:
    other = tmp_path / f".out.partial-{os.getppid()}"
    other.write_text("in use")
    with atomic_file(tmp_path / "out") as temporary:
        temporary.write_text("whole")
    assert other.read_text() == "in use"


def test_the_cache_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TACIT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "tacit"
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "mine"))
    assert cache_directory() == tmp_path / "mine"
    assert (tmp_path / "mine").is_dir()


def test_ctrl_c_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, time, typer, tacit.commands as commands\n"
        "from tacit.files import atomic_file\n"
        "app = commands.application()\n"
        "@app.command()\n"
        "def slow(output: str):\n"
        "    with atomic_file(output) as temporary:\n"
        "        temporary.write_text('half'); print('ready', flush=True)\n"
        "        while True: time.sleep(0.1)\n"  # a signal just before one long sleep would wait for its end
        "commands.application = lambda asked: app\n"
        "commands.main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "slow", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "nothing half-written" in errors
    assert names(tmp_path) == []
