"""All ways to personalise on the same queries."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.unit.test_ambient_experiments import write_ambient

from tacit import InfeasibleError, evaluate_personalised
from tacit.evaluate import Results
from tacit.evaluate.cases import MOST_RECORDS, load_ambient, reading_people
from tacit.evaluate.personalised import DELTAS, Searchers, another_of, weigh
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
    [cohort] = [way for name, way in ways.items() if name.startswith("cohort told, ")]
    assert (
        cohort["name"].endswith("by vote") and cohort["gain"].mean >= 0
    )  # where the engine is good, it stays
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
    world = Searchers(4, 120, 3)
    had = Counter(SyntheticLog(120, seed=3).table()["user"].to_pylist())
    used = Counter(world.earlier["user"].to_pylist())
    kept = {user: number * 4 // 5 for user, number in had.items() if 1 < number <= MOST_RECORDS}
    assert kept and used == kept


def test_too_few_queries_are_refused() -> None:
    with pytest.raises(InfeasibleError, match="test queries were found; 10 and more are needed"):
        evaluate_personalised(users=1, population=1, seed=3)


def test_a_ranking_is_weighed_by_hand() -> None:
    people, engine = ["ann", "ann", "bob", "bob"], [0.5, 0.5, 0.2, 0.4]
    found = weigh(people, engine, [0.9, 0.44, 0.2, 0.36], [0.7, 0.5, 0.2, 0.4])
    assert found["average_precision"] == pytest.approx(0.475)
    assert found["gain"].mean == pytest.approx((0.4 - 0.06 - 0.04) / 4)
    assert found["another"].mean == pytest.approx(0.2 / 4)
    assert found["beyond"].mean == pytest.approx((0.2 - 0.06 - 0.04) / 4)
    assert found["fell"] == 0.25  # one loses 0.06; another 0.04, which is not more than 0.05
    assert weigh(people, engine, engine, engine)["fell"] == 0
    assert found["beyond"].low <= found["beyond"].mean <= found["beyond"].high


def test_nobody_is_given_their_own_evidence() -> None:
    assert another_of(["ann", "bob", "ann", "cy"]) == {"ann": "bob", "bob": "cy", "cy": "ann"}
    with pytest.raises(InfeasibleError, match="another one's evidence needs two"):
        another_of(["ann", "ann"])


def test_another_persons_evidence_is_not_as_good_as_ones_own(compared: Results) -> None:
    ways = {way["name"]: way for way in compared["ways"]}
    own = ways["topics, on the device"]
    assert own["beyond"].mean == pytest.approx(own["gain"].mean - own["another"].mean)
    assert own["beyond"].mean > 0.01
    assert 0 < own["fell"] < 0.5


def test_readers_have_read_what_is_not_ranked(tmp_path: Path) -> None:
    ambient = load_ambient(write_ambient(tmp_path / "ambient"))
    people = reading_people(ambient, 8, seed=2)
    assert len(people) == 8 and people == reading_people(ambient, 8, seed=2)
    assert len({case.meaning for cases in people.values() for case in cases}) == 4
    for cases in people.values():
        assert len(cases) == 2  # there are two queries
        read = {page["id"] for page in cases[0].history}
        assert len(read) == 6 and cases[0].history == cases[1].history
        for case in cases:
            assert case.relevant and not read & {page["id"] for page in case.results}
            assert not read & case.relevant


def test_ambients_readers_are_helped_by_their_own_reading(tmp_path: Path) -> None:
    folder = write_ambient(tmp_path / "ambient")
    found = evaluate_personalised(tmp_path / "out", users=8, population=60, ambient=folder, seed=1)
    ways = {way["name"]: way for way in found["ways"]}
    assert found["queries"] == 16 and found["people"] == 8
    own = ways["attention, on the device"]
    assert own["gain"].mean > 0.2 > own["another"].mean and own["beyond"].low > 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"results.json", "charts.html", "ways.svg"}
    with pytest.raises(InfeasibleError, match="2 test queries were found"):
        evaluate_personalised(users=1, population=1, ambient=folder)
