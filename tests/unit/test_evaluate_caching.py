"""Which posting lists go into memory: each rule of the choice by itself, by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.evaluate_log import part, release

from tacit.evaluate import run_task
from tacit.evaluate.tasks.index_caching import BEHIND, Cache, IndexCaching, PostingLists

ASKED = {"common": 10.0, "middling": 6.0, "rare": 1.0}
HAVING = {"common": 100.0, "middling": 3.0, "rare": 1.0}.__getitem__
"""Scores: 0.1, 2 and 1."""


def choose_lists(
    keywords: dict[str, float], documents: Callable[[str], float], cache: Cache
) -> frozenset[str]:
    """With nothing public behind them."""
    return PostingLists(documents, {}).chosen(keywords, cache)


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


def test_public_words_and_counts_add_up_wherever_the_alphabet_puts_them() -> None:
    public, seen = {"b": 0.5, "d": 0.3, "f": 0.2}, {"a": 40.0, "d": 25.0, "e": 51.0, "g": 1.0}
    lists = PostingLists(lambda _: 1.0, public)
    ranked = sorted(
        {k: BEHIND * public.get(k, 0) + seen.get(k, 0) for k in {*public, *seen}}.items(),
        key=lambda pair: (-pair[1], pair[0]),
    )
    assert [k for k, _ in ranked] == ["d", "e", "b", "a", "f", "g"]
    for room in range(7):
        assert lists.chosen(seen, memory(room)) == {k for k, _ in ranked[:room]}, room
        alone = sorted(seen, key=lambda k: (-seen[k], k))
        assert lists.chosen(seen, memory(room), alone=True) == set(alone[:room]), room
