"""A fold that does not fit into memory: read in parts, it is the same fold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.evaluate_log import START

from tacit.engines import open_engine
from tacit.evaluate.data import LEFT_OUT, LogPart, ReleasedData, fold_of_records, released_whole, split
from tacit.evaluate.sweep import parts
from tacit.evaluate.sweep.parts import SpilledLog, spill
from tacit.evaluate.tasks.statistics import Statistics
from tacit.searchlog.sessions import BY_PAUSES
from tacit.world.synth import SyntheticLog


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spilled") / "log.parquet"
    SyntheticLog(60, seed=2).write(path)
    return path


Row = dict[str, Any]
Spilled = tuple[SpilledLog, LogPart, LogPart, LogPart]


@pytest.fixture
def spilled(log: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Spilled]:
    """Fold 1 of 3 in many small parts and batches, and the same fold in memory."""
    for name, value in {"A_PART": 400, "_BATCH": 700, **request.param}.items():
        monkeypatch.setattr(parts, name, value)
    with open_engine() as engine:
        original, test = spill(log, (None, None), (1, 3, 0), BY_PAUSES, engine)
        yield original, test, *split(pq.read_table(log), 1, 3, 0)


@pytest.mark.parametrize("spilled", [{}], indirect=True)
def test_the_parts_add_up_to_the_fold(spilled: Spilled) -> None:
    original, test, whole, tested = spilled
    assert len(original.files) > 3
    users = [set(pq.read_table(file).column("user").to_pylist()) for file in original.files]
    assert sum(map(len, users)) == len(set().union(*users)), "a user is in one part"
    assert original.tables.keys() == whole.tables.keys()
    for kind, table in whole.tables.items():
        keys = [(name, "ascending") for name in table.column_names if name != "count"]
        found = original.tables[kind].select(table.column_names).sort_by(keys)
        assert found.to_pydict() == table.sort_by(keys).to_pydict(), kind
    assert test.records.num_rows == tested.records.num_rows
    assert test.queries.texts == tested.queries.texts


def largest(rows: list[Row], most: int) -> list[Row]:
    """Those with the largest counts, ties together, at most so many."""
    fit = [n for n in {row["count"] for row in rows} if sum(row["count"] >= n for row in rows) <= most]
    return [row for row in rows if row["count"] >= min(fit, default=1 << 60)]


@pytest.mark.parametrize("spilled", [{"MOST_ROWS": 50}], indirect=True)
def test_beyond_the_limit_the_largest_counts_stay_and_as_many_that_test_users_asked(spilled: Spilled) -> None:
    original, test, whole, _ = spilled
    asked = set(test.queries.texts.to_pylist())
    for kind, table in whole.tables.items():
        every, found = table.to_pylist(), original.tables[kind]
        rows = largest(every, 50)
        others = [row for row in every if row not in rows and row.get("query") in asked]
        rows += largest(others, 50)
        assert sorted(map(str, found.to_pylist())) == sorted(map(str, rows)), kind
        assert len(rows) <= 100 < table.num_rows
        left_out = sum(row["count"] for row in every) - sum(row["count"] for row in rows)
        assert int(found.schema.metadata[LEFT_OUT]) == left_out > 0


@pytest.mark.parametrize("spilled", [{"MOST_ROWS": 50}], indirect=True)
def test_what_is_left_out_is_of_the_histogram_still(spilled: Spilled) -> None:
    original, test, whole, _ = spilled
    trials = [Statistics().against(each, test) for each in (original, whole)]
    top = whole.tables["queries"].sort_by([("count", "descending")]).slice(0, 9)
    for released in (ReleasedData({}), ReleasedData.from_tables([top])):
        cut, exact = (trial.measure(released)[Statistics.headline].mean for trial in trials)
        assert exact - 0.02 < cut <= exact + 1e-12  # the public list may tell some of what is left out
    alone = replace(released_whole(original), whole=True)
    assert trials[0].measure(alone)[Statistics.headline].mean == pytest.approx(1)


@pytest.mark.parametrize("spilled", [{"MOST_TESTED": 150}], indirect=True)
def test_test_users_are_sampled_whole(spilled: Spilled) -> None:
    _, test, _, tested = spilled
    found = set(test.records.column("user").to_pylist())
    kept = tested.records.filter(pc.is_in(tested.records.column("user"), value_set=pa.array(sorted(found))))
    assert 0 < len(found) < len(set(tested.records.column("user").to_pylist()))
    assert kept.num_rows == test.records.num_rows


def test_a_period_is_cut_out(log: Path) -> None:
    bounds = (START + timedelta(days=20), START + timedelta(days=40))
    with open_engine() as engine:
        original, test = spill(log, bounds, (0, 2, 0), BY_PAUSES, engine)
        listed = pa.concat_tables([test.records, *(pq.read_table(file) for file in original.files)])
    times = pq.read_table(log).column("time").to_pylist()
    assert sorted(listed.column("time").to_pylist()) == sorted(t for t in times if bounds[0] <= t < bounds[1])
    assert set(fold_of_records(test.records.column("user"), 2, 0)) == {0}
