"""Whoever is tested gave nothing to the release; sessions, draws and tables are those that were asked for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.evaluate_log import part, with_thesis_tasks

from tacit.evaluate import LogPart
from tacit.evaluate.data import fold_of_records
from tacit.evaluate.sweep import ORIGINAL, ReleaseSetting, SweepPlan, run_sweep
from tacit.release.preparation import Preparation
from tacit.searchlog.sessions import SessionCut

K_QUERY = ReleaseSetting("k-query", {"k": 2, "items": ("queries", "clicks")})


def written(log: LogPart, path: Path) -> Path:
    pq.write_table(log.records, path)
    return path


@pytest.mark.parametrize("seed", [0, 1])
def test_what_only_the_tested_asked_is_in_no_release(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_thesis_tasks(monkeypatch)
    names = [f"user-{number:02d}" for number in range(40)]
    fold = fold_of_records(pa.chunked_array([names]), 2, seed).tolist()
    assert 10 < sum(fold) < 30
    # Everybody of a fold asks and clicks the same, and nobody of the other fold does.
    asked = [("alpha", "A"), ("beta", "B")]
    rows = [(name, 0, asked[mine][0], 1, asked[mine][1]) for name, mine in zip(names, fold, strict=True)]
    plan = SweepPlan((ORIGINAL, K_QUERY), ("thesis-adhoc", "thesis-statistics"), folds=2, seed=seed)
    found = run_sweep(written(part(*rows), tmp_path / "log.parquet"), tmp_path / "sweep", plan)
    for setting in plan.settings:
        walk = found.of("thesis-adhoc", "random walk: nDCG@10")[setting.key]
        assert (walk.units, walk.answered) == (2, 0)
        # The engine showed the page first, and no release can tell more.
        assert found.headline("thesis-adhoc")[setting.key].value == 1
        # Of what the others asked, everything is there, and nothing else.
        assert found.of("thesis-statistics", "queries: kept")[setting.key].value == 1
        assert found.of("thesis-statistics", "queries: invented")[setting.key].value == 0


def test_sessions_are_cut_as_in_the_release_on_both_sides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_thesis_tasks(monkeypatch)
    rows = [
        (f"user-{number:02d}", minute, query, None, None)
        for number in range(20)
        for minute, query in ((0, "java"), (60, "java beans"))
    ]
    log = written(part(*rows), tmp_path / "log.parquet")
    units = {}
    for minutes in (30, 60):
        prepared = Preparation(sessions=SessionCut.of(minutes))
        plan = SweepPlan((ORIGINAL,), ("thesis-suggestion",), folds=2, preparation=prepared)
        found = run_sweep(log, tmp_path / str(minutes), plan)
        recall = found.of("thesis-suggestion", "query flow and clicks: R@5")[ORIGINAL.key]
        units[minutes] = recall.units, recall.value
    assert units[30][0] == 0  # an hour's pause ends a session
    assert units[60] == (20, 1)  # unless as much is allowed; the release has learnt the step too


def test_noise_is_drawn_as_often_as_asked_and_what_draws_none_is_run_once() -> None:
    noisy = ReleaseSetting("zealous", {"epsilon": 4.0, "delta": 1e-6})
    plan = SweepPlan((ORIGINAL, K_QUERY, noisy), folds=5, draws=3)
    assert [len(plan.draws_of(setting)) for setting in plan.settings] == [1, 1, 3]
    assert plan.total == 5 * 5
