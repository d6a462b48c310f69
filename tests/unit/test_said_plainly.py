"""Errors that name the cause: damaged files, files of another kind, wrong encodings, Ctrl-C at the start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tacit import InputError, IntegrityError, Ledger
from tacit.errors import LogError
from tacit.searchlog import SCHEMA, check_log
from tacit.searchlog.importing import ImportOptions, import_log


def test_a_damaged_parquet_file_is_told_from_another_file(tmp_path: Path) -> None:
    whole = tmp_path / "log.parquet"
    pq.write_table(SCHEMA.empty_table(), whole)
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole.read_bytes()[:-20])
    with pytest.raises(LogError, match="damaged Parquet"):
        check_log(cut)
    cut.write_text("user,query,time\n")
    with pytest.raises(LogError, match="is not a Parquet file"):
        check_log(cut)


def test_what_never_was_a_ledger_is_called_none(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    pq.write_table(SCHEMA.empty_table(), log)
    log.write_bytes(log.read_bytes() + b"\n")
    with pytest.raises(IntegrityError, match="is no ledger"):
        Ledger.open(log)
    with pytest.raises(InputError, match="is not a file"):
        Ledger.open(tmp_path)


def test_a_wrong_encoding_is_named_with_its_remedy(tmp_path: Path) -> None:
    source = tmp_path / "latin.csv"
    source.write_bytes(b"user,query,time\n" + b"u,caf\xe9,2006-03-01 07:17:12\n" * 7)
    with pytest.raises(LogError, match=r"7 encoding .first in line 2.") as caught:
        import_log([source], tmp_path / "log.parquet", force=True)
    assert "`encoding='latin-1'`" in caught.value.remedy
    assert "caf" not in str(caught.value)
    report = import_log([source], tmp_path / "log.parquet", ImportOptions(encoding="latin-1"), force=True)
    assert report.records == 7


def test_a_share_that_was_asked_for_holds_from_the_first_line_on(tmp_path: Path) -> None:
    source = tmp_path / "short.csv"
    source.write_text("user,query,time\n" + "u,flowers,2006-03-01 07:17:12\n" * 8 + "u,flowers,never\n" * 2)
    assert import_log([source], tmp_path / "log.parquet", force=True).records == 8
    with pytest.raises(LogError, match=r"2 bad lines .* more than the 10\.00%"):
        import_log([source], tmp_path / "log.parquet", ImportOptions(max_bad=0.1), force=True)


def _started(hook: str) -> subprocess.CompletedProcess[str]:
    """``tacit --version``, with Ctrl-C in the middle of loading typer."""
    code = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "sys.argv = ['tacit', '--version']\n"
        f"{hook}\n"
        "from tacit.entry import main\n"
        "main()\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=False, timeout=60
    )


def test_ctrl_c_while_the_command_loads_ends_it_without_a_traceback() -> None:
    done = _started("signal.signal(signal.SIGINT, signal.default_int_handler)")
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "stopped; nothing half-written was left\n"
    ignored = _started("signal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert ignored.returncode == 0 and ignored.stdout.startswith("tacit ")
