"""All ways to personalise on the same queries."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tacit.errors import InfeasibleError
from tacit.evaluate import Results, evaluate_personalised
from tacit.evaluate.guards.personalised import DELTAS, _World
from tacit.world.synth import SyntheticLog


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("personalised") / "out"
    done: list[int] = []
    found = evaluate_personalised(
        folder, users=6, population=200, seed=3, progress=lambda now, total: done.append(total - now)
    )
    assert done == list(range(len(found["ways"]) - 1, -1, -1))
    return found


def test_every_way_is_judged_on_the_same_queries(compared: Results) -> None:
    ways = {way["name"]: way for way in compared["ways"]}
    plain = compared["ways"][0]
    assert plain["name"] == "no profile"
    assert plain["gain"].low == plain["gain"].high == plain["reached"] == 0.0
    assert compared["people"] == 6
    assert compared["queries"] > 100
    for way in compared["ways"]:
        assert way["average_precision"] == pytest.approx(plain["average_precision"] + way["gain"].mean)
        assert way["gain"].low <= way["gain"].mean <= way["gain"].high
    assert ways["topics, on the device"]["gain"].mean > 0.01
    for delta in DELTAS:
        assert f"topics sent, δ = {delta:g}" in ways
    # The more may go out, the more queries go out with something.
    sent = [ways[f"topics sent, δ = {delta:g}"]["reached"] for delta in DELTAS]
    assert sent == sorted(sent)
    assert compared.page is not None
    out = compared.page.parent
    assert {path.name for path in out.iterdir()} == {"results.json", "charts.html", "ways.svg"}
    assert json.loads((out / "results.json").read_text())["queries"] == compared["queries"]
    assert len(compared.to_pandas()) == len(compared["ways"]) and "\n" not in repr(compared)


def test_test_queries_teach_nobody() -> None:
    world = _World(4, 120, 3)
    had = Counter(SyntheticLog(120, seed=3).table()["user"].to_pylist())
    used = Counter(world._earlier["user"].to_pylist())
    assert used and all(used[user] <= had[user] * 4 // 5 for user in had)


def test_too_few_queries_are_refused() -> None:
    with pytest.raises(InfeasibleError, match="test queries were found; 10 and more are needed"):
        evaluate_personalised(users=1, population=1, seed=3)
