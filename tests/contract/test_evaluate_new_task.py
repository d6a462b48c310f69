"""A retrieval task is one file: dropped into the folder of tasks, it is offered, run, drawn and described."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.evaluate_report import write_popular_log

from tacit import evaluate_release
from tacit.evaluate import task_class, task_names, tasks

SOURCE = '''
"""Popular queries: which of the test users' queries were released at all."""

import numpy as np

from tacit.evaluate.data import LogPart, ReleasedData
from tacit.evaluate.task import Measured, Measures, Task


class PopularQueries(Task):
    """The task."""

    name = "popular-queries"
    title = "popular queries"
    description = "know which queries people search"
    unit = "test query"
    headline = "by table: recall"

    def against(self, original: LogPart, test: LogPart) -> "PopularQueries":
        self._wanted = test.queries.texts
        return self

    def measure(self, released: ReleasedData) -> Measures:
        found = released.queries.find(self._wanted) >= 0
        return {self.headline: Measured(np.where(found, 1.0, np.nan))}
'''


@pytest.fixture
def one_more_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "popular_queries.py").write_text(SOURCE)
    monkeypatch.setattr(tasks, "__path__", [*tasks.__path__, str(tmp_path / "tasks")])
    monkeypatch.delitem(sys.modules, "tacit.evaluate.tasks.popular_queries", raising=False)


@pytest.mark.usefixtures("one_more_file")
def test_a_task_in_one_file_is_swept_and_reported(tmp_path: Path) -> None:
    assert "popular-queries" in task_names()
    assert task_class("popular-queries").unit == "test query"
    log = write_popular_log(tmp_path / "log.parquet", 120)
    found = evaluate_release(
        log,
        tmp_path / "report",
        mechanisms=["k-query"],
        ks=[5],
        tasks=["adhoc", "popular-queries"],
        folds=2,
        workers=1,
    )
    mine = {row["mechanism"]: row for row in found.rows if row["task"] == "popular-queries"}
    # Four queries of everybody, and one that each of 120 people has alone: 4 of 4 + 60 in each fold.
    assert mine["k-query"]["value"] == pytest.approx(4 / 64, abs=0.02)
    assert mine["k-query"]["measure"] == "by table: recall"
    page = (tmp_path / "report" / "report.html").read_text()
    assert "Popular queries: know which queries people search" in page
    assert (tmp_path / "report" / "charts" / "popular-queries-by-k.svg").exists()
    assert "popular-queries by table: recall" in str(found)


def test_every_task_is_found_under_its_own_name() -> None:
    for name in task_names():
        task = task_class(name)
        assert task.name == name
        assert task.title and task.description and task.unit and task.headline
