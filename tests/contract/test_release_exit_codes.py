"""A scheduler may rely on it: 0 is published and charged, whatever fails after; else nothing is published."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.release_log import write_log
from typer.main import get_command
from typer.testing import CliRunner

import tacit
from tacit import InfeasibleError, Ledger, ParameterError, PrivacyWarning
from tacit.commands import application
from tacit.release.mechanisms.zealous import ZealousPlan

ASKED = [
    "--epsilon",
    "0.5",
    "--delta",
    "1e-7",
    "--budget-epsilon",
    "4",
    "--budget-delta",
    "1e-5",
    "--threads",
    "1",
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_log(tmp_path / "log.parquet", 150)


def run(log: Path, folder: str, *more: str, shell: str = "", **environment: str) -> int:
    words = [
        sys.executable,
        "-m",
        "tacit",
        "release",
        "zealous",
        str(log),
        *ASKED,
        "-o",
        str(log.parent / folder),
    ]
    line = " ".join([*words, *more, shell])
    return subprocess.run(["bash", "-c", line], env={**os.environ, **environment}).returncode


def test_what_fails_after_publication_changes_no_exit_code(log: Path) -> None:
    assert run(log, "full", "--epsilon", "2.9", shell=">/dev/full 2>/dev/full") == 0  # and it warns
    assert run(log, "closed", "--json", shell=">&- 2>&-") == 0
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert run(log, "ascii", "--json", shell=f">{log.parent}/said.json 2>/dev/null", **ascii_only) == 0
    said = json.loads((log.parent / "said.json").read_text("ascii"))
    assert said["deployment"]["epsilon"] == 0.5
    entries = Ledger(f"{log}.ledger").state().entries
    assert [entry.standing for entry in entries] == ["released"] * 3
    assert all(tacit.verify(log.parent / name) for name in ("full", "closed", "ascii"))


def test_a_release_loads_neither_pandas_nor_numba(log: Path) -> None:
    """Each takes 0.25 seconds and more to load."""
    said = log.parent / "said"
    assert run(log, "out", shell=f">{said} 2>&1", PYTHONPROFILEIMPORTTIME="1") == 0
    loaded = {line.rpartition("|")[2].strip() for line in said.read_text().splitlines()}
    assert "pyarrow.lib" in loaded
    assert not {name for name in loaded if name.startswith(("pandas.", "numba"))}


def invoke(log: Path, folder: str) -> Any:
    return CliRunner().invoke(
        application(), ["release", "zealous", str(log), *ASKED, "-o", str(log.parent / folder)]
    )


def test_a_stop_that_comes_after_publication_is_a_success(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "confirm_release", stopped)
    done = invoke(log, "out")
    assert done.exit_code == 0 and "published and charged" in done.output
    assert tacit.verify(log.parent / "out", f"{log}.ledger")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError(28, "No space left on device"), MemoryError])
def test_a_run_that_ends_after_the_charge_says_what_was_spent(
    stop: Any, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: Any) -> None:
        raise stop

    monkeypatch.setattr(ZealousPlan, "publish", ended)
    done = invoke(log, "out")
    assert done.exit_code != 0 and not (log.parent / "out").exists()
    said = " ".join(done.output.split())
    assert "Entry 1 of the ledger was charged, and stays spent: epsilon 0.5" in said
    assert "Nothing was published for it." in said


def test_a_terminal_that_is_gone_costs_no_charge(log: Path) -> None:
    def gone(_said: str) -> None:
        raise BrokenPipeError

    done = tacit.read_log(log).release(
        tacit.Zealous(epsilon=0.5, delta=1e-7),
        to=log.parent / "out",
        budget_epsilon=4,
        budget_delta=1e-5,
        report=gone,
    )
    assert tacit.verify(done.folder, f"{log}.ledger")


def test_a_comma_in_a_number_is_told_how_numbers_are_written() -> None:
    for words in (["--epsilon", "0,5"], ["--epsilon=0,5"]):
        done = CliRunner().invoke(application(), ["plan", "zealous", *words])
        assert done.exit_code == 2 and "write numbers with a point, as in 0.5" in done.output
    done = CliRunner().invoke(application(), ["plan", "zealous", "--epsilon", "much"])
    assert done.exit_code == 2 and "point" not in done.output


def test_a_limit_under_which_the_engine_crashes_is_refused(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10**9, 10**9))
    with pytest.raises(InfeasibleError, match=r"1\.0 GB of memory"):
        tacit.read_log(log).release(tacit.Zealous(epsilon=1), to=log.parent / "out", budget_epsilon=4)
    assert not Path(f"{log}.ledger").exists()


def test_a_delta_that_may_show_a_person_needs_a_word_at_both_doors(log: Path) -> None:
    dear = tacit.Zealous(epsilon=0.5, delta=0.4)
    given = {"budget_epsilon": 4, "budget_delta": 0.9, "users": 150, "even_if_empty": True}
    with pytest.raises(ParameterError, match=r"57 of .* users are to be expected") as refused:
        tacit.read_log(log).release(dear, to=log.parent / "out", **given)
    assert "a_person_may_be_shown=True" in refused.value.remedy and not Path(f"{log}.ledger").exists()
    with pytest.warns(PrivacyWarning, match="No protection to speak of"):
        done = tacit.read_log(log).release(dear, to=log.parent / "out", a_person_may_be_shown=True, **given)
    assert done.manifest["strength"] == "no protection to speak of" and tacit.verify(done.folder)
    # A small δ does not help after that: what is judged is all that was spent.
    with pytest.raises(ParameterError, match="all releases of this data set together"):
        tacit.read_log(log).release(tacit.Zealous(epsilon=0.5, delta=1e-7), to=log.parent / "more")
    line = [
        "release",
        "zealous",
        str(log),
        "--epsilon",
        "0.5",
        "--delta",
        "1e-7",
        "-o",
        str(log.parent / "more"),
    ]
    command = get_command(application())
    with pytest.raises(ParameterError, match="all releases of this data set together") as told:
        command.main(line, standalone_mode=False)
    assert "--a-person-may-be-shown" in told.value.remedy
    assert CliRunner().invoke(application(), [*line, "--a-person-may-be-shown"]).exit_code == 0
