"""A release on Spark counts what DuckDB counts, row by row, with a master and two workers, each a host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.schedule_cases import click_pure, session_each, topics
from tests.spark_cluster import cluster, executors, odd_log

from tacit import Adaptive, Groups, KQuery, Ledger, ParameterError, Plan, TacitError, Zealous
from tacit.engines import Engine, open_engine, private_folder
from tacit.engines.spark import SparkEngine, SparkRows
from tacit.evaluate.sweep import parts
from tacit.privacy.noise.randomness import KeyedRandomness
from tacit.release.mechanisms.adaptive import HeldItem
from tacit.release.parameters import Item
from tacit.release.preparation import Preparation
from tacit.release.publication import publish
from tacit.release.schedule import ONE, AdaptiveRounds
from tacit.release.verify import verify_release
from tacit.searchlog.sessions import SessionCut


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("odd [log]*") / "log.parquet"
    pq.write_table(odd_log(), path)
    return path


@pytest.fixture(scope="module", autouse=True)
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with cluster(tmp_path_factory.mktemp("spark")) as master:
        yield master


@pytest.fixture(scope="module")
def engines(spark: str) -> Iterator[tuple[Engine, Engine]]:
    with open_engine(threads=1, memory=200 << 20) as duck, open_engine(master=spark) as spark_engine:
        spark_engine.naming = duck.naming
        yield duck, spark_engine


def in_order(table: pa.Table, schema: pa.Schema) -> pa.Table:
    return table.cast(schema).sort_by([(name, "ascending") for name in schema.names]).combine_chunks()


PLANS = {
    "zealous": Zealous(items=tuple(Item), per_user=3, noise=2.0, threshold_1=2, threshold_2=16).plan(),
    "k-query": KQuery(k=4, items=(Item.CLICKS,)).plan(),
    "click, pure": click_pure(),
    "session": session_each(),
    "topics": topics(),
}


@pytest.mark.parametrize("name", PLANS)
def test_counts_are_the_same_row_by_row(name: str, engines: tuple[Engine, Engine], log: Path) -> None:
    """All bounded counts, before any threshold."""
    counted = [PLANS[name].count(engine, engine.log(log)) for engine in engines]
    assert counted[0].keys() == counted[1].keys()
    for table in counted[0]:
        here, there = (engine.table(found[table]) for engine, found in zip(engines, counted, strict=True))
        assert here.num_rows > 0
        assert in_order(there, here.schema).equals(in_order(here, here.schema)), table


def test_histories_are_cut_alike_by_another_gap(engines: tuple[Engine, Engine], log: Path) -> None:
    prepared = Preparation(sessions=SessionCut.of(45))
    here, there = (engine.table(prepared.apply(engine.log(log))) for engine in engines)
    assert len(set(here["session"].to_pylist())) > 2
    assert in_order(there, here.schema).equals(in_order(here, here.schema))


def test_a_fold_of_an_evaluation_is_counted_alike(
    engines: tuple[Engine, Engine], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its users lie in several files, which stay where a table of Spark is dropped."""
    monkeypatch.setattr(parts, "A_PART", 100)
    counted = []
    for engine in engines:
        original, _ = parts.spill(log, (None, None), (0, 2, 0), SessionCut.of(None), engine)
        assert len(original.files) > 1
        if isinstance(engine, SparkEngine):
            engine.drop(original.log())
        counting = PLANS["zealous"].count(engine, original.log())
        counted.append({name: engine.table(table) for name, table in counting.items()} | original.tables)
    for name, here in counted[0].items():
        assert in_order(counted[1][name], here.schema).equals(in_order(here, here.schema)), name


def test_people_are_put_into_the_same_cohorts(log: Path, spark: str, tmp_path: Path) -> None:
    """What is random, the key and the folder's times, is in neither."""
    period = {"since": datetime(2006, 3, 1), "until": datetime(2006, 6, 1)}
    found = []
    for engine in (None, spark):
        with Groups.bundle(log, tmp_path / str(engine is None), engine=engine, **period) as groups:
            users = sorted(set(pq.read_table(log, columns=["user"])["user"].to_pylist()))
            found.append(({user: groups.place(user) for user in users}, groups.report))
    assert any(found[0][0].values())
    assert found[0] == found[1]
    with pytest.raises(ParameterError, match="engine"):
        Groups.bundle({"a": {"tea": 1.0}}, engine=spark)


