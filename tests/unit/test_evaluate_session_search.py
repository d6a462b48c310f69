"""How the lists of a session's queries become one: by hand."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from benchmarks.thesis.thesis_session_search import ThesisSessionSearch as SessionSearch
from tests.evaluate_log import part, release

from tacit.evaluate import run_task

NOBODY = part()


def test_a_page_scores_one_over_its_place_discounted_by_what_came_after() -> None:
    data = release(clicks={("a", "W"): 3, ("a", "Y"): 1, ("b", "Z"): 3, ("b", "Y"): 1, ("c", "X"): 1})
    test = part(("eve", 0, "a", None, None), ("eve", 1, "b", None, None), ("eve", 2, "c", 3, "Y"))
    found = run_task(SessionSearch(steps=1), NOBODY, data, test)["random walk: nDCG@10"]
    # One step leads to a query's own pages. X 1, Z 0.92, Y (0.92 + 0.92²)/2 = 0.883, W 0.92² = 0.846.
    assert found.values == pytest.approx([1 / log2(4)])
    # After five, W and Z are in each other's lists by way of Y, third: Z 1.20, W 1.15, X 1, Y 0.883.
    further = run_task(SessionSearch(), NOBODY, data, test)["random walk: nDCG@10"]
    assert further.values == pytest.approx([1 / log2(5)])


@pytest.mark.parametrize(("place", "rank"), [(20, 3), (21, 4)])
def test_twenty_pages_of_a_query_count(place: int, rank: int) -> None:
    # The page in question is last of a's pages and second of b's: 1/2 + 1/20, just above a's second page. As
    # the 21st it has 1/2 alone, like that page, which comes first in the alphabet.
    pages = {("a", f"a{n:02d}"): 60 - n for n in range(1, place)} | {("a", "page"): 60 - place}
    data = release(clicks=pages | {("b", "b1"): 2, ("b", "page"): 1})
    test = part(("eve", 0, "a", None, None), ("eve", 1, "b", 2, "page"))
    found = run_task(SessionSearch(1.0, steps=1), NOBODY, data, test)["random walk: nDCG@10"]
    assert found.values == pytest.approx([1 / log2(rank + 1)])


def test_every_page_clicked_in_the_session_is_relevant_known_or_not() -> None:
    data = release(clicks={("a", "X"): 2})
    test = part(("eve", 0, "a", 1, "X"), ("eve", 0, "a", 2, "unknown"), ("eve", 0, "a", 3, "unheard of"))
    found = run_task(SessionSearch(), NOBODY, data, test)["random walk: MAP"]
    assert found.values == pytest.approx([1 / 3])


def test_what_is_negligible_is_not_listed() -> None:
    data = release(clicks={("a", "X"): 9, ("a", "Y"): 1})
    test = part(("eve", 0, "a", 2, "Y"))
    values = [
        run_task(SessionSearch(steps=1, negligible=limit), NOBODY, data, test)["random walk: nDCG@10"].values
        for limit in (0.08, 0.1)
    ]
    assert np.concatenate(values) == pytest.approx([1 / log2(3), 0])  # the walk is at Y with 0.09
