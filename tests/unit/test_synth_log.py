"""The synthetic log as files: deterministic, whole or absent, counted truly."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tacit import ParameterError
from tacit.commands import application
from tacit.searchlog import check_log
from tacit.taxonomy import load_wordnet
from tacit.world import wordnet_engine
from tacit.world.loops.queries import PAUSE
from tacit.world.synth import BEGINNING, Factory, SyntheticLog, load_results

MANY = SyntheticLog(9000, seed=5, weeks=1)  # three blocks of users


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("synth") / "log.parquet"
    MANY.write(path, path.with_name("truth.parquet"), threads=1)
    return path


def test_the_number_of_threads_changes_no_byte(written: Path, tmp_path: Path) -> None:
    for threads in (2, 5):
        MANY.write(tmp_path / "log.parquet", tmp_path / "truth.parquet", threads=threads)
        assert (tmp_path / "log.parquet").read_bytes() == written.read_bytes()
        assert (tmp_path / "truth.parquet").read_bytes() == written.with_name("truth.parquet").read_bytes()


def test_another_seed_gives_another_log(written: Path) -> None:
    other = SyntheticLog(50, seed=6, weeks=1).table()
    assert other["query"].to_pylist() != pq.read_table(written)["query"].to_pylist()[: len(other)]


def test_the_report_counts_what_is_in_the_file(written: Path, tmp_path: Path) -> None:
    outcome = MANY.write(tmp_path / "log.parquet")
    path = check_log(tmp_path / "log.parquet")
    counted = duckdb.sql(
        f"select count(distinct user), count(*), count(rank), count(distinct query) from '{path}'"
    ).fetchall()[0]
    got = outcome
    assert counted == (got.users, got.records, got.clicks, got.distinct_queries)


@pytest.mark.parametrize(("records", "weeks"), [(770, 1), (10_010, 13)])
def test_the_busiest_users_still_take_breaks(records: int, weeks: int) -> None:
    block = Factory(seed=4, weeks=weeks, sensitive_share=0.0).make(0, np.full(20, records))
    assert len(block.log) == 20 * records
    seconds = block.log["time"].to_numpy().astype("datetime64[s]").astype(np.int64)
    meant = np.flatnonzero(block.rows[block.of_row][:, PAUSE] == 0)
    pauses = np.diff(seconds)
    users = block.log["user"].to_numpy(zero_copy_only=False)
    within = users[1:] == users[:-1]
    assert (pauses[within] >= 0).all()
    assert set(np.flatnonzero(within & (pauses > 1800)) + 1) <= set(meant)
    sessions = np.count_nonzero(within & (pauses > 1800)) + 20
    assert sessions == np.count_nonzero(block.rows[:, PAUSE] == 0)
    last = np.timedelta64(weeks * 7, "D") + np.datetime64(BEGINNING)
    assert block.log["time"].to_numpy().max() < last


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """A file may not grow beyond a limit here, as if the disk were full."""
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
        "sys.argv = ['tacit', *sys.argv[1:]]; from tacit.commands import main; main()"
    )
    output = tmp_path / "log.parquet"
    arguments = ["synth", "--users", "2000", "-o", str(output), "--truth", str(tmp_path / "truth.parquet")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("error:")
    assert list(tmp_path.iterdir()) == []


def test_one_user_is_a_log(tmp_path: Path) -> None:
    outcome = SyntheticLog(1, seed=3).write(tmp_path / "one.parquet")
    assert pq.read_schema(tmp_path / "one.parquet").metadata[b"tacit.origin"] == b"synthetic"
    assert outcome.users == 1
    assert outcome.records >= 1


@pytest.mark.parametrize(
    "wrong",
    [{"users": 0}, {"users": 1, "seed": -1}, {"users": 1, "weeks": 0}, {"users": 1, "sensitive_share": 1.1}],
)
def test_numbers_outside_their_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="must be"):
        SyntheticLog(**wrong)  # type: ignore[arg-type]


def test_every_noun_has_the_engines_results() -> None:
    results, nouns, engine = load_results(), load_wordnet().vocabulary, wordnet_engine()
    assert results.shape == (len(nouns), 20)
    assert (results[:, 0] >= 0).all()
    for number in range(0, len(nouns), 1009):
        found = [hit.document for hit in engine.search(nouns[number], 20)]
        assert results[number].tolist() == found + [-1] * (20 - len(found))


def test_a_damaged_cache_is_made_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    good = load_results()
    monkeypatch.setattr("tacit.world.synth.cache_directory", lambda: tmp_path)
    monkeypatch.setattr("tacit.world.synth._ask", lambda: good)
    load_results.__wrapped__()
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:1000])
    assert (load_results.__wrapped__() == good).all()
    assert kept.stat().st_size > good.nbytes


def test_log_and_truth_are_two_files(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="same file"):
        SyntheticLog(1).write(tmp_path / "log.parquet", tmp_path / "log.parquet")
    assert list(tmp_path.iterdir()) == []


def test_the_command_reports_in_json_and_in_words(tmp_path: Path) -> None:
    path = str(tmp_path / "log.parquet")
    arguments = ["synth", "--users", "30", "--seed", "2", "-o", path]
    result = CliRunner().invoke(application(), [*arguments, "--json"])
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["calibration"]["users"] == {"target": 30, "got": 30}
    assert found["calibration"]["records"]["got"] == pq.read_metadata(path).num_rows
    told = CliRunner().invoke(application(), [*arguments, "--report", "--force"])
    assert "distinct queries" in told.stdout
    assert "target" in told.stdout


def test_stopping_leaves_nothing(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tacit",
        "synth",
        "--users",
        "500000",
        "-o",
        str(tmp_path / "log.parquet"),
    ]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, env=os.environ)
    deadline = time.monotonic() + 60
    while not any(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 130
    assert list(tmp_path.iterdir()) == []
