"""A mechanism is what is asked, its plan what follows: typed, frozen, complete, and all from the schedule."""

from __future__ import annotations

import dataclasses
import inspect
import pydoc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.drawn import SeededRandomness

import tacit
from tacit import InfeasibleError, ParameterError
from tacit.privacy import Neighbours
from tacit.release import execution
from tacit.release.analysis import charges_of, event_of, guarantee_of
from tacit.release.execution import Holdings, SelectedItems, execute
from tacit.release.mechanism import Mechanism, plan_of
from tacit.release.registry import MECHANISMS, mechanism_class
from tacit.release.schedule import Schedule
from tacit.release.thresholds import smallest

ASKED: dict[str, Mechanism] = {
    "zealous": tacit.Zealous(epsilon=1, delta=1e-6),
    "zealous, exact loss": tacit.Zealous(epsilon=1, delta=1e-6, per_user=20),
    "zealous, probabilistic": tacit.Zealous(epsilon=1, kind="probabilistic", users=1000),  # type: ignore[arg-type]
    "click, pure": tacit.Click(epsilon=1, queries_per_user=3),
    "click, approximate": tacit.Click(
        epsilon=2, delta=1e-6, queries_per_user=3, neighbours=Neighbours.REPLACE
    ),
    "session": tacit.Session(epsilon=8, same_counts=False),
    "adaptive": tacit.Adaptive(epsilon=1, delta=1e-6),
    "adaptive, single": tacit.Adaptive(epsilon=1, delta=1e-6, per_user=1),
    "topics": tacit.Topics(epsilon=1),
    "k-query": tacit.KQuery(k=5),
}
BY_NAME = pytest.mark.parametrize("name", ASKED)


@BY_NAME
def test_guarantee_charges_and_event_are_functions_of_the_schedule(name: str) -> None:
    plan = ASKED[name].plan()
    assert guarantee_of(plan.schedule) == plan.guarantee
    assert charges_of(plan.schedule) == plan.charges
    assert event_of(plan.schedule) == plan.event
    assert (plan.epsilon, plan.delta) == (plan.guarantee.epsilon, plan.guarantee.delta)
    assert plan.event.guarantee.epsilon <= plan.epsilon or name == "k-query"


@BY_NAME
def test_a_plan_leaves_nothing_open_and_cannot_be_changed(name: str) -> None:
    plan = ASKED[name].plan()
    assert all(getattr(plan, field.name) is not None for field in dataclasses.fields(plan))
    assert plan.mechanism is ASKED[name] and plan_of(plan) is plan
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.schedule = plan.schedule  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.mechanism.neighbours = Neighbours.REPLACE  # type: ignore[attr-defined]


@BY_NAME
def test_what_a_plan_states_makes_the_same_plan_again(name: str) -> None:
    plan = ASKED[name].plan()
    again = plan.given.plan()
    assert (again.schedule, again.guarantee, again.given) == (plan.schedule, plan.guarantee, plan.given)


