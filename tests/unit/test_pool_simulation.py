"""The simulation keeps to the paper's traffic, and its figures to what was found before."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tacit import ParameterError
from tacit.commands import application
from tacit.pool.protocol.population import adult
from tacit.pool.simulation import traffic
from tacit.pool.simulation.traffic import PoolSimulation, SimulationSetting, draw_stream, simulate
from tacit.pool.simulation.verification import verify_log

PAPER = SimulationSetting(windows=2)
RUNNER = CliRunner()


def mean(runs: list[PoolSimulation], name: str) -> float:
    return float(np.mean([getattr(run, name) for run in runs]))


@pytest.fixture(scope="module")
def default_run() -> PoolSimulation:
    return simulate(PAPER, adult())


@pytest.fixture(scope="module")
def paper_runs() -> list[PoolSimulation]:
    setting = replace(PAPER, mode="paper", every=None, windows=30)
    return [simulate(replace(setting, seed=seed), adult()) for seed in (1, 2)]


def test_at_the_papers_traffic_little_is_lost_and_everybody_is_answered(default_run: PoolSimulation) -> None:
    assert default_run.information_loss <= 0.03
    assert default_run.ncp <= 0.38
    assert default_run.unregistered <= 0.01 and default_run.answered >= 0.99
    assert default_run.forced_expired == default_run.forced_unregistered == 0
    assert default_run.delay_median == 0 and default_run.breaches == 0


def test_the_papers_mode_comes_near_the_papers_figures(paper_runs: list[PoolSimulation]) -> None:
    assert 0.02 <= mean(paper_runs, "information_loss") <= 0.05
    assert 0.004 <= mean(paper_runs, "unregistered") <= 0.015
    assert mean(paper_runs, "forced_unregistered") <= 0.005
    assert 0.02 <= mean(paper_runs, "forced_expired") <= 0.06  # taken literally, far above Table 1


def test_nobody_who_used_a_region_is_identified(
    default_run: PoolSimulation, paper_runs: list[PoolSimulation]
) -> None:
    for run in (default_run, paper_runs[0]):
        assert len(run.log) > 25_000
        verdict = verify_log(run.log, PAPER.k, PAPER.window)
        assert verdict.holds and verdict.fewest == PAPER.k
        assert verify_log(run.log, PAPER.k, 10.0).identified > 0  # an attacker with a better clock


SPARSE = SimulationSetting(window=120.0, people=200, every=200.0, windows=15, seed=5)


@pytest.mark.parametrize(
    ("change", "answered"),
    [
        ({}, (0.95, 1.0)),
        ({"people": 60}, (0.5, 1.0)),
        ({"people": 60, "every": 600.0}, (0.0, 0.0)),  # k people do not ask within w: nothing can go out
        ({"people": 60, "every": 600.0, "window": 600.0, "windows": 5}, (0.8, 1.0)),
        ({"patience": 0.0}, (0.0, 0.0)),  # nobody waits, so nobody is the first
        ({"stay": 1_800.0, "away": 1_800.0, "people": 400}, (0.9, 1.0)),
        ({"burst": 4.0, "people": 600}, (0.8, 1.0)),
        ({"window": 1e6, "every": 1e6, "windows": 1}, (0.9, 1.0)),  # longer than any day, and a short run
        ({"patience": 1e9, "windows": 2}, (0.9, 1.0)),
    ],
)
def test_sparse_traffic_is_answered_or_not_and_never_breached(
    change: dict[str, Any], answered: tuple[float, float]
) -> None:
    found = simulate(replace(SPARSE, **({"patience": None} | change)), adult())
    assert found.breaches == 0
    assert answered[0] <= found.answered <= answered[1]


def test_more_people_smaller_k_and_longer_windows_lose_less() -> None:
    few = replace(SPARSE, windows=4, people=400, every=60.0)

    def loss(**change: Any) -> float:
        return simulate(replace(few, **change), adult()).information_loss

    assert loss(people=200) > loss() > loss(people=1_000)
    assert loss(k=5) < loss() < loss(k=60)
    assert loss(window=60.0) > loss() > loss(window=360.0)


def test_seeds_repeat() -> None:
    short = replace(SPARSE, windows=3)
    assert simulate(short, adult()).as_dict() == simulate(short, adult()).as_dict()
    assert simulate(short, adult()).as_dict() != simulate(replace(short, seed=9), adult()).as_dict()


def test_people_ask_as_often_as_is_said() -> None:
    setting = SimulationSetting(window=100.0, people=500, every=50.0, windows=9)
    for change in ({}, {"burst": 5.0}, {"stay": 300.0, "away": 300.0}):
        stream = draw_stream(replace(setting, **change), adult(), np.random.default_rng(1))  # type: ignore[arg-type]
        expected = 500 * 1_000 / 50 * (0.5 if "away" in change else 1.0)
        assert 0.85 * expected <= len(stream.time) <= 1.1 * expected
        assert (np.diff(stream.time) >= 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"overlap": 0.7}, "at most 0.5"),
        ({"arrivals": 0.0}, "arrivals must be above 0"),
        ({"stay": -1.0}, "stay must be above 0"),
        ({"windows": 0}, "windows must be a whole number, 1 or more; found 0"),
        ({"every": 0.0}, "every must be above 0"),
        ({"burst": 0.5}, "burst must be at least 1"),
        ({"mode": "best"}, "mode must be one of default, paper; found 'best'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        replace(PAPER, **change)  # type: ignore[arg-type]


def test_the_command_prints_verifies_and_writes(tmp_path: Path) -> None:
    people, template = tmp_path / "people.csv", tmp_path / "template.toml"
    people.write_text("x\n" + "\n".join(str(number % 40) for number in range(200)) + "\n")
    template.write_text('[[attribute]]\nname = "x"\nlow = 0\nhigh = 39\n')
    arguments = ["simulate", "--users", str(people), "--template", str(template), "--k", "5"]
    arguments += ["--arrivals", "5", "--windows", "4", "--seeds", "2"]
    arguments += ["--log", str(tmp_path / "log.parquet"), "--json"]
    done = RUNNER.invoke(application(), arguments)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert {
        "information_loss",
        "ncp",
        "unregistered",
        "forced_expired",
        "forced_unregistered",
        "groups",
        "breaches",
        "answered",
        "delay_median",
        "every",
    } <= set(found)
    assert found["breaches"] == 0
    assert (tmp_path / "log.parquet").stat().st_mode & 0o077 == 0
    again = RUNNER.invoke(application(), arguments)
    assert again.exit_code != 0 and "exists already" in str(again.exception)
    assert RUNNER.invoke(application(), ["simulate", "--users", str(people)]).exit_code != 0


QUIET = SimulationSetting(k=8, window=100.0, people=50, every=400.0, windows=12, patience=30.0)


def test_what_a_pool_that_counts_too_few_lets_out_shows_as_breaches(monkeypatch: pytest.MonkeyPatch) -> None:
    assert simulate(QUIET, adult()).breaches == 0
    usual = traffic.QueryCounter
    monkeypatch.setattr(
        traffic, "QueryCounter", lambda tree, rules, **more: usual(tree, replace(rules, k=2), **more)
    )
    run = simulate(replace(QUIET, people=24), adult())
    found = {7: 0, 8: 0, 9: 0}
    for record, time in zip(run.log.record, run.log.time, strict=True):
        match = ((run.log.low <= record) & (record <= run.log.high)).all(axis=1)
        people = len(np.unique(run.log.sender[match & (np.abs(run.log.time - time) <= QUIET.window)]))
        found = {k: number + (people < k) for k, number in found.items()}
    assert found[7] < run.breaches == found[8] < found[9], found


def test_nothing_is_sent_for_people_whose_patience_is_over() -> None:
    run = simulate(QUIET, adult())
    stream = draw_stream(QUIET, adult(), np.random.default_rng(QUIET.seed))
    waited = 0
    for sender, time in zip(run.log.sender, run.log.time, strict=True):
        asked = stream.time[stream.asker == sender]
        since = (time - asked[asked <= time]).min()
        waited += since > 1.0
        assert since <= QUIET.patience, "it was sent after the person had gone"
    assert waited > 10 and 0 < run.answered < 1
