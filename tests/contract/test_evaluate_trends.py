"""What the papers report of anonymity and utility, on a synthetic log: no noise, so the same each time."""

from __future__ import annotations

from pathlib import Path

from tacit.evaluate import task_class, task_names
from tacit.evaluate.sweep import ORIGINAL, ReleaseSetting, SweepPlan, run_sweep
from tacit.world.synth import SyntheticLog

ITEMS = ("keywords", "queries", "clicks", "pairs")


def test_a_smaller_k_gives_more_and_more_data_is_not_more_utility(tmp_path: Path) -> None:
    SyntheticLog(400, seed=1).write(tmp_path / "log.parquet")
    anonymous = [ReleaseSetting("k-query", {"k": k, "items": ITEMS}, "k") for k in (2, 5, 20)]
    plan = SweepPlan((ORIGINAL, *anonymous), folds=2)
    results = run_sweep(tmp_path / "log.parquet", tmp_path / "sweep", plan)
    keys = [setting.key for setting in plan.settings]
    rows = [sum(results.rows[key].values()) for key in keys]
    assert rows == sorted(rows, reverse=True)
    for task in map(task_class, task_names()):
        found = results.of(task.name, task.headline)
        over_all = [found[key].mean_of_all for key in keys]
        assert over_all == sorted(over_all, reverse=True) and over_all[0] > over_all[-1], task.name
    # One row in fifty serves what it can serve better than all of them do.
    assert rows[1] < rows[0] / 40
    for name in ("adhoc", "suggestion", "session-search"):
        found = results.of(name, task_class(name).headline)
        assert found[keys[1]].mean > 1.05 * found[keys[0]].mean, name
