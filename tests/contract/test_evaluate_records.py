"""Which records an evaluation looks at, and how it cuts them into sessions: as a release is told."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.evaluate_log import START, part
from tests.evaluate_report import evaluate, write_popular_log

from tacit import InputError
from tacit.evaluate import LogPart
from tacit.evaluate.sweep import ORIGINAL, SweepPlan, run_sweep
from tacit.release.preparation import Preparation
from tacit.searchlog.sessions import SessionCut

QUICK = ("--mechanism", "k-query", "--k", "5", "--task", "statistics", "--folds", "2")


def test_sessions_are_cut_as_asked() -> None:
    records = part(
        ("a", 0, "coffee beans", None, None),
        ("a", 10, "violin lessons", None, None),
        ("a", 50, "violin lesson", None, None),
    ).records
    by_pauses = LogPart(records)
    assert by_pauses.searches.session.tolist() == [0, 0, 1]
    assert by_pauses.sessions == 2
    assert LogPart(records, SessionCut.of(60)).searches.session.tolist() == [0, 0, 0]


def test_a_period_and_other_sessions_through_the_command(tmp_path: Path) -> None:
    log = write_popular_log(tmp_path / "log.parquet")
    until = START + timedelta(hours=100)
    chosen = (*QUICK, "--until", until.isoformat(), "--session-gap", "45")
    found = evaluate(log, tmp_path / "report", *chosen)
    assert found["about"]["users"] == 100
    assert found["about"]["until"] == until.isoformat()
    assert "more than 45 minutes" in found["about"]["sessions"]
    whole = evaluate(log, tmp_path / "report", *QUICK, "--force")
    assert whole["about"]["users"] == 400
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["report"]


def test_a_sweep_goes_on_only_with_the_same_records(tmp_path: Path) -> None:
    log = write_popular_log(tmp_path / "log.parquet", users=40)

    def swept(preparation: Preparation) -> None:
        plan = SweepPlan((ORIGINAL,), ("statistics",), folds=2, preparation=preparation)
        run_sweep(log, tmp_path / "report", plan)

    swept(Preparation())
    with pytest.raises(InputError, match="another sessions"):
        swept(Preparation(sessions=SessionCut.of(45)))
    with pytest.raises(InputError, match="another until"):
        swept(Preparation(until=datetime(2006, 3, 2)))
    with pytest.raises(InputError, match="no searches with words of that period"):
        swept(Preparation(until=datetime(2005, 3, 2)))
