"""``tacit evaluate release``: complete, private, resumable, uncharged."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats
from tests.evaluate_log import part, with_thesis_tasks
from tests.evaluate_report import CANARY_QUERY, evaluate, write_popular_log

from tacit import InputError, ParameterError, terminal
from tacit.evaluate import task_class
from tacit.evaluate.release import Sensitivity, sensitivity_of
from tacit.evaluate.sweep import ORIGINAL, ReleaseSetting, SweepPlan, grid, run_sweep
from tacit.evaluate.sweep.sweeping import unjudged_tasks
from tacit.release.preparation import Preparation
from tacit.release.registry import MECHANISMS as REGISTERED
from tacit.searchlog import LogWriter, check_log

OPTIONS = ("--epsilon", "0.5", "--epsilon", "64", "--k", "5", "--folds", "2", "--draws", "2")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("evaluated")
    log = write_popular_log(folder / "log.parquet")
    return log, folder / "report", evaluate(log, folder / "report", *OPTIONS)


MECHANISMS = [name for name in REGISTERED if name != "topics"]  # it publishes no queries

NOISE = 0.03
"""By how much a headline measure of so small a log moves from one draw to the next."""


def test_every_mechanism_is_tried_on_every_task(made: tuple[Path, Path, dict[str, Any]]) -> None:
    _, folder, found = made
    anchors = {"nothing", "original"}
    assert {about["mechanism"] for about in found["settings"].values()} == {*anchors, *MECHANISMS}
    assert {result["task"] for result in found["results"]} == set(unjudged_tasks())
    assert set(found["repetitions"].values()) == {2, 4}  # two folds; two draws where there is noise
    budget = [s for s in found["settings"].values() if s["epsilon"] is not None]
    assert all(s["epsilon"] <= s["asked_epsilon"] and s["delta"] <= 1e-6 for s in budget)
    names = {path.name for path in folder.iterdir()}
    assert names == {"report.html", "results.json", "sweep.json", "runs", "data", "charts"}
    assert {p.stem for p in (folder / "data").iterdir()} >= {p.stem for p in (folder / "charts").iterdir()}
    assert found["summary"] and found["advice"].startswith("With 400 people: ")


def test_more_epsilon_gives_more_and_the_original_gives_most(
    made: tuple[Path, Path, dict[str, Any]],
) -> None:
    _, _, found = made
    for task in map(task_class, unjudged_tasks()):
        mine = [r for r in found["results"] if (r["task"], r["measure"]) == (task.name, task.headline)]
        value = {r["setting"]: r["value"] or 0.0 for r in mine}
        original = next(v for key, v in value.items() if found["settings"][key]["mechanism"] == "original")
        for mechanism in MECHANISMS:
            by_budget = {
                about["asked_epsilon"]: value[key]
                for key, about in found["settings"].items()
                if about["mechanism"] == mechanism and about["asked_epsilon"]
            }
            if by_budget:
                # Two draws of noise may be as good as each other; a small part of the budget is never better.
                assert by_budget[0.5] - NOISE <= by_budget[64.0] <= original + NOISE, (task.name, mechanism)


def test_every_release_lies_on_the_scale_from_nothing_to_the_whole_log(
    made: tuple[Path, Path, dict[str, Any]],
) -> None:
    _, folder, found = made
    for task in found["tasks"].values():
        assert 0 <= task["nothing"] <= task["original"] <= 1
        assert len(task["releases"]) == len(found["settings"]) - 2
        for release in task["releases"]:
            assert release["value"] <= task["original"] + NOISE
            if release["low"] is not None:
                assert release["low"] <= release["value"] <= release["high"]
        rows = [
            r for r in found["results"] if r["measure"] == task["measure"] and r["units"] == task["units"]
        ]
        assert {found["settings"][r["setting"]]["mechanism"] for r in rows} >= {"nothing", "original"}
    assert found["tasks"]["suggestion"]["original"] > found["tasks"]["suggestion"]["nothing"]
    page = (folder / "report.html").read_text()
    price = "What one release leaves a user of protection: "
    assert found["advice"] in page
    assert page.index('id="advice"') < page.index(price) < page.index('id="figure-gains"')
    assert page.index('id="figure-gains"') < page.index('id="summary"') < page.index('id="adhoc"')
    assert "all 1 private" not in page and "nothing released" in page


def test_the_advice_is_what_the_runs_on_disk_say(made: tuple[Path, Path, dict[str, Any]]) -> None:
    """From the values of each unit alone: means, both variances, t-tests, a tenth of the gain."""
    _, folder, found = made
    by_setting: dict[str, list[tuple[int, dict[str, np.ndarray]]]] = {}
    for path in sorted((folder / "runs").iterdir()):
        key, fold, _ = path.stem.split("-")
        by_setting.setdefault(key, []).append((int(fold), dict(np.load(path).items())))
    mechanism = {key: about["mechanism"] for key, about in found["settings"].items()}
    [nothing], [original] = (
        [k for k, m in mechanism.items() if m == name] for name in ("nothing", "original")
    )

    def gain(key: str, name: str, users: list[np.ndarray]) -> tuple[float, float]:
        """The mean difference from nothing over all units, and its p."""
        drawn = [np.array([run[name] for at, run in by_setting[key] if at == fold]) for fold in (0, 1)]
        base = [next(run[name] for at, run in by_setting[nothing] if at == fold) for fold in (0, 1)]
        gains = [
            np.nan_to_num(each).mean(axis=0) - np.nan_to_num(none)
            for each, none in zip(drawn, base, strict=True)
        ]
        units = sum(map(len, gains))
        mean = float(np.concatenate(gains).sum() / units)
        sums = np.concatenate([np.bincount(u, each - mean) for u, each in zip(users, gains, strict=True)])
        people = sum(len(np.unique(u)) for u in users)
        sums_of = float((sums**2).sum()) / units**2 * people / (people - 1)
        noise = sum(
            np.nan_to_num(each).mean(axis=1).var(ddof=1) / len(each) * (each.shape[1] / units) ** 2
            for each in drawn
            if len(each) > 1
        )
        draws = sum(len(each) - 1 for each in drawn)
        if sums_of + noise < 1e-24:
            return mean, 0.0 if mean else 1.0
        freedom = (sums_of + noise) ** 2 / (sums_of**2 / (people - 1) + (noise**2 / draws if noise else 0))
        return mean, 2 * float(stats.t.sf(abs(mean) / np.sqrt(sums_of + noise), freedom))

    said: dict[str, list[str]] = {}
    for task in map(task_class, unjudged_tasks()):
        name = f"{task.name}/{task.headline}"
        first = [next(run for at, run in by_setting[nothing] if at == fold) for fold in (0, 1)]
        users = [run.get(f"owners of {task.name}", np.arange(len(run[name]))) for run in first]
        whole, p = gain(original, name, users)
        serves = {}
        for epsilon in (0.5, 64.0):
            at = [k for k, about in found["settings"].items() if about["asked_epsilon"] == epsilon]
            tried = [gain(key, name, users) for key in at]
            serves[epsilon] = any(g >= whole / 10 and p * len(at) < 0.05 for g, p in tried)
        if not (whole > 0 and p < 0.05):
            how = f"{'unclear' if whole > 0 else 'not'} even with the whole log"
        elif serves[0.5] and serves[64.0]:
            how = "from ε = 0.5"
        else:
            how = "not before ε = 64" if serves[64.0] else "not at all up to ε = 64"
        said.setdefault(how, []).append(task.title)
    stated = found["advice"].removeprefix("With 400 people: ").removesuffix(".").split("; ")
    for how, titles in said.items():
        [part_] = [each for each in stated if each.endswith(f" {how}")]
        named = part_.removesuffix(f" {how}").replace(" and ", ", ").split(", ")
        assert sorted(named) == sorted(titles)
    assert len(stated) == len(said) >= 2


def test_without_a_terminal_a_line_says_now_and_then_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "_A_LINE", 0.0)
    with terminal.progress("Judging", unit="runs") as shown:
        shown.reach(3, 10)
        shown.reach(10, 10)
    said = capsys.readouterr().err
    assert said.startswith("Judging: 3 of 10 runs\nJudging: 10 runs in ")


def test_the_report_is_for_its_owner_and_shows_no_text_of_the_log(
    made: tuple[Path, Path, dict[str, Any]],
) -> None:
    log, folder, found = made
    assert found["sensitivity"] == Sensitivity.AS_THE_LOG
    assert "As sensitive as the log itself" in (folder / "report.html").read_text()
    for path in [folder, *folder.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
        if path.is_file() and path.suffix != ".npz":
            text = path.read_text()
            assert CANARY_QUERY not in text and "own words" not in text and ".example" not in text, path
    assert not log.with_name(f"{log.name}.ledger").exists()
    assert [path.name for path in log.parent.iterdir() if path.suffix == ".ledger"] == []


def test_it_goes_on_where_it_was_stopped(made: tuple[Path, Path, dict[str, Any]]) -> None:
    log, folder, found = made
    runs = {path: path.stat().st_mtime_ns for path in (folder / "runs").iterdir()}
    lost = sorted(runs)[0]
    lost.unlink()
    again = evaluate(log, folder, *OPTIONS)
    now = {path: path.stat().st_mtime_ns for path in (folder / "runs").iterdir()}
    assert now.keys() == runs.keys()
    assert [path for path in runs if now[path] != runs[path]] == [lost]
    assert again["settings"] == found["settings"]


def test_killed_it_leaves_whole_runs_and_goes_on(tmp_path: Path) -> None:
    log, folder = write_popular_log(tmp_path / "log.parquet", 120), tmp_path / "report"
    command = [sys.executable, "-m", "tacit", "evaluate", "release", str(log), "-o", str(folder)]
    options = ["--mechanism", "zealous", "--task", "adhoc", "--workers", "1"]
    process = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list(folder.glob("runs/*.npz")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = {path.name for path in folder.glob("runs/*.npz")}
    assert before and not (folder / "report.html").exists()
    found = evaluate(log, folder, *options)
    assert (folder / "report.html").exists()
    assert before <= {path.name for path in folder.glob("runs/*.npz")}
    assert sum(found["repetitions"].values()) == 85  # two anchors, three draws of five budgets, on five folds
    assert not list(folder.rglob(".*partial*"))


def test_stopped_it_says_what_is_kept(tmp_path: Path) -> None:
    log, folder = write_popular_log(tmp_path / "log.parquet", 120), tmp_path / "report"
    command = [sys.executable, "-m", "tacit", "evaluate", "release", str(log), "-o", str(folder)]
    options = ["--mechanism", "zealous", "--task", "adhoc", "--workers", "2"]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not list(folder.glob("runs/*.npz")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=100)
    assert process.returncode == 130
    kept = len(list(folder.glob("runs/*.npz")))
    assert f"{kept} runs are kept; the same command resumes" in said
    assert "Traceback" not in said


def test_noise_well_below_the_threshold_keeps_what_both_can_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_thesis_tasks(monkeypatch)
    log = write_popular_log(tmp_path / "log.parquet", 400)
    options = {"noise": 0.5, "threshold": 8, "queries_per_user": 70, "mode": "approximate"}
    plan = SweepPlan(
        (ORIGINAL, ReleaseSetting("click", options)), ("thesis-adhoc", "thesis-session-search"), folds=2
    )
    results = run_sweep(log, tmp_path / "report", plan)
    for task in ("thesis-adhoc", "thesis-session-search"):
        original, private = results.of(task, "random walk: nDCG@10").values()
        assert private.answered * private.units >= 8
        assert private.where_answered == pytest.approx(original.where_answered, abs=0.02), task


def test_two_processes_find_what_one_finds(tmp_path: Path) -> None:
    log = write_popular_log(tmp_path / "log.parquet", 120)
    plan = SweepPlan((ORIGINAL, ReleaseSetting("k-query", {"k": 5})), ("adhoc", "statistics"), folds=2)
    one, two = (run_sweep(log, tmp_path / f"by-{n}", plan, workers=n) for n in (1, 2))
    assert [(r.task, r.measure, r.value) for r in one.results if r.value == r.value] == [
        (r.task, r.measure, r.value) for r in two.results if r.value == r.value
    ]


def test_what_cannot_be_is_refused_before_any_work(tmp_path: Path) -> None:
    log = write_popular_log(tmp_path / "log.parquet", 40)
    plan = SweepPlan((ORIGINAL,), ("statistics",), folds=2)
    run_sweep(log, tmp_path / "report", plan)
    other = write_popular_log(tmp_path / "other.parquet", 41)
    with pytest.raises(InputError, match="holds a sweep with another log"):
        run_sweep(other, tmp_path / "report", plan)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="holds no sweep to resume"):
        run_sweep(log, tmp_path / "full", plan)
    with pytest.raises(InputError, match="nowhere does not exist"):
        run_sweep(log, tmp_path / "nowhere" / "report", plan)
    with pytest.raises(ParameterError, match="the mechanism must be one of"):
        grid(["zealot"])
    with pytest.raises(ParameterError, match="the task must be one of"):
        SweepPlan((ORIGINAL,), ("adhock",))
    with pytest.raises(ParameterError, match="at least 2; found 1"):
        SweepPlan((ORIGINAL,), folds=1)
    pq.write_table(pq.read_table(log).slice(0, 2), tmp_path / "one.parquet")
    with pytest.raises(InputError, match="5 folds of users need as many users; the log has 1") as refused:
        run_sweep(tmp_path / "one.parquet", tmp_path / "nothing", SweepPlan((ORIGINAL,)))
    assert refused.value.remedy == "Use a log of more people."  # no number of folds is small enough
    pq.write_table(pq.read_table(log).slice(0, 0), tmp_path / "empty.parquet")
    for since, said in (
        (None, "no searches with words, so"),
        (datetime(2006, 1, 1), "words of that period, so"),
    ):
        period = SweepPlan((ORIGINAL,), folds=2, preparation=Preparation(since=since))
        with pytest.raises(InputError, match=f"{said} there is nothing to evaluate"):
            run_sweep(tmp_path / "empty.parquet", tmp_path / "nothing", period)


def test_a_synthetic_log_says_so_and_its_report_may_be_shared(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "synthetic.parquet", origin="synthetic") as writer:
        for batch in part(("ann", 0, "java", None, None)).records.to_batches():
            writer.write(batch)
    check_log(tmp_path / "synthetic.parquet")
    assert sensitivity_of(tmp_path / "synthetic.parquet") is Sensitivity.SHAREABLE
    private = write_popular_log(tmp_path / "log.parquet", 40)
    assert sensitivity_of(private) is Sensitivity.AS_THE_LOG
    assert sensitivity_of(private, declared_synthetic=True) is Sensitivity.SHAREABLE
