"""Which posting lists go into memory: each rule of the choice by itself, by hand."""

from __future__ import annotations

import pytest
from tests.evaluate_log import part, release

from tacit.evaluate import run_task
from tacit.evaluate.tasks.index_caching import Cache, IndexCaching, choose_lists

ASKED = {"common": 10.0, "middling": 6.0, "rare": 1.0}
HAVING = {"common": 100.0, "middling": 3.0, "rare": 1.0}.__getitem__
"""Scores: 0.1, 2 and 1."""


def memory(postings: int, longest: int = 200) -> Cache:
    return Cache(8 * postings, 8, longest)


def test_neither_searches_nor_documents_alone_decide() -> None:
    assert choose_lists(ASKED, HAVING, memory(100)) == {"middling", "rare"}  # common would fill it
    assert choose_lists(ASKED, HAVING, memory(3)) == {"middling"}  # rare is shorter


def test_a_list_is_scored_by_its_whole_length_though_it_is_kept_in_part() -> None:
    assert choose_lists(ASKED, HAVING, memory(3, longest=2)) == {"middling", "rare"}


def test_what_does_not_fit_is_passed_over() -> None:
    big = {"big": 100.0, "small": 1.0}
    assert choose_lists(big, {"big": 50.0, "small": 1.0}.__getitem__, memory(10)) == {"small"}


def test_a_part_of_a_posting_takes_a_whole_one() -> None:
    assert choose_lists({"one": 3.0, "other": 2.0}, lambda _: 1.5, memory(3)) == {"one"}


def test_of_equals_the_first_in_the_alphabet_is_taken() -> None:
    assert choose_lists({"b": 2.0, "a": 2.0}, lambda _: 1.0, memory(1)) == {"a"}


def test_a_word_in_no_document_takes_the_room_of_one() -> None:
    assert choose_lists({"a": 1.0, "b": 2.0}, lambda _: 0.0, memory(1)) == {"b"}


def test_every_search_is_a_unit() -> None:
    asked = [("eve", 0, "java", None, None), ("eve", 200, "java", None, None), ("fay", 0, "tea", None, None)]
    task = IndexCaching(memory(1), lambda _: 1.0, {})
    found = run_task(task, part(), release(keywords={"java": 2, "tea": 1}), part(*asked))
    assert found["greedy cache: hit probability"].mean == pytest.approx(2 / 3)
