"""What an output may replace: a file only when asked; an input, a ledger or a device never."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tacit import Guarantee, InputError, Ledger
from tacit.files import atomic_file, check_output
from tacit.privacy import GuaranteeKind, Neighbours

_LINES = "user,query,time\n" + "".join(f"u{n % 8},flowers,2006-03-01 07:17:{n:02}\n" for n in range(20))


def tacit(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tacit", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 1, done.stdout
    assert done.stderr.startswith("error:") and ".partial-" not in done.stderr
    for word in words:
        assert word in done.stderr


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "uni.csv"
    path.write_text(_LINES)
    return path


@pytest.fixture
def log(source: Path) -> Path:
    path = source.with_name("log.parquet")
    done = tacit("import", source, "-o", path)
    assert done.returncode == 0, done.stderr
    return path


def make_ledger(path: Path) -> Path:
    Ledger.create(path, Guarantee(GuaranteeKind.APPROXIMATE, Neighbours.ADD_REMOVE, 1.0, 1e-6))
    return path


def test_an_existing_file_is_replaced_only_when_asked(tmp_path: Path) -> None:
    output = tmp_path / "out"
    check_output(output, force=False)
    output.write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        check_output(output, force=False)
    check_output(output, force=True)
    link = tmp_path / "link"
    for target in ("nowhere", "out"):
        link.symlink_to(tmp_path / target)
        with pytest.raises(InputError, match="is a link"):
            check_output(link, force=True)
        link.unlink()


def test_some_things_are_never_replaced(tmp_path: Path) -> None:
    device = tmp_path / "device"
    device.symlink_to("/dev/null")
    for path in (tmp_path, Path("/dev/null"), device):
        with pytest.raises(InputError, match=r"is a folder|is not a regular file|is a link"):
            check_output(path, force=True)
    given, hard = tmp_path / "given", tmp_path / "hard"
    given.write_text("precious")
    hard.hardlink_to(given)
    with pytest.raises(InputError, match="one of the inputs"):
        check_output(hard, force=True, inputs=[given])
    for name in ("log.parquet.ledger", "renamed.json"):
        with pytest.raises(InputError, match="is a ledger"):
            check_output(make_ledger(tmp_path / name), force=True)


def test_a_log_keeps_its_ledger(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    log.write_bytes(b"PAR1")
    ledger = make_ledger(tmp_path / "log.parquet.ledger")
    with pytest.raises(InputError, match="has a ledger beside it"):
        check_output(log, force=True)
    check_output(log, force=True, ledger_stays=True)
    refused(tacit("synth", "--users", "5", "-o", log, "--force"), str(ledger), "together")
    assert log.read_bytes() == b"PAR1"


def test_an_import_never_replaces_its_source(source: Path) -> None:
    refused(tacit("import", source, "-o", source), "one of the inputs")
    refused(tacit("import", source, "-o", source, "--force"), "one of the inputs")
    source.with_name("other.csv").write_text(_LINES)
    refused(tacit("import", source.parent, "-o", source, "--force"), "one of the inputs")
    assert source.read_text() == _LINES


def test_commands_ask_before_they_replace(log: Path) -> None:
    before = log.read_bytes()
    refused(tacit("import", log.parent / "uni.csv", "-o", log), "--force")
    refused(tacit("synth", "--users", "5", "-o", log), "--force")
    refused(tacit("synth", "--users", "5", "-o", log.parent / "new.parquet", "--truth", log), "--force")
    refused(tacit("export", log, "-o", log, "--force"), "one of the inputs")
    refused(tacit("export", log, "-o", "/dev/stdout", "--force"), "is a link")
    ledger = make_ledger(log.parent / "log.parquet.ledger")
    kept = ledger.read_bytes()
    refused(tacit("export", log, "-o", ledger, "--force"), "is a ledger")
    assert (log.read_bytes(), ledger.read_bytes()) == (before, kept)
    ledger.rename(log.parent / ".kept")
    assert tacit("import", log.parent, "-o", log, "--force").returncode == 0
    assert sorted(path.name for path in log.parent.iterdir()) == [".kept", "log.parquet", "uni.csv"]


def test_outputs_are_readable_by_their_owner_only(log: Path) -> None:
    made = [log, log.parent / "log.txt", log.parent / "log.txt.gz"]
    made += [log.parent / "synth.parquet", log.parent / "truth.parquet"]
    for output in made[1:3]:
        assert tacit("export", log, "-o", output).returncode == 0
    assert tacit("synth", "--users", "5", "-o", made[3], "--truth", made[4]).returncode == 0
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o600}


def test_an_export_streams_to_stdout(log: Path) -> None:
    streamed = tacit("export", log, "-o", "-", "--format", "tsv")
    assert streamed.returncode == 0
    assert tacit("export", log, "-o", log.parent / "log.tsv", "--format", "tsv").returncode == 0
    assert streamed.stdout == (log.parent / "log.tsv").read_text()
    assert "20 records" in streamed.stderr
    both = tacit("export", log, "-o", "-", "--json")
    assert both.returncode == 2 and "--json" in both.stderr


def test_a_reader_that_leaves_early_gets_no_traceback(log: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "tacit", "export", str(log), "-o", "-"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    os.close(writing)
    assert (done.returncode, "Traceback" in done.stderr, "ignored" in done.stderr) == (1, False, False)


def test_errors_name_the_output_and_not_the_temporary(source: Path) -> None:
    refused(tacit("import", source, "-o", "/proc/x.parquet"), "/proc/x.parquet cannot be written")
    folder = source.parent / "dir"
    folder.mkdir()
    refused(tacit("import", source, "-o", folder), "is a folder")
    with pytest.raises(InputError, match="dir cannot be written") as caught, atomic_file(folder) as temporary:
        temporary.write_text("x")
    assert ".partial-" not in str(caught.value)
    assert sorted(path.name for path in source.parent.iterdir()) == ["dir", "uni.csv"]
