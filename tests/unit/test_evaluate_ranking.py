"""Ranked lists: ties, where lists end, and many at once as few."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from benchmarks.thesis import thesis_adhoc as walking
from benchmarks.thesis import thesis_suggestion as suggestion
from benchmarks.thesis.thesis_adhoc import best_of
from ir_measures import AP, P, R, nDCG
from scipy import sparse
from tests.evaluate_log import part, release

from tacit.evaluate.public import EngineLists
from tacit.evaluate.task import judge, ranked_by


def test_ties_go_by_number_and_lists_end_where_they_should() -> None:
    unit, item = np.array([1, 0, 0, 0]), np.array([4, 9, 2, 5])
    found = ranked_by(unit, item, np.array([1.0, 3.0, 3.0, 7.0]), 2)
    assert found.unit.tolist() == [0, 0, 1]
    assert found.item.tolist() == [5, 2, 4]
    assert found.place.tolist() == [1, 2, 1]


def test_measures_are_those_of_ir_measures() -> None:
    measures, draw = [nDCG @ 10, AP @ 10, AP @ 1000, P @ 5, P @ 10, R @ 5], np.random.default_rng(0)
    named = {str(measure): measure for measure in measures}
    for units in range(1, 60):
        listed = np.unique(draw.integers(0, units * 20, 9 * (units % 8)))
        ranked = ranked_by(listed // 20, listed % 20, draw.integers(0, 5, len(listed)).astype(float), 15)
        wanted = np.concatenate([20 * np.arange(units) + 7, draw.integers(0, units * 20, 25)])
        run: dict[str, dict[str, float]] = {}
        for unit, item, place in zip(ranked.unit, ranked.item, ranked.place, strict=True):
            run.setdefault(str(unit), {})[str(item)] = -float(place)
        qrels: dict[str, dict[str, int]] = {str(unit): {} for unit in range(units) if str(unit) in run}
        for key in wanted:
            qrels.get(str(key // 20), {})[str(key % 20)] = 1
        expected = {measure: np.full(units, np.nan) for measure in measures}
        for found in ir_measures.iter_calc(measures, qrels, run) if run else ():
            expected[found.measure][int(found.query_id)] = found.value
        for name, values in judge(ranked, (wanted // 20, wanted % 20), units, named).items():
            assert values.values == pytest.approx(expected[named[name]], abs=1e-12, nan_ok=True), name


def test_what_scores_nothing_is_not_listed() -> None:
    scores = sparse.csr_array((np.array([0.0, 2.0]), (np.array([0, 0]), np.array([1, 3]))), shape=(2, 4))
    assert best_of(scores, 5).item.tolist() == [3]


PAGES = release(
    clicks={(f"q{n}", f"page-{n}"): 1 + n for n in range(7)} | {(f"q{n}", "all"): 1 for n in range(7)}
)


def test_walks_in_batches_are_walks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, starts = walking.transition_matrix(PAGES), np.arange(7)
    whole = walking.rank_urls(PAGES, matrix, starts)
    monkeypatch.setattr(walking, "_AT_ONCE", 2)
    batches = walking.rank_urls(PAGES, matrix, starts)
    assert set(whole.unit.tolist()) == set(range(7))
    assert batches.unit.tolist() == whole.unit.tolist()
    assert batches.item.tolist() == whole.item.tolist()


def test_suggestions_in_batches_are_suggestions_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = suggestion.suggest(PAGES, np.arange(7))
    monkeypatch.setattr(suggestion, "_AT_ONCE", 3)
    batches = suggestion.suggest(PAGES, np.arange(7))
    assert set(whole.unit.tolist()) == set(range(7))
    assert batches.unit.tolist() == whole.unit.tolist()
    assert batches.item.tolist() == whole.item.tolist()


def test_a_list_whose_query_was_not_released_stays_as_the_engine_has_it() -> None:
    test = part(("eve", 0, "java", 1, "A"), ("eve", 1, "zebra", 1, "B"))
    lists = EngineLists(test, np.array([0, 1]), (np.array([0, 1]), np.array([0, 1]), np.array([1, 1])))
    assert lists.touched(release(clicks={("java", "A"): 3})).tolist() == [0]
