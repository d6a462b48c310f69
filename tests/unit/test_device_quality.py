"""The search quality task of the device."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from benchmarks.device_quality import device_results, groups_by_power, measure

from tacit import InfeasibleError
from tacit.device import wordnet_repository
from tacit.device.profile.construction import file_document
from tacit.evaluate.cases import held_out_cases
from tacit.retrieval import average_precision
from tacit.world.synth import SyntheticLog


def test_average_precision_agrees_with_the_reference() -> None:
    import ir_measures

    for order, relevant in [
        ([1, 2, 3], {2}),
        ([5, 4, 3, 2, 1], {5, 3, 1}),
        ([1, 2], {1, 2}),
        ([1, 2], {1, 9}),
    ]:
        qrels = [ir_measures.Qrel("q", str(document), 1) for document in relevant]
        run = [ir_measures.ScoredDoc("q", str(document), -place) for place, document in enumerate(order)]
        expected = ir_measures.calc_aggregate([ir_measures.AP], qrels, run)[ir_measures.AP]
        assert average_precision(order, relevant) == pytest.approx(expected)


def test_groups_are_intervals_in_order() -> None:
    powers = np.array([0.9, 0.3, 0.35, 0.95, 0.6, 0.31, 0.62])
    assert groups_by_power(powers).tolist() == [2, 0, 0, 2, 1, 0, 1]


def test_what_is_tested_is_not_in_the_profile() -> None:
    repository, log = wordnet_repository(), SyntheticLog(60, seed=3)
    table, truth = log.table(), log.truth()
    lengths = [len(meanings) for meanings in truth["meanings"].to_pylist()]
    tested = np.concatenate([np.arange(length) >= length * 4 // 5 for length in lengths])
    elsewhere = pa.array([repository.corpus[7].url] * len(table))
    moved = table.set_column(
        table.schema.get_field_index("url"),
        "url",
        pc.if_else(pa.array(tested), elsewhere, table["url"].combine_chunks().cast(pa.string())),
    )
    as_it_was = [case.profile for case in held_out_cases(repository, table, truth, users=4)]
    otherwise = [case.profile for case in held_out_cases(repository, moved, truth, users=4)]
    assert len(as_it_was) == len(otherwise) > 50
    for one, other in zip(as_it_was, otherwise, strict=True):
        assert np.array_equal(one.support, other.support)


def test_a_page_counts_in_the_profile_as_often_as_it_was_clicked() -> None:
    repository, log = wordnet_repository(), SyntheticLog(60, seed=3)
    table = log.table()
    case = next(held_out_cases(repository, table, log.truth(), users=1))
    records = table.filter(pc.equal(table["user"], case.user)).to_pylist()
    clicked = [(each["query"], each["url"]) for each in records[: len(records) * 4 // 5] if each["url"]]
    texts = [(query, repository.text_behind(url)) for query, url in clicked]
    filed = [file_document(repository, query, text) for query, text in texts if text is not None]
    assert len(set(clicked)) < len(clicked)
    assert case.profile.support[0] == sum(topic is not None for topic in filed)


def test_the_task_runs_on_the_synthetic_log_and_personalising_helps_somewhere() -> None:
    repository = wordnet_repository()
    log = SyntheticLog(60, seed=3)
    cases = list(held_out_cases(repository, log.table(), log.truth(), users=4))
    assert len(cases) > 50
    assert all(case.relevant <= set(case.results) for case in cases)
    nothing = measure(repository, cases, 0.0, "topics alone")
    assert np.array_equal(nothing["original"], nothing["personalised"]) and not nothing["exposed"].any()
    device = measure(repository, cases, 0.1, "on the device")
    assert np.mean(device["personalised"] - device["original"]) > 0
    found = device_results(repository, cases[:12], "test")
    assert found["cases"] == 12
    assert {row["queries"] for row in found["by_query"]} >= {"all"}
    none = [row for row in found["by_delta"] if row["delta"] == 0]
    assert all(row["exposed"] == 0 and row["gain"] == 0 for row in none)
    with pytest.raises(InfeasibleError, match="2 test queries were found"):
        device_results(repository, cases[:2], "test")
