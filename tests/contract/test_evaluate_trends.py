"""What the papers report of anonymity and utility, on a synthetic log: no noise, so the same each time."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluate_log import with_thesis_tasks

from tacit.evaluate import task_class
from tacit.evaluate.sweep import NOTHING, ORIGINAL, ReleaseSetting, SweepPlan, run_sweep
from tacit.evaluate.sweep.sweeping import unjudged_tasks
from tacit.world.synth import SyntheticLog

ITEMS = ("keywords", "queries", "clicks", "pairs")


def test_a_smaller_k_gives_more_and_nothing_gives_more_than_the_whole_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = unjudged_tasks()
    with_thesis_tasks(monkeypatch)
    SyntheticLog(400, seed=1).write(tmp_path / "log.parquet")
    anonymous = [ReleaseSetting("k-query", {"k": k, "items": ITEMS}) for k in (2, 5, 20)]
    ways = ("thesis-adhoc", "thesis-suggestion", "thesis-session-search")
    plan = SweepPlan((ORIGINAL, *anonymous, NOTHING), (*plain, *ways), folds=2)
    results = run_sweep(tmp_path / "log.parquet", tmp_path / "sweep", plan)
    keys = [setting.key for setting in plan.settings]
    rows = [sum(results.rows[key].values()) for key in keys]
    assert rows == sorted(rows, reverse=True)
    for task in map(task_class, plain):
        found = results.of(task.name, task.headline)
        over_all = [found[key].value for key in keys]
        assert over_all[0] == max(over_all) > over_all[-1], task.name
        if task.name not in ("adhoc", "session-search"):  # where clicks add little to the engine
            assert over_all == sorted(over_all, reverse=True), task.name
    # By the ways of the thesis, one row in fifty serves what it can serve better than all of them do.
    assert rows[1] < rows[0] / 40
    for name, way in (
        ("thesis-adhoc", "random walk: nDCG@10"),
        ("thesis-suggestion", "query flow and clicks: R@5"),
        ("thesis-session-search", "random walk: nDCG@10"),
    ):
        found = results.of(name, way)
        assert found[keys[1]].where_answered > 1.05 * found[keys[0]].where_answered, name
