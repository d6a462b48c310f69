"""Sessions of a release: pairs, transitions and sequences follow the sessions that the preparation cuts."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.drawn import SeededRandomness

from tacit import Click, Session, Zealous
from tacit.engines import open_engine
from tacit.release.mechanism import Mechanism, run
from tacit.release.parameters import Item
from tacit.release.preparation import Preparation
from tacit.searchlog import SCHEMA
from tacit.searchlog.sessions import SessionCut

_HISTORY = (("java", 0), ("cat pictures", 5), ("cat pictures cute", 50), ("java island", 300))
_BY_TIME = {("java", "cat pictures")}
_WITH_MORE = {("cat pictures", "cat pictures cute")}
_NO_NOISE = {"noise": 0.0, "threshold": 0, "noise_counts": 0.0}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    rows = [(f"u{n}", q, datetime(2006, 3, 1) + timedelta(minutes=m)) for n in range(4) for q, m in _HISTORY]
    columns = {"user": [r[0] for r in rows], "query": [r[1] for r in rows], "time": [r[2] for r in rows]}
    empty = {"rank": [None] * len(rows), "url": [None] * len(rows)}
    pq.write_table(pa.table({**columns, **empty}, schema=SCHEMA), path)
    return path


_RELEASES = {
    "pairs": Zealous(items=(Item.PAIRS,), noise=0.0, threshold_1=1, threshold_2=1),
    "transitions": Click(
        queries_per_user=5,
        clicks_per_user=0,
        transitions=True,
        noise_transitions=0.0,
        mode="approximate",
        **_NO_NOISE,
    ),
    "sessions": Session(sessions_per_user=2, queries_per_session=2, **_NO_NOISE),
}


@pytest.mark.parametrize("table", _RELEASES)
@pytest.mark.parametrize(("minutes", "expected"), [(None, _BY_TIME), (4, set()), (45, _BY_TIME)])
def test_what_follows_what_is_said_by_the_sessions(
    log: Path, table: str, minutes: float | None, expected: set[tuple[str, str]]
) -> None:
    mechanism: Mechanism = _RELEASES[table]
    if minutes == 45 and table == "transitions":  # the others give a user's first pair or session alone
        expected = expected | _WITH_MORE
    prepared = Preparation(scrub=False, sessions=SessionCut.of(minutes))
    with open_engine(threads=1) as engine:
        tables = run(mechanism, engine, prepared.apply(engine.log(log)), SeededRandomness(0))
    rows = [list(row.values())[:-1] for row in tables[table].to_pylist()]
    assert {tuple(row[0]) if table == "sessions" else tuple(row) for row in rows} == expected
    assert set(tables[table].column("count").to_pylist()) <= {4}
    assert Preparation.from_dict(prepared.to_dict()) == prepared


def test_an_empty_log_has_no_sessions(tmp_path: Path) -> None:
    pq.write_table(SCHEMA.empty_table(), tmp_path / "empty.parquet")
    prepared = Preparation(sessions=SessionCut.of(45))
    with open_engine(threads=1) as engine:
        tables = run(
            _RELEASES["pairs"],
            engine,
            prepared.apply(engine.log(tmp_path / "empty.parquet")),
            SeededRandomness(0),
        )
    assert tables["pairs"].num_rows == 0
