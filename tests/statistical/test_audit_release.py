"""The audit of releases: every mechanism as shipped holds, near its claim; replicas are separate runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from tests.drawn import SeededRandomness

import tacit
from tacit.audit.checks import instead
from tacit.audit.neighbours import count_pairs
from tacit.audit.release import ROUNDS_RUNS, RUNS, attack, audit_release, executable
from tacit.audit.replicas import Replicas, agreement
from tacit.commands.audit import Runs
from tacit.engines import open_engine
from tacit.release import execution
from tacit.release.mechanism import Mechanism

SHIPPED: list[tuple[Mechanism, int, float, float]] = [
    (tacit.Zealous(epsilon=1), 20_000, 0.90, 0.90),
    (tacit.Zealous(epsilon=1, per_user=10), 100_000, 0.5, 0.85),
    (tacit.Zealous(epsilon=2, neighbours="replace"), 20_000, 1.7, 1.7),
    (tacit.Session(epsilon=1), 20_000, 0.88, 0.88),
    (tacit.Adaptive(epsilon=1, per_user=1), 20_000, 0.88, 0.88),
    (tacit.Adaptive(epsilon=1), 400_000, 0.36, 0.77),
    (tacit.Adaptive(epsilon=4), 200_000, 1.5, 3.0),
]
"""With the runs, and the least ε at δ and against the curve that they must show."""


def replicas_of(asked: Mechanism, pair: str) -> Replicas:
    with open_engine(threads=1) as engine:
        return Replicas(asked.plan(), next(count_pairs(asked.plan(), engine, [pair])))


@pytest.mark.parametrize(("asked", "runs", "epsilon", "curve"), SHIPPED, ids=lambda value: str(value)[:60])
def test_a_shipped_mechanism_holds_and_little_is_left_to_find(
    asked: Mechanism, runs: int, epsilon: float, curve: float
) -> None:
    found = audit_release(asked, runs=runs)
    form, claimed = found.to_dict(), asked.plan().epsilon
    assert form["verdict"] == "held", found.sentence
    assert epsilon < form["measured"]["epsilon"] <= form["claimed"]["epsilon"] == claimed
    assert curve < form["measured"]["curve"] <= claimed
    assert {check["name"] for check in form["checks"]} >= {"charges_as_claimed"}


def test_as_many_runs_are_said_as_are_made() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "commands" / "audit.md"
    for said in (str(tacit.audit.__doc__), page.read_text("utf-8"), get_args(Runs)[1].help):
        assert f"{RUNS:,}" in said and f"{ROUNDS_RUNS:,}" in said


def test_replicas_are_separate_runs_and_shared_noise_is_noticed() -> None:
    replicas = replicas_of(tacit.Zealous(epsilon=1, per_user=3), "crowd")
    source = SeededRandomness(5)
    assert min(agreement(replicas, source)) > 1e-3
    real = execution.draw

    def shared(noise: Any, size: int, bits: Any) -> Any:
        return np.repeat(real(noise, 1, bits), size)

    with instead(draw=shared):
        differ, independent = agreement(replicas, source)
    assert min(differ, independent) < 1e-9


def test_of_400_audits_of_a_sound_count_at_most_five_percent_show_more() -> None:
    """Whole audits, each with its own choice of the event; either figure counts."""
    replicas = replicas_of(tacit.Zealous(epsilon=1), "crowd")
    source = SeededRandomness(9)
    found = [attack(replicas, 512, source) for _ in range(400)]
    assert sum(max(each.epsilon, each.curve) > 1 for each in found) <= 20
    assert max(each.alarm for each in found) <= 1


def test_a_small_delta_is_sampled_at_a_larger_one() -> None:
    """At the delta that is claimed nothing of it can be seen: the same is planned again."""
    found = audit_release(tacit.Zealous(epsilon=1), runs=4_000).to_dict()
    claimed, loosened = found["claimed"], found["loosened"]["claimed"]
    assert loosened["epsilon"] == claimed["epsilon"] and 1e-3 < loosened["delta"] <= 0.01
    attacked = {(each["pair"], each["delta"]) for each in found["attacks"]}
    assert attacked == {("crowd", claimed["delta"])} | {
        (pair, loosened["delta"]) for pair in ("crowd", "alone", "straddler")
    }
    assert audit_release(tacit.Topics(epsilon=1), runs=64).more["loosened"] is None


def test_a_release_that_was_made_is_audited_with_bundled_sets() -> None:
    """A manifest has public sets by their digest alone."""
    made = tacit.Topics(epsilon=1).plan()
    stated, notes = executable(type(made.mechanism).from_dict(made.to_dict()).plan())
    stated.check()
    assert stated.guarantee == made.guarantee and notes == []


def test_a_series_is_audited_by_its_checks() -> None:
    found = audit_release(tacit.Series(epsilon=4, weeks=4))
    assert found.verdict == "held" and len(found.held) >= 8
    assert found.to_dict()["claimed"]["epsilon"] == 4


def test_a_minute_is_a_minute() -> None:
    """Fewer runs are made where these would take too long."""
    replicas = replicas_of(tacit.Zealous(epsilon=1), "crowd")
    found = attack(replicas, 10**9, SeededRandomness(1), seconds=0.5)
    assert 32 <= found.seen.runs < 10**6


def test_half_the_noise_is_broken() -> None:
    plan = tacit.Zealous(epsilon=1).plan()
    with open_engine(threads=1) as engine:
        counted = next(count_pairs(plan, engine, ["crowd"]))
    part = plan.schedule.parts[0]
    assert part.noise is not None
    weaker = replace(part.noise, scale=part.noise.scale / 2)
    real = execution.execute

    def executed(schedule: Any, *rest: Any) -> Any:
        return real(schedule.having(part.table, noise=weaker), *rest)

    with instead(execute=executed):
        found = attack(Replicas(plan, counted), 4_000, SeededRandomness(3))
    assert found.alarm > 1


def test_a_mechanism_that_fails_where_it_should_run_is_broken() -> None:
    """With the kind of the error alone: its text may hold what people wrote."""

    def failing(*_: Any) -> Any:
        raise ValueError("somebody's query")

    with instead(draw=failing):
        found = audit_release(tacit.Zealous(epsilon=1), runs=64)
    assert found.verdict == "broken" and "it fails where the claim says that it runs" in found.sentence
    assert "somebody" not in str(found.to_dict()) and found.measured["epsilon"] == 0