KEY = bytes(range(32))
Wrapped = Callable[[Any, Any], tuple[Any, Any]]
"""A frame and what is done to it in the executors, changed by a test."""


pytest.importorskip("pyspark").cloudpickle.register_pickle_by_value(
    sys.modules[__name__]
)  # executors do not have the tests


class FreshRandomness(KeyedRandomness):
    """What must not be: noise of its own at every attempt."""

    def within(self, table: str) -> Any:
        return self

    def addressed(self, purpose: str, items: Any) -> Any:
        from tacit.privacy.noise.randomness import OperatingSystemRandomness

        return OperatingSystemRandomness()


def troubled(trouble: str, partitions: int, seen: Path) -> Wrapped:
    """Trouble in every task that draws noise, after it has drawn it all; ``seen`` gets a file per attempt."""

    def wrapped(frame: Any, change: Any) -> tuple[Any, Any]:
        def work(batches: Any) -> Any:
            import os
            import signal
            import time
            from pathlib import Path

            from pyspark import TaskContext

            task = TaskContext.get()
            assert task is not None
            yield from change(batches)
            place = f"{task.stageId()}-{task.partitionId()}"
            first = not list(seen.glob(f"{place}-*"))  # a stage that is repeated counts attempts anew
            (seen / f"{place}-{task.taskAttemptId()}").touch()
            if first and trouble == "failing":
                raise RuntimeError("the first attempt fails")
            until = time.monotonic() + 120  # of two that are computed at once the second is done first
            while first and task.partitionId() == 0 and trouble == "doubled":
                if time.monotonic() > until or len(list(seen.glob(f"{place}-*"))) > 1:
                    break
                time.sleep(0.05)
            if first and task.partitionId() == 0 and trouble == "killed":
                started = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
                os.kill(int(started[1]), signal.SIGKILL)  # the executor, which started who started us
                time.sleep(60)

        return frame.repartition(partitions), work

    return wrapped


def repeated(seen: Path) -> int:
    """How often a task was computed a second time."""
    attempts = [file.name.rpartition("-")[0] for file in seen.iterdir() if "-" in file.name]
    return len(attempts) - len(set(attempts))


