"""A series tried in memory: the plan's forecast and `tacit evaluate series`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.in_process import tacit as run

import tacit
from tacit.privacy.arithmetic import ROUNDING
from tacit.release import forecast
from tacit.release.forecast import foresee, in_words
from tacit.release.series.trial import AskedByWeek, carry_out, in_units_of, read_stream
from tacit.world.synth import SyntheticLog


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trial") / "log.parquet"
    SyntheticLog(600, seed=11, weeks=4).write(path)
    return path


def test_a_stream_is_the_log_cut_into_weeks_with_new_queries(log: Path) -> None:
    stream = read_stream(log, 4, risers=4, seed=1)
    plain = read_stream(log, 4)
    for week, (pairs, before) in enumerate(zip(stream.weeks, plain.weeks, strict=True)):
        assert len(np.unique(pairs)) == len(pairs)
        old = pairs[pairs.astype(np.int32) < plain.words.size]
        assert np.array_equal(old, before)
        assert (len(old) < len(pairs)) == (week >= 2)
    asked = stream.weeks[2].astype(np.int32)
    active = np.unique(plain.weeks[2] >> 32).size
    for item, share in stream.risers.items():
        assert abs((asked == item).sum() - share * active) < 8 * (share * active + 1) ** 0.5


def test_with_next_to_no_noise_counts_and_changes_are_right(log: Path) -> None:
    """So the errors that are told are those of noise and clipping, not of the comparison."""
    rounds = tacit.Series(weeks=4, epsilon=30, delta=1e-3, count_every=1).plan().rounds
    assert rounds.tally is not None
    tally = replace(rounds.tally, sigma=ROUNDING + 1, gain=rounds.tally.gain * 64)
    exact = replace(in_units_of(rounds, 50), tally=tally)
    found = carry_out(read_stream(log, 4), exact)
    assert found.by_week == sorted(found.by_week)
    assert found.errors[0] < 0.02
    assert found.errors[2] < 0.02
    assert abs(found.bias) < 0.02
    noisy = carry_out(read_stream(log, 4), rounds)
    assert noisy.errors[0] > found.errors[0]


def test_twice_the_users_are_half_the_noise(log: Path) -> None:
    """Everybody twice under the same rounds finds what everybody once does in units of two."""
    once = read_stream(log, 4)
    pairs = [np.concatenate([week, week + (once.users << 32)]) for week in once.weeks]
    twice = AskedByWeek(2 * once.users, once.words, pairs)
    rounds = tacit.Series(weeks=4, epsilon=8, delta=1e-3, count_every=2).plan().rounds
    assert in_units_of(rounds, 1) == rounds
    doubled, halved = (
        carry_out(twice, rounds).by_week[-1],
        carry_out(once, in_units_of(rounds, 2)).by_week[-1],
    )
    assert abs(doubled - halved) < 7 * doubled**0.5
    assert carry_out(once, rounds).by_week[-1] < 0.7 * halved


def test_a_plan_foresees_a_series_week_by_week(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "_SERIES_WORLD", 1_000)
    asked = tacit.Series(weeks=3, epsilon=8, delta=1e-4, count_every=1)
    few, many = foresee(asked, 500), foresee(asked, 20_000)
    assert len(many.by_week) == 3
    assert few.by_week[-1] < many.by_week[0] < many.by_week[-1] == many.rows["queries"]
    assert 0 < many.errors[0] < few.errors[0] <= 1
    assert f"{many.by_week[0]:,} by week 1" in in_words(many)
    assert many.to_dict()["expected_by_week"] == list(many.by_week)


def test_evaluating_a_series_compares_it_with_both_other_ways(log: Path) -> None:
    options = ["--weeks", "4", "--epsilon", "40", "--delta", "1e-3", "--count-every", "2", "--new", "4"]
    told = json.loads(run("evaluate", "series", str(log), *options, "--json").stdout)
    (row,) = told["ways"]
    assert row["weekly"] < row["series"] < 2 * row["end"]
    assert row["by_week"][-1] == row["series"]
    assert len(row["by_week"]) == len(row["weekly_by_week"]) == 4
    assert 0 < row["top_50"] <= row["top_200"] <= 1  # both 1 where too few of so short a log are found
    assert row["delay_2.00%"] in (0, 1)
    made = tacit.evaluate_series(log, weeks=3, epsilons=[8.0, 20.0], delta=1e-3, new=0)
    assert [each["epsilon"] for each in made["ways"]] == [8.0, 20.0]
    (figure,) = made.figures
    drawn = {(point["panel"], point["series"], point["x"]) for point in figure.chart["data"]["values"]}
    assert len(drawn) == 2 * 2 * 3