@BY_NAME
def test_a_plan_has_its_schedule_built_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked of a plan afterwards, no schedule is made."""
    plan = ASKED[name].plan()
    made: list[Schedule] = []
    monkeypatch.setattr(Schedule, "__post_init__", made.append)
    assert plan.guarantee and plan.event and plan.charges is not None and plan.schedule.to_dict()
    assert not made


@BY_NAME
def test_repr_is_one_line_and_print_a_table(name: str) -> None:
    plan = ASKED[name].plan()
    assert "\n" not in repr(plan) and "\n" not in repr(plan.mechanism)
    assert eval(repr(plan.mechanism), vars(tacit)) == plan.mechanism
    assert len(str(plan).splitlines()) > 4 and "<table>" in plan._repr_html_()


@pytest.mark.parametrize("name", MECHANISMS)
def test_signature_and_help_name_every_parameter(name: str) -> None:
    kind = mechanism_class(name)
    signature, shown = inspect.signature(kind), pydoc.render_doc(kind, renderer=pydoc.plaintext)
    for field in dataclasses.fields(kind):
        parameter = signature.parameters[field.name]
        assert parameter.kind is parameter.KEYWORD_ONLY and parameter.default == field.default
        assert parameter.annotation is not parameter.empty
        assert f"{field.name}: {field.metadata['says']}" in shown and "Default: " in shown


@pytest.mark.parametrize("name", ["zealous", "session", "adaptive"])
def test_the_default_of_delta_is_stated_in_the_signature(name: str) -> None:
    kind = mechanism_class(name)
    assert inspect.signature(kind).parameters["delta"].default == 1e-6
    assert kind(epsilon=1.0).plan().delta <= 1e-6  # type: ignore[call-arg]
    assert inspect.signature(tacit.Click).parameters["delta"].default == 0.0
    assert tacit.Click(epsilon=1.0).plan().delta == 0.0
    assert "delta" not in inspect.signature(tacit.Topics).parameters


def test_numbers_of_numpy_are_numbers() -> None:
    asked = tacit.Zealous(epsilon=np.float32(0.5), per_user=np.int64(3), delta=np.float64(1e-6))
    assert asked == tacit.Zealous(epsilon=0.5, per_user=3)
    assert type(asked.per_user) is int and type(asked.epsilon) is float
    assert tacit.KQuery(k=np.uint8(7)).plan().k == 7
    assert tacit.Click(epsilon=1, transitions=np.bool_(False)).transitions is False


@pytest.mark.parametrize("value", ["one", None, [1], {"a": 1}, object(), np.array([1, 2]), 1 + 2j])
@pytest.mark.parametrize("parameter", ["delta", "per_user", "neighbours", "items", "take", "kind"])
def test_a_wrong_type_gets_our_error(parameter: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=parameter):
        tacit.Zealous(**{"epsilon": 1.0, parameter: value})
    with pytest.raises(ParameterError, match="mechanism"):
        plan_of(value)


class Numbered:
    """Items of one table, each shown as its number."""

    def __init__(self, holdings: Holdings) -> None:
        self.holdings = holdings

    def of_kind(self, table: str, items: np.ndarray) -> np.ndarray:
        return np.ones(items.size, np.bool_)

    def keys(self, table: str, items: np.ndarray) -> pa.Table:
        return pa.table({"query": pa.array([f"query {item}" for item in items.tolist()], pa.string())})


def test_a_schedule_is_carried_out_on_plain_counts() -> None:
    """Without an engine and without a log: thresholded counts, public keys, exact counts, and a selection."""
    source = SeededRandomness(1)
    counts = {"queries": pa.table({"query": ["tea", "rain"], "count": [500, 3]})}
    drawn = execute(ASKED["zealous"].plan().schedule, counts, source)["queries"]
    assert drawn.column("query").to_pylist() == ["tea"]
    assert abs(drawn.column("count")[0].as_py() - 500) < 60
    exact = tacit.KQuery(k=5, items=("queries",)).plan()  # type: ignore[arg-type]
    assert execute(exact.schedule, counts, source)["queries"].to_pylist() == [{"query": "tea", "count": 500}]
    public = {"topics": pa.table({"topic": ["Sports", "Travel"], "count": [0, 900]})}
    assert execute(ASKED["topics"].plan().schedule, public, source)["topics"].num_rows == 2
    holdings = Holdings(np.arange(501), np.zeros(500, np.int32), 1)
    for name in ("adaptive", "adaptive, single"):
        found = execute(ASKED[name].plan().schedule, Numbered(holdings), source)["queries"]
        assert found.column("query").to_pylist() == ["query 0"]
        withheld = [] if name == "adaptive, single" else ["fewer_than"]
        assert found.column_names == ["query", "count", "deviation", *withheld]


def test_a_withheld_count_is_empty_in_the_table_and_says_what_it_is_below(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two items are found; the count of one lies below four deviations of noise."""
    holdings = Holdings(np.arange(1001), (np.arange(1000) % 2).astype(np.int32), 2)
    made = SelectedItems(np.array([0, 1]), np.array([500, 7]), np.array([50.5, 8.0]), below=np.array([0, 42]))
    monkeypatch.setattr(execution, "select", lambda *_: made)
    table = execute(ASKED["adaptive"].plan().schedule, Numbered(holdings), SeededRandomness(1))["queries"]
    assert table.to_pylist() == [
        {"query": "query 0", "count": 500, "deviation": 51, "fewer_than": None},
        {"query": "query 1", "count": None, "deviation": None, "fewer_than": 42},
    ]


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_a_single_count_promises_nothing_below_the_epsilon_of_its_noise(share: float) -> None:
    plan = ASKED["adaptive, single"].plan()
    assert guarantee_of(dataclasses.replace(plan.schedule, at_epsilon=share * plan.epsilon)).delta == 1.0


def test_every_histogram_adds_to_a_probabilistic_delta() -> None:
    """One user may be the last of τ in each of them: 1 - (1 - δ)^h."""
    given: dict[str, Any] = {"kind": "probabilistic", "users": 1000, "noise": 4.0, "threshold_2": 40}
    one = tacit.Zealous(**given).plan().delta
    three = tacit.Zealous(**given, items=("queries", "clicks", "pairs")).plan().delta
    assert three == pytest.approx(1 - (1 - one) ** 3, rel=1e-9)


@pytest.mark.parametrize("limit", ["epsilon", "delta"])
def test_given_parameters_may_not_cost_a_little_more_than_was_asked(limit: str) -> None:
    given: dict[str, Any] = {"noise": 10.0, "threshold_2": 150, "per_user": 5}
    found = getattr(tacit.Zealous(**given).plan(), limit)
    assert tacit.Zealous(**given, **{limit: found}).plan()
    with pytest.raises(InfeasibleError, match="was asked for"):
        tacit.Zealous(**given, **{limit: found * 0.999}).plan()


@pytest.mark.parametrize("least", [0, 1, 7])
def test_the_smallest_threshold_is_found_to_the_unit(least: int) -> None:
    for wanted in (*range(least, 70), 1_000_003):
        assert smallest(lambda n, wanted=wanted: n >= wanted, least) == wanted
