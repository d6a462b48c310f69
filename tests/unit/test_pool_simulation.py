"""The simulation keeps to the paper's traffic, and its figures to what was found before."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tacit.commands import application
from tacit.errors import ParameterError
from tacit.pool.protocol.table import Table
from tacit.pool.simulation.population import adult
from tacit.pool.simulation.traffic import Simulated, SimulationSetting, groups_of, simulate
from tacit.pool.simulation.verification import verify_log

PAPER = SimulationSetting(windows=50)
RUNNER = CliRunner()


def mean(runs: list[Simulated], name: str) -> float:
    return float(np.mean([getattr(run, name) for run in runs]))


@pytest.fixture(scope="module")
def default_runs() -> list[Simulated]:
    return [simulate(replace(PAPER, seed=seed), adult(), keep_log=seed == 1) for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def paper_runs() -> list[Simulated]:
    return [
        simulate(replace(PAPER, mode="paper", seed=seed), adult(), keep_log=seed == 1) for seed in (1, 2, 3)
    ]


def test_the_default_loses_little_and_leaves_few_without_a_group(default_runs: list[Simulated]) -> None:
    assert mean(default_runs, "information_loss") <= 0.03
    assert mean(default_runs, "ncp") <= 0.38
    assert mean(default_runs, "unregistered") <= 0.01
    assert mean(default_runs, "forced_expired") <= 0.005


def test_the_papers_mode_comes_near_the_papers_figures(paper_runs: list[Simulated]) -> None:
    assert 0.02 <= mean(paper_runs, "information_loss") <= 0.05
    assert 0.004 <= mean(paper_runs, "unregistered") <= 0.015
    assert mean(paper_runs, "forced_unregistered") <= 0.005
    assert 0.02 <= mean(paper_runs, "forced_expired") <= 0.06  # taken literally, far above Table 1


@pytest.mark.parametrize("runs", ["default_runs", "paper_runs"])
def test_nobody_who_used_a_region_is_identified(runs: str, request: pytest.FixtureRequest) -> None:
    run: Simulated = request.getfixturevalue(runs)[0]
    assert run.log is not None and len(run.log) > 100_000
    verdict = verify_log(run.log, PAPER.k, PAPER.window)
    assert verdict.holds and verdict.fewest == PAPER.k
    assert verify_log(run.log, PAPER.k, 1.0).identified > 0  # an attacker with a better clock


@pytest.mark.parametrize("mode", ["default", "paper"])
def test_thin_traffic_and_leavers_keep_definition_2_in_default_mode(mode: str) -> None:
    """At three arrivals a unit groups come and go; without rule R, the default would fail here."""
    setting = SimulationSetting(
        arrivals=3.0,
        windows=120,
        leavers="answer",
        mode=mode,
        seed=5,  # type: ignore[arg-type]
    )
    found = simulate(setting, adult(), keep_log=True)
    assert found.log is not None
    verdict = verify_log(found.log, setting.k, setting.window)
    if mode == "default":
        assert verdict.holds, verdict


def test_more_people_and_smaller_groups_lose_less() -> None:
    few = replace(PAPER, windows=15)
    by_arrivals = [simulate(replace(few, arrivals=a), adult()).information_loss for a in (10.0, 50.0, 200.0)]
    assert by_arrivals == sorted(by_arrivals, reverse=True)
    by_k = [simulate(replace(few, k=k), adult()).information_loss for k in (5, 20, 50)]
    assert by_k == sorted(by_k)
    answering = replace(few, leavers="answer")
    by_window = [
        simulate(replace(answering, window=w), adult()).information_loss for w in (30.0, 70.0, 110.0)
    ]
    assert by_window == sorted(by_window, reverse=True)


def test_the_log_changes_nothing_and_seeds_repeat() -> None:
    short = replace(PAPER, windows=3)
    assert simulate(short, adult()).as_dict() == simulate(short, adult(), keep_log=True).as_dict()
    assert simulate(short, adult()).as_dict() != simulate(replace(short, seed=9), adult()).as_dict()


def test_a_crowd_decides_as_agents_do() -> None:
    random = np.random.default_rng(3)
    records = np.stack([random.integers(0, 10, 60), random.integers(0, 5, 60)], axis=1).astype(np.uint16)

    def boxes(number: int) -> np.ndarray:
        low = np.stack([random.integers(0, 10, number), random.integers(0, 5, number)], axis=1)
        high = np.minimum(low + random.integers(0, 6, (number, 2)), [9, 4])
        return np.stack([low, high], axis=1)

    for trial in range(60):
        regions = boxes(int(random.integers(0, 6)))
        primed = random.random(len(regions)) < 0.3
        table = Table(
            trial,
            regions,
            np.full(len(regions), 9),
            boxes(int(random.integers(0, 3))),
            trial % 5 == 0,
            primed,
        )
        assert groups_of(records, table).tolist() == [table.group_of(r) for r in records.tolist()]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"overlap": 0.7}, "at most 0.5"),
        ({"arrivals": 0.0}, "arrivals must be above 0"),
        ({"stay": -1.0}, "stay must be above 0"),
        ({"windows": 0}, "windows must be a whole number, 1 or more; found 0"),
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
    arguments += ["--arrivals", "20", "--windows", "4", "--seeds", "2", "--verify"]
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
    } <= set(found)
    assert found["verified"]["definition_2_violations"] == 0
    assert (tmp_path / "log.parquet").stat().st_mode & 0o077 == 0
    again = RUNNER.invoke(application(), arguments)
    assert again.exit_code != 0 and "exists already" in str(again.exception)
    assert RUNNER.invoke(application(), ["simulate", "--users", str(people)]).exit_code != 0
