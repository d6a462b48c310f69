"""All ways to personalise on the same queries, and people with interests and attributes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tacit.errors import InfeasibleError
from tacit.evaluate import Results, evaluate_personalised
from tacit.evaluate.guards.personalised import (
    DELTAS,
    AttributedPeople,
    ReadingModel,
    _World,
    kinds_of_topics,
)
from tacit.pool.simulation.population import adult
from tacit.world import wordnet_corpus


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
    # Who is told nothing knows at most how much everybody differs from everybody: next to nothing.
    assert abs(ways["people with attributes d*"]["gain"].mean) < 0.005
    assert compared.page is not None
    out = compared.page.parent
    assert {path.name for path in out.iterdir()} == {"results.json", "charts.html", "ways.svg"}
    assert json.loads((out / "results.json").read_text())["queries"] == compared["queries"]
    assert len(compared.to_pandas()) == len(compared["ways"]) and "\n" not in repr(compared)


def test_neither_test_queries_nor_judged_people_teach_the_service() -> None:
    world = _World(4, 120, 3)
    _, readers = world._clicks(kinds_of_topics(world.repository.tree))
    judged = {case.user for case in world.cases}
    assert judged and len(readers) > 0
    assert not judged & set(readers.tolist())
    had = np.array([len(kinds) for kinds in world._truth["kinds"].to_pylist()])
    used = np.bincount(world._row, minlength=len(had))
    assert (used <= had * 4 // 5).all()


def test_too_few_queries_are_refused() -> None:
    with pytest.raises(InfeasibleError, match="test queries were found; 10 and more are needed"):
        evaluate_personalised(users=1, population=1, seed=3)


def test_records_go_with_interests_and_regions_hold_k_people() -> None:
    kind_of = kinds_of_topics(wordnet_corpus().tree)
    random = np.random.default_rng(1)
    topics = [int(random.choice(np.flatnonzero(kind_of == kind))) for kind in (3, 9)]
    people = AttributedPeople([[topics[user % 2]] for user in range(600)], kind_of, adult(), 5)
    halves = people.records[::2], people.records[1::2]
    # A record that suits a kind is likelier: the halves differ in one of the attributes far beyond chance.
    means = halves[0].mean(axis=0) - halves[1].mean(axis=0)
    errors = np.sqrt(sum(half.var(axis=0) / len(half) for half in halves))
    assert np.abs(means / errors).max() > 6
    assert (np.abs(means / errors)[[0, 4, 7]].max()) == np.abs(means / errors).max()
    seen = people.seen(10)
    low, high = seen["d'"]
    assert ((low <= people.records) & (people.records <= high)).all()
    together = np.unique(np.hstack([low, high]), axis=0, return_counts=True)[1]
    assert together.min() >= 10
    assert (seen["d"][0] == seen["d"][1]).all()
    assert (seen["d*"][0] == 0).all()


def test_readers_are_ranked_by_what_people_like_them_read() -> None:
    # One attribute of two values: readers with 0 read kind 0, readers with 1 read kind 1.
    record = np.repeat([[0], [1]], 500, axis=0)
    kinds = record[:, 0].copy()
    exact = ReadingModel(kinds, np.arange(1000), (record, record), 2, [2])
    results = np.array([1, 0])
    # Rank 1 holds kind 1. The rate of kind 0 at value 0 is (500 + 300/2) / 800, so its lift over kind 1 is
    # 650/150 = 4.3: it overtakes a result at rank 1 from rank 2, and from rank 5 all but that one.
    assert exact.order(0, [10, 11], results) == [11, 10]
    assert exact.order(999, [10, 11], results) == [10, 11]
    assert exact.order(0, [10, 11, 12, 13, 14], np.array([1, 1, 1, 1, 0])) == [10, 14, 11, 12, 13]
    # A hundred clicks of one reader are one reader's interest.
    eager = ReadingModel(
        np.append(kinds, [1] * 10_000), np.append(np.arange(1000), [0] * 10_000), (record, record), 2, [2]
    )
    assert eager.order(0, [10, 11], results) == [11, 10]
    # Seen as the whole domain, everybody is alike.
    everywhere = np.zeros_like(record), np.ones_like(record)
    blind = ReadingModel(kinds, np.arange(1000), everywhere, 2, [2])
    assert blind.order(0, [10, 11], results) == [10, 11]
