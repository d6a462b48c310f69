"""The contract of ``tacit plan`` and ``tacit guarantee``: keys, figures, errors."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.claims import click, session, zealous
from tests.short_forms import click_parameters, session_parameters, zealous_parameters
from tests.thesis_tables import TABLE_3_8, TABLE_3_10, TABLE_4_4
from typer.testing import CliRunner

from tacit import Click, ParameterError
from tacit.commands import application
from tacit.privacy import Neighbours
from tacit.release.mechanisms.click import ClickMode

APP = application()


def tacit(*words: object) -> dict[str, Any]:
    done = CliRunner().invoke(APP, [str(word) for word in words] + ["--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize(("epsilon", "bound", "noise", "threshold"), TABLE_3_10)
def test_plan_click_has_the_setting_of_table_3_10(
    epsilon: float, bound: int, noise: float, threshold: float
) -> None:
    found = tacit("plan", "click", "--epsilon", epsilon, "--queries-per-user", bound)
    assert found["paper"]["noise"] == pytest.approx(noise)
    assert found["paper"]["threshold"] == pytest.approx(threshold, abs=0.005001)
    assert found["paper"]["why"]
    assert found["epsilon"] <= epsilon
    assert found["delta"] == 0
    assert isinstance(found["threshold"], int)
    given = ("noise", "threshold", "noise_counts", "noise_transitions", "threshold_transitions")
    known = {name: found[name] for name in given if found[name] is not None}
    parameters = Click(queries_per_user=bound, same_counts=True, **known)
    assert click.guarantee(parameters).epsilon == found["epsilon"]
    assert sum(part["epsilon"] for part in found["parts"]) == pytest.approx(found["epsilon"])


@pytest.mark.parametrize(("noise", "threshold", "sessions", "queries", "epsilon", "delta"), TABLE_4_4)
def test_guarantee_session_is_about_sessions_alone(
    noise: float, threshold: int, sessions: int, queries: int, epsilon: float, delta: float
) -> None:
    found = tacit(
        *("guarantee", "session", "--noise", noise, "--threshold", threshold),
        *("--sessions-per-user", sessions, "--queries-per-session", queries),
    )
    assert found["paper"]["epsilon"] == pytest.approx(epsilon, abs=0.005)
    assert found["paper"]["delta"] == pytest.approx(delta, rel=0.004)
    provable = session.guarantee(session_parameters(sessions, queries, noise, threshold, noise))
    assert (found["epsilon"], found["delta"]) == (provable.epsilon, provable.delta)


def test_guarantee_session_with_clicks_states_the_total() -> None:
    found = tacit(
        *("guarantee", "session", "--noise", 1, "--threshold", 20, "--sessions-per-user", 1),
        *("--queries-per-session", 3, "--clicks-per-user", 4),
    )
    clicks = (4, 1.0, 20, 1.0)
    whole = session.guarantee(session_parameters(1, 3, 1.0, 20, 1.0, clicks=clicks))
    assert (found["epsilon"], found["delta"]) == (whole.epsilon, whole.delta)
    assert found["paper"]["epsilon"] == pytest.approx(16.0)
    assert found["paper"]["delta"] == pytest.approx(4.5e-7, abs=0.01e-7)


@pytest.mark.parametrize(("bound", "printed"), TABLE_3_8.items())
def test_guarantee_click_without_transitions(bound: int, printed: float) -> None:
    found = tacit(
        *("guarantee", "click", "--noise", 10, "--threshold", 10, "--queries-per-user", bound),
        *("--clicks-per-user", bound, "--no-transitions"),
    )
    assert found["paper"]["epsilon"] == pytest.approx(printed, abs=max(0.005, bound * 0.0005))
    assert found["epsilon"] == pytest.approx(3 * bound / 10)
    assert found["delta"] == 0
    assert found["kind"] == "pure"


def test_guarantee_click_takes_every_parameter() -> None:
    found = tacit(
        *("guarantee", "click", "--noise", 2, "--threshold", 30.7, "--queries-per-user", 3),
        *("--clicks-per-user", 2, "--noise-counts", 3, "--noise-clicks", 4, "--noise-transitions", 5),
        *("--threshold-clicks", 40, "--threshold-transitions", 50, "--mode", "approximate"),
        *("--neighbours", "replace", "--minimum-frequency", 2),
    )
    parameters = click_parameters(
        3, 2, 2.0, 30, 3.0, 4.0, 5.0, True, 40, 50, minimum_frequency=2, mode=ClickMode.APPROXIMATE
    )
    provable = click.guarantee(parameters, Neighbours.REPLACE)
    assert (found["epsilon"], found["delta"]) == (provable.epsilon, provable.delta)
    assert found["neighbours"] == "replace"
    assert found["delta"] > 0
    assert sum(part["epsilon"] for part in found["parts"]) == pytest.approx(found["epsilon"])


@pytest.mark.parametrize("relation", list(Neighbours))
def test_guarantee_zealous_gives_both_guarantees(relation: Neighbours) -> None:
    found = tacit(
        *("guarantee", "zealous", "--noise", 10, "--threshold-1", 1, "--threshold-2", 149, "--per-user", 5),
        *("--users", 1000, "--neighbours", relation.value),
    )
    parameters = zealous_parameters(5, 10.0, 1, 149)
    sure, likely = (
        zealous.guarantee(parameters, relation),
        zealous.probabilistic_guarantee(parameters, 1000, relation),
    )
    assert (found["epsilon"], found["delta"]) == (sure.epsilon, sure.delta)
    assert found["approximate"]["delta"] == sure.delta
    assert found["probabilistic"]["epsilon"] == likely.epsilon
    assert found["probabilistic"]["delta"] == likely.delta
    assert found["paper"]["epsilon"] == pytest.approx(1.0)
    assert found["paper"]["delta"] == pytest.approx(7.77e-13, rel=0.01)
    assert found["paper"]["probabilistic"]["epsilon"] == pytest.approx(1.0)


def test_a_fractional_threshold_is_the_papers_and_the_next_whole_one_ours() -> None:
    found = tacit(
        *("guarantee", "zealous", "--noise", 10, "--threshold-1", 1, "--threshold-2", 78.65900644919215),
        *("--per-user", 5, "--neighbours", "replace"),
    )
    assert found["parameters"]["threshold_2"] == 79
    assert found["paper"]["delta"] == pytest.approx(1e-6)
    assert found["delta"] == pytest.approx(1.075e-3, rel=1e-3)


def test_plan_zealous_round_trips_through_guarantee() -> None:
    for relation in Neighbours:
        plan = tacit(
            "plan",
            "zealous",
            "--epsilon",
            1,
            "--delta",
            1e-6,
            "--per-user",
            5,
            "--neighbours",
            relation.value,
        )
        found = tacit(
            *("guarantee", "zealous", "--noise", plan["noise"], "--threshold-1", plan["threshold_1"]),
            *("--threshold-2", plan["threshold_2"], "--per-user", 5, "--neighbours", relation.value),
        )
        assert found["epsilon"] == plan["epsilon"] <= 1
        assert found["delta"] == plan["delta"] <= 1e-6
    assert plan["threshold_2"] == 149
    assert plan["paper"]["epsilon"] >= plan["epsilon"] and plan["paper"]["source"].startswith("paper 004")


def test_plan_session_charges_both_parts() -> None:
    plan = tacit("plan", "session", "--epsilon", 8, "--delta", 1e-6)
    assert plan["epsilon"] <= 8
    assert plan["delta"] <= 1e-6
    assert [part["part"] for part in plan["parts"]] == [
        "sessions",
        "clicks",
    ]
    assert plan["paper"]["epsilon"] > plan["epsilon"]


def test_k_query_has_no_epsilon() -> None:
    found = tacit("guarantee", "k-query", "--k", 20)
    assert (found["k"], found["epsilon"], found["delta"]) == (20, None, None)
    assert tacit("plan", "k-query", "--k", 13)["k"] == 13
    refused = CliRunner().invoke(APP, ["plan", "k-query", "--epsilon", "1"])
    assert refused.exit_code == 2 and "--epsilon" in refused.output


@pytest.mark.parametrize(
    "words",
    [
        ("guarantee", "zealous", "--noise", 0, "--threshold-1", 1, "--threshold-2", 9, "--per-user", 1),
        ("guarantee", "click", "--noise", "nan", "--threshold", 1, "--queries-per-user", 1),
        ("guarantee", "click", "--noise", 1, "--threshold", -1, "--queries-per-user", 1),
        ("guarantee", "click", "--noise", 1, "--threshold", 1, "--queries-per-user", 0),
        (
            "guarantee",
            "session",
            "--noise",
            1,
            "--threshold",
            1,
            "--sessions-per-user",
            1,
            "--queries-per-session",
            1,
        ),
        (
            *("guarantee", "session", "--noise", 1, "--threshold", 1, "--sessions-per-user", 1),
            *("--queries-per-session", 3, "--noise-clicks", 2),
        ),
        ("guarantee", "k-query", "--k", 0),
        ("plan", "zealous", "--epsilon", 0),
        ("plan", "zealous", "--epsilon", 1, "--kind", "probabilistic"),
        ("plan", "session", "--epsilon", 1, "--delta", 0),
        ("plan", "click", "--epsilon", 1, "--domain", "none"),
    ],
    ids=lambda words: " ".join(map(str, words)),
)
def test_senseless_parameters_are_refused_with_the_rule(words: tuple[object, ...]) -> None:
    with pytest.raises(ParameterError) as refused:
        tacit(*words)
    assert refused.value.problem


@pytest.mark.parametrize(
    "words",
    [
        "plan zealous --epsilon 1",
        "plan click --epsilon 1 --queries-per-user 5 --delta 1e-6",
        "plan session --epsilon 8",
        "plan k-query",
        "guarantee zealous --noise 10 --threshold-1 1 --threshold-2 79 --per-user 5 --users 100",
        "guarantee click --noise 10 --threshold 10 --queries-per-user 5",
        "guarantee session --noise 1 --threshold 20 --sessions-per-user 1 --queries-per-session 3",
        "guarantee k-query --k 5",
    ],
)
def test_a_person_sees_ours_beside_the_papers(words: str) -> None:
    done = CliRunner().invoke(APP, words.split(), catch_exceptions=False)
    assert done.exit_code == 0
    said = re.search(r"(plan|provable) +paper", done.stdout)
    assert bool(said) is (words != "plan k-query"), "of which the paper says nothing"
    assert "•" in done.stdout
