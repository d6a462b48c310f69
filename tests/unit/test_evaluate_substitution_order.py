"""Which substitutions a release offers, and in which order: by hand, case by case."""

from __future__ import annotations

import pytest
from tests.evaluate_log import part, release

from tacit.evaluate import run_task
from tacit.evaluate.tasks.substitution import Substitution, Substitutions


def offered(query: str, steps: dict[tuple[str, str], int]) -> list[str]:
    """The substitutions of a query, best first."""
    return Substitutions(release(steps=steps)).best([query])[0]


def test_the_second_query_stands_for_the_first_and_not_the_reverse() -> None:
    steps = {("sun", "bright yellow star"): 3}
    assert offered("sun", steps) == ["bright yellow star"]
    assert offered("bright yellow star", steps) == []


def test_a_phrase_is_weighed_by_all_its_pairs_of_queries() -> None:
    # car to van: 5 times in one pair of queries; car to bike: 4 times in three; car to tram: 3 in one.
    steps = {
        ("red car", "red bike"): 1,
        ("blue car", "blue bike"): 1,
        ("big car", "big bike"): 2,
        ("big car", "big tram"): 3,
        ("old car", "old van"): 5,
    }
    assert offered("my car", steps) == ["my van", "my bike", "my tram"]


def test_a_query_of_one_phrase_tells_of_the_phrase_too() -> None:
    assert offered("hot sun", {("sun", "moon"): 3}) == ["hot moon"]


def test_a_pair_that_differs_in_more_than_one_phrase_tells_of_none() -> None:
    assert offered("red sky", {("red car", "blue"): 3}) == []
    assert offered("red sky", {("red car", "blue bike"): 3}) == []


def test_what_follows_everything_is_no_substitution_of_anything() -> None:
    # weather follows sun most often, but less often than chance would have it (7 · 13 / 16 = 5.7 times).
    steps = {("sun", "weather"): 4, ("sun", "moon"): 3, ("rain", "weather"): 9}
    assert offered("sun", steps) == ["moon", "weather"]


def test_the_better_of_two_ways_to_a_substitution_counts() -> None:
    # As whole queries: van 9.5, night bus 4.2, bike 2.0. As phrases: bike 7.5, van 3.6.
    steps = {
        ("car", "van"): 4,
        ("car", "bike"): 1,
        ("car", "night bus"): 2,
        ("red car", "red bike"): 6,
        ("dog", "cat"): 5,
    }
    assert offered("car", steps) == ["van", "bike", "night bus"]


def test_what_is_equally_good_comes_in_the_order_of_the_alphabet() -> None:
    assert offered("red car", {("red", "zebra"): 2, ("car", "bike"): 2}) == ["red bike", "zebra car"]


def test_more_than_the_original_offers_covers_no_more_than_all_of_it() -> None:
    original = part(("ann", 0, "sun", None, None), ("ann", 1, "moon", None, None))
    released = release(steps={("sun", "moon"): 3, ("sun", "star"): 2, ("sun", "sky"): 1})
    found = run_task(Substitution(), original, released, part(("eve", 0, "sun", None, None)))
    assert found["top 5: coverage"].mean == 1
    assert found["top 5: precision"].mean == pytest.approx(1 / 3)


def test_ten_substitutions_are_kept() -> None:
    pairs = {("sun", f"next {place:02d}"): 40 - place for place in range(12)}
    assert offered("sun", pairs) == [f"next {place:02d}" for place in range(10)]
    rows = [
        (f"u{place}", minute, query, None, None)
        for place, pair in enumerate(pairs)
        for minute, query in enumerate(pair)
    ]
    found = run_task(Substitution(), part(*rows), release(steps=pairs), part(("eve", 0, "sun", None, None)))
    assert found["top 10: coverage"].mean == 1
