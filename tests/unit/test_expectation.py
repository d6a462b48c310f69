"""What a release can be expected to publish: from public figures alone, near the truth, and before any
charge.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np
import pytest
from tests.drawn import SeededRandomness

from tacit import Adaptive, InfeasibleError, KQuery, Zealous
from tacit.engines import open_engine
from tacit.release import forecast
from tacit.release.mechanisms.adaptive import HeldItem
from tacit.world.synth import SyntheticLog


@pytest.fixture(scope="module")
def small_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("world") / "world.parquet"
    SyntheticLog(400, seed=5).write(path)
    return path


@pytest.fixture(autouse=True)
def _world(monkeypatch: pytest.MonkeyPatch, small_world: Path) -> None:
    monkeypatch.setattr(forecast, "WORLDS", (400,))
    monkeypatch.setattr(forecast, "_world", lambda _size, _report: small_world)


def test_the_expectation_is_near_what_another_log_publishes(tmp_path: Path) -> None:
    made = Zealous(epsilon=20.0, delta=1e-3)
    found = forecast.expected_rows(made, 400)
    assert found is not None
    SyntheticLog(400, seed=6).write(tmp_path / "log.parquet")
    plan = made.plan()
    with open_engine(threads=1) as engine:
        counting = plan.count(engine, engine.log(tmp_path / "log.parquet"))
        drawn = [plan.publish(engine, counting, SeededRandomness(n))["queries"].num_rows for n in range(20)]
    assert statistics.fmean(drawn) / 2 < found["queries"] < statistics.fmean(drawn) * 2
    assert statistics.fmean(drawn) > 5


def test_a_log_is_judged_by_one_of_at_least_a_third_of_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "WORLDS", (10_000, 100_000))
    judged = {users: forecast._world_for(users) for users in (1, 30_000, 30_001, 300_000, 657_426)}
    assert judged == {1: 10_000, 30_000: 10_000, 30_001: 100_000, 300_000: 100_000, 657_426: 100_000}
    assert "judged by a log of 100,000 users" in forecast.in_words(
        forecast.Foreseen(657_426, {"queries": 9.0})
    )
    assert "rough" not in forecast.in_words(forecast.Foreseen(300_000, {"queries": 9.0}))


def test_more_users_and_more_epsilon_give_more() -> None:
    few = forecast.expected_rows(Zealous(epsilon=4.0, delta=1e-3), 200)
    many = forecast.expected_rows(Zealous(epsilon=4.0, delta=1e-3), 2_000)
    strict = forecast.expected_rows(Zealous(epsilon=0.5, delta=1e-3), 2_000)
    assert few and many and strict
    assert few["queries"] < many["queries"] > strict["queries"]


def test_the_chance_to_pass_is_that_of_a_binomial_number_with_noise() -> None:
    part = next(iter(Zealous(noise=2.0, threshold_1=1, threshold_2=12, per_user=1).plan().schedule))
    random = np.random.default_rng(3)
    a = np.exp(-1 / 2.0)
    for count, share in ((1, 0.5), (20, 0.5), (30, 0.4), (3_000, 0.004), (12, 1.0), (4, 3.0)):
        users = (
            random.binomial(count, share, 200_000) if share < 1 else np.full(200_000, round(count * share))
        )
        noise = random.geometric(1 - a, 200_000) - random.geometric(1 - a, 200_000)
        simulated = ((users >= 1) & (users + noise >= 12)).mean()
        (found,) = forecast._passes(part, np.array([count]), share)
        assert found == pytest.approx(simulated, abs=0.006)  # five standard errors


def test_a_release_without_a_row_is_refused_before_the_charge() -> None:
    made = Zealous(epsilon=0.01, delta=1e-9)
    expected = forecast.expected_rows(made, 100)
    with pytest.raises(InfeasibleError, match="even_if_empty"):
        forecast.refuse_if_empty(expected, 100)
    forecast.refuse_if_empty(forecast.expected_rows(KQuery(k=2), 400), 400)


@pytest.mark.parametrize("users", [200, 400, 1_200])
def test_an_adaptive_release_is_foreseen_by_its_rounds(users: int, tmp_path: Path) -> None:
    """Near the mean of releases of another log of that size; 1,200 users are three times the world's."""
    made = Adaptive(epsilon=16.0, delta=1e-3, items=(HeldItem.KEYWORDS,))
    found = forecast.expected_rows(made, users)
    assert found is not None and set(found) == {"keywords"}
    SyntheticLog(users, seed=6).write(tmp_path / "log.parquet")
    plan = made.plan()
    with open_engine(threads=1) as engine:
        counting = plan.count(engine, engine.log(tmp_path / "log.parquet"))
        drawn = [plan.publish(engine, counting, SeededRandomness(n))["keywords"].num_rows for n in range(5)]
    assert statistics.fmean(drawn) > 10
    assert statistics.fmean(drawn) / 1.6 < found["keywords"] < statistics.fmean(drawn) * 1.6


def test_an_adaptive_release_of_too_few_users_is_refused() -> None:
    made = Adaptive(epsilon=0.1, delta=1e-9)
    with pytest.raises(InfeasibleError, match="next to nothing"):
        forecast.refuse_if_empty(forecast.expected_rows(made, 50), 50)


def test_deviation_and_range_of_an_adaptive_release_are_foreseen(tmp_path: Path) -> None:
    """Another synthetic log of that size: rows in the range each time, the deviation within a factor 1.3."""
    made = Adaptive(epsilon=16.0, delta=1e-3, items=(HeldItem.KEYWORDS,))
    found = forecast.foresee(made, 400)
    (low, high), rows = found.ranges["keywords"], found.rows["keywords"]
    assert low < rows < high
    SyntheticLog(400, seed=6).write(tmp_path / "log.parquet")
    plan = made.plan()
    with open_engine(threads=1) as engine:
        counting = plan.count(engine, engine.log(tmp_path / "log.parquet"))
        drawn = [plan.publish(engine, counting, SeededRandomness(n))["keywords"] for n in range(8)]
    assert all(low <= table.num_rows <= high for table in drawn)
    shown = statistics.median(
        value for table in drawn for value in table.column("deviation").to_pylist() if value is not None
    )
    assert found.deviation is not None and found.deviation / 1.3 - 1 < shown < found.deviation * 1.3 + 1
    assert set(found.to_dict()) >= {"expected_range", "expected_deviation", "people_needed"}


def test_few_rows_are_handed_over_to_topics_and_keywords() -> None:
    few = forecast.in_words(forecast.Foreseen(300, {"queries": 1.2}, {"queries": (0, 4)}, 12.0, 58.7))
    assert "tacit plan topics" in few and "--item keywords" in few
    assert "about 59 people" in few and "(0 to 4)" in few
    many = forecast.in_words(forecast.Foreseen(5000, {"queries": 59.0}, {"queries": (35, 84)}, 17.0, 58.7))
    assert "topics" not in many and "off by about 17" in many