def two_rounds() -> Plan[Any]:
    """Adaptive, of a kind that no other mechanism has, with noise that leaves an odd log some items."""
    plan = Adaptive(epsilon=4.0, delta=1e-5, items=(HeldItem.SESSIONS,), per_user=5).plan()
    rounds = plan.schedule.selection
    assert isinstance(rounds, AdaptiveRounds) and rounds.tally is not None
    first, last = (
        replace(step, sigma=ONE // 8, threshold=ONE) for step in rounds.rounds[:: len(rounds.rounds) - 1]
    )
    tally = replace(rounds.tally, users_sigma=ONE, sigma=ONE // 4, squares_sigma=ONE)
    drawn = replace(rounds, rounds=(replace(first, threshold=3 * ONE), last), tally=tally)
    object.__setattr__(plan, "schedule", replace(plan.schedule, selection=drawn))
    return plan


def counted(engine: Engine, plan: Plan[Any], log: Path) -> Any:
    """Also on DuckDB as relational work."""
    with mock.patch.object(Engine, "holds", return_value=False):
        return plan.count(engine, engine.log(log))


@pytest.fixture(scope="module")
def frozen(engines: tuple[Engine, Engine], log: Path) -> list[tuple[Plan[Any], Any]]:
    """Counts on Spark's side: of two tables whose noise is compared and published, and of adaptive rounds."""
    plans = replace(session_each().mechanism, threshold=2, threshold_clicks=2).plan(), two_rounds()
    return [(plan, counted(engines[1], plan, log)) for plan in plans]


def published(
    engine: Engine, frozen: list[tuple[Plan[Any], Any]], source: KeyedRandomness, wrapped: Wrapped | None
) -> list[pa.Table]:
    usual = SparkEngine.computed
    try:
        if wrapped is not None:

            def computed(self: SparkEngine, frame: Any, change: Any, schema: str) -> Any:
                return usual(self, *wrapped(frame, change), schema)

            SparkEngine.computed = computed  # type: ignore[method-assign]
        return [t for plan, counting in frozen for t in plan.publish(engine, counting, source).values()]
    finally:
        SparkEngine.computed = usual  # type: ignore[method-assign]


@pytest.fixture(scope="module")
def quiet_tables(engines: tuple[Engine, Engine], frozen: Any, log: Path) -> list[pa.Table]:
    """What one key publishes where nothing goes wrong: on Spark what it does on DuckDB."""
    tables = published(engines[1], frozen, KeyedRandomness(KEY, "entry"), None)
    assert all(table.num_rows > 5 for table in tables)
    here = [(plan, counted(engines[0], plan, log)) for plan, _ in frozen]
    assert published(engines[0], here, KeyedRandomness(KEY, "entry"), None) == tables
    return tables


@pytest.mark.parametrize(
    ("trouble", "partitions"), [("failing", 3), ("killed", 2), ("doubled", 2), ("none", 8)]
)
def test_one_key_publishes_the_same_bytes(
    trouble: str,
    partitions: int,
    engines: tuple[Engine, Engine],
    frozen: Any,
    quiet_tables: list[pa.Table],
    tmp_path: Path,
) -> None:
    source = KeyedRandomness(KEY, "entry")
    found = published(engines[1], frozen, source, troubled(trouble, partitions, tmp_path))
    assert trouble == "none" or repeated(tmp_path) >= 4, "no noise was drawn twice"
    assert written(found, tmp_path) == written(quiet_tables, tmp_path)


def written(tables: list[pa.Table], folder: Path) -> list[bytes]:
    """As files of a release."""
    files = []
    for table in tables:
        pq.write_table(table, folder / "table")
        files.append((folder / "table").read_bytes())
    return files


def test_fresh_noise_is_caught(
    engines: tuple[Engine, Engine], frozen: Any, quiet_tables: list[pa.Table], tmp_path: Path
) -> None:
    found = published(engines[1], frozen, FreshRandomness(KEY, "entry"), None)
    assert written(found, tmp_path) != written(quiet_tables, tmp_path)


def test_counts_survive_the_loss_of_an_executor_in_each_stage(
    engines: tuple[Engine, Engine], log: Path, quiet_tables: list[pa.Table], frozen: Any
) -> None:
    """Whoever is counting when a stage begins is killed, twice; what is counted is the same."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    tracker, ended, killed = session.sparkContext.statusTracker(), threading.Event(), set[int]()

    def kill() -> None:
        while not ended.wait(0.01) and len(killed) < 2:
            stages, there = set(tracker.getActiveStageIds()) - killed, executors()
            if stages and there:
                os.kill(there[0], signal.SIGKILL)
                killed.update(stages)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        plan, before = frozen[0]
        counting = plan.count(engines[1], engines[1].log(log))
    finally:
        ended.set()
        killer.join()
    assert killed
    for name in counting:
        first, second = (engines[1].table(found[name]) for found in (before, counting))
        assert in_order(second, first.schema).equals(in_order(first, first.schema))


@pytest.mark.filterwarnings("ignore::tacit.errors.PrivacyWarning")
def test_the_ledger_knows_what_a_release_cost_whatever_ends_it(
    log: Path, spark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is drawn after the charge; one that ends in between is charged, and nothing of it is there."""
    drawn: list[tuple[str, int]] = []
    usual = KeyedRandomness.drawn
    ledger = tmp_path / "ledger"

    def told(entry: str) -> KeyedRandomness:
        drawn.append((entry, len(Ledger(ledger).state().entries)))
        return usual(entry)

    monkeypatch.setattr(KeyedRandomness, "drawn", told)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def release(name: str, said: list[str]) -> Any:
        plan = Zealous(epsilon=8.0, delta=1e-6)
        budget = {"budget_epsilon": 20.0, "budget_delta": 1e-5}
        to = tmp_path / name
        return publish(log, plan, to=to, ledger=ledger, engine=spark, report=said.append, **budget)

    def interrupted(*_: object) -> Any:
        raise KeyboardInterrupt

    said: list[str] = []
    with monkeypatch.context() as broken:
        broken.setattr(SparkEngine, "computed", interrupted)  # what executors lack is known before the charge
        with pytest.raises(KeyboardInterrupt):
            release("lacking", said)
    assert not Ledger(ledger).state().entries
    with monkeypatch.context() as broken:
        broken.setattr(SparkRows, "mapped", interrupted)
        with pytest.raises(KeyboardInterrupt):
            release("lost", said)
    (entry,) = Ledger(ledger).state().entries
    assert drawn == [(entry.hash, 1)], "a key without a charge"
    assert "stays spent" in said[-1] and "Nothing was published" in said[-1]
    assert {path.name for path in tmp_path.iterdir()} == {"ledger"}
    done = release("whole", said)
    assert drawn[1] == (done.entry.hash, 2) and drawn[0] != drawn[1]
    assert all(check.holds for check in verify_release(tmp_path / "whole", ledger))
    assert {path.name for path in tmp_path.iterdir()} == {"ledger", "whole"}


def test_a_killed_driver_leaves_a_charge_and_nothing_else(log: Path, spark: str, tmp_path: Path) -> None:
    """With kill -9 nothing can be tidied: the ledger says what was spent, and the next release clears up."""
    work = tmp_path / "work"
    work.mkdir()
    given = dict(os.environ, TACIT_STATE=str(tmp_path / "state"), TMPDIR=str(work))
    words = ["release", "zealous", str(log)]
    words += "--epsilon 4 --delta 1e-6 --budget-epsilon 9 --budget-delta 1e-5 --engine local[1]".split()
    words += ["--ledger", str(tmp_path / "ledger"), "--output", str(tmp_path / "out")]
    command = [sys.executable, "-m", "tacit", *words]
    with subprocess.Popen(command, env=given, stderr=subprocess.PIPE, text=True) as release:
        assert release.stderr is not None
        assert any("drawing noise" in line for line in release.stderr)
        release.kill()
    assert release.returncode == -signal.SIGKILL
    state = Ledger(tmp_path / "ledger").state()
    assert [entry.standing for entry in state.entries] == ["spent"]
    assert not (tmp_path / "out").exists()
    (left,) = work.glob("tacit-release-*")
    with private_folder(work):
        assert not left.exists(), "raw data of a release that is gone"


def test_another_zone_is_refused(spark: str) -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        with pytest.raises(ParameterError, match="must be UTC"), open_engine(master=spark):
            pass
    finally:
        session.conf.set("spark.sql.session.timeZone", "UTC")
    with pytest.raises(ParameterError, match="has a session already"), open_engine(master="local[2]"):
        pass


def test_what_is_kept_is_private_and_goes(spark: str, tmp_path: Path) -> None:
    with open_engine(master=spark, spill=tmp_path) as engine:
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        kept = engine.keep(engine.load(pa.table({"query": ["tea"]})))
        assert engine.table(kept).to_pylist() == [{"query": "tea"}]
        assert len(list(folder.iterdir())) == 2
        engine.drop(kept)
        assert len(list(folder.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_broken_value_is_not_quoted(spark: str, capfd: pytest.CaptureFixture[str]) -> None:
    with open_engine(master=spark) as engine:
        secret = engine.load(pa.table({"query": ["secret words of a user"]}))
        with pytest.raises(TacitError) as caught:
            engine.table(secret.select(n=secret["query"].cast("int64")))
    time.sleep(0.1)
    assert "secret" not in f"{caught.value}{caught.value.__cause__}{capfd.readouterr()}"
