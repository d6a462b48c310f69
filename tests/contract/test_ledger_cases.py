"""A ledger one cannot lose by accident, each case through the command: removed, moved, restored, by other
names, at once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.commands import main
from tacit.searchlog import SCHEMA

Run = Callable[..., tuple[int, str]]
_BUDGET = ("--budget-epsilon", "4", "--budget-delta", "1e-4")
_PRICE = ("--epsilon", "1", "--delta", "1e-5")


def _write(path: Path, weeks: int) -> Path:
    """A log of 60 users that has grown for so many weeks."""
    rows = [
        (f"u{user}", f"weather {week}", datetime(2006, 3, 1) + timedelta(weeks=week, minutes=user))
        for week in range(weeks)
        for user in range(60)
    ]
    columns = {"user": [r[0] for r in rows], "query": [r[1] for r in rows], "time": [r[2] for r in rows]}
    empty: dict[str, list[Any]] = {"rank": [None] * len(rows), "url": [None] * len(rows)}
    pq.write_table(pa.table({**columns, **empty}, schema=SCHEMA), path)
    return path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["tacit", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        said = capsys.readouterr()
        return code, " ".join((said.out + said.err).split())

    return run


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return _write(tmp_path / "log.parquet", 1)


def _release(run: Run, log: Path, name: str, *more: object) -> tuple[int, str]:
    return run("release", "zealous", log, *_PRICE, "-o", log.parent / name, *more)


def _charges(run: Run, ledger: Path) -> int:
    code, said = run("ledger", "show", ledger, "--json")
    assert code == 0, said
    return int(json.loads(said)["charges"])


def test_a_removed_ledger_is_missed_and_can_be_replaced_knowingly(run: Run, log: Path) -> None:
    ledger = log.with_name("log.parquet.ledger")
    assert _release(run, log, "one", *_BUDGET)[0] == 0
    ledger.unlink()
    code, said = _release(run, log, "two", *_BUDGET)
    assert code == 1
    assert "has vanished: it was last seen at" in said and "--instead-of-lost" in said
    assert not ledger.exists() and not (log.parent / "two").exists()
    code, said = run("ledger", "init", ledger, "--budget-epsilon", 4, "--budget-delta", "1e-4", "--log", log)
    assert code == 1 and "has vanished" in said
    code, said = run(
        "ledger",
        "init",
        ledger,
        "--budget-epsilon",
        4,
        "--budget-delta",
        "1e-4",
        "--log",
        log,
        "--instead-of-lost",
    )
    assert code == 0, said
    assert _release(run, log, "two")[0] == 0
    assert _charges(run, ledger) == 1


@pytest.mark.parametrize("kind", ["symlink", "hardlink", "copy", "grown copy"])
def test_a_log_by_another_name_has_the_same_ledger(run: Run, log: Path, kind: str) -> None:
    assert _release(run, log, "one", *_BUDGET)[0] == 0
    (log.parent / "elsewhere").mkdir()
    other = log.parent / "elsewhere" / "other.parquet"
    if kind == "symlink":
        other.symlink_to(log)
    elif kind == "hardlink":
        os.link(log, other)
    elif kind == "copy":
        other.write_bytes(log.read_bytes())
    else:
        _write(other, 3)
    code, said = _release(run, other, "two", *_BUDGET)
    assert code == 0, said
    assert not list(other.parent.glob("*.ledger"))
    assert _charges(run, log.with_name("log.parquet.ledger")) == 2
    code, said = _release(run, other, "three", "--ledger", other.parent / "fresh.ledger", *_BUDGET)
    assert code == 1 and "has its ledger already" in said
    assert not (other.parent / "fresh.ledger").exists()


def test_a_ledger_restored_from_an_old_copy_is_refused_and_can_be_adopted_knowingly(
    run: Run, log: Path
) -> None:
    ledger = log.with_name("log.parquet.ledger")
    assert _release(run, log, "one", *_BUDGET)[0] == 0
    backup = ledger.read_bytes()
    assert _release(run, log, "two")[0] == 0
    ledger.write_bytes(backup)
    code, said = _release(run, log, "three")
    assert code == 1
    assert "is not as it was left" in said and "tacit ledger adopt" in said
    assert ledger.read_bytes() == backup and not (log.parent / "three").exists()
    code, said = run("ledger", "adopt", ledger, "--log", log)
    assert code == 0 and "3 entries are lost" in said
    assert _release(run, log, "three")[0] == 0


def test_an_emptied_ledger_is_not_advised_to_be_made_anew(run: Run, log: Path) -> None:
    ledger = log.with_name("log.parquet.ledger")
    assert _release(run, log, "one", *_BUDGET)[0] == 0
    ledger.write_bytes(b"")
    code, said = _release(run, log, "two")
    assert code == 1
    assert "restore it from a copy" in said and "ledger init" not in said


def test_without_a_budget_nothing_is_opened(run: Run, log: Path) -> None:
    code, said = _release(run, log, "one")
    assert code == 1 and "--budget-epsilon" in said
    assert sorted(path.name for path in log.parent.iterdir()) == ["log.parquet"]


def test_of_several_first_releases_at_once_one_opens_the_ledger_and_all_use_it(log: Path, run: Run) -> None:
    started = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tacit",
                "release",
                "zealous",
                str(log),
                *_PRICE,
                *_BUDGET,
                "--a-person-may-be-shown",  # by all three, which the last may know of
                "-o",
                str(log.parent / f"out-{n}"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(3)
    ]
    for process in started:
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
    assert len(list(log.parent.glob("*.ledger"))) == 1
    assert _charges(run, log.with_name("log.parquet.ledger")) == 3


def test_a_damaged_log_is_said_to_be_damaged_where_it_is_and_nothing_is_charged(run: Run, log: Path) -> None:
    assert (
        run(
            "ledger",
            "init",
            log.with_name("log.parquet.ledger"),
            "--budget-epsilon",
            4,
            "--budget-delta",
            "1e-4",
        )[0]
        == 0
    )
    content = log.read_bytes()
    place = content.find(b"weather 0")  # inside the page of the queries, which the checks before do not read
    log.write_bytes(content[: place - 12] + b"\xff" * 8 + content[place - 4 :])
    code, said = _release(run, log, "one")
    assert code == 1
    assert "damaged" in said or "cannot be read" in said
    assert "weather" not in said
    assert _charges(run, log.with_name("log.parquet.ledger")) == 0
