"""Lists end where the measures do: the tenth page and the fifth suggestion count, the next does not."""

from __future__ import annotations

from math import log2

import pytest
from benchmarks.thesis.thesis_adhoc import ThesisAdhoc as Adhoc
from benchmarks.thesis.thesis_session_search import ThesisSessionSearch as SessionSearch
from benchmarks.thesis.thesis_suggestion import ThesisSuggestion as Suggestion
from tests.evaluate_log import part, release

from tacit.evaluate import run_task

NOBODY = part()
PAGES = {("query", f"page-{place:02d}"): 40 - 2 * place for place in range(1, 13)}
"""Twelve pages, the first clicked most."""
CLICKED = release(clicks=PAGES)


@pytest.mark.parametrize(("place", "gain"), [(1, 1.0), (10, 1 / log2(11)), (11, 0.0)])
def test_adhoc_lists_ten_pages(place: int, gain: float) -> None:
    test = part(("eve", 0, "query", 1, f"page-{place:02d}"))
    found = run_task(Adhoc(), NOBODY, CLICKED, test)
    assert found["random walk: nDCG@10"].values == pytest.approx([gain])
    assert found["random walk with page impact: nDCG@10"].values == pytest.approx([gain])
    assert found["random walk: MAP"].values == pytest.approx([1 / place if place <= 10 else 0.0])
    assert found["random walk: P@10"].values == pytest.approx([0.1 if place <= 10 else 0.0])
    assert found["random walk: P@5"].values == pytest.approx([0.2 if place <= 5 else 0.0])


@pytest.mark.parametrize(("place", "gain"), [(1, 1.0), (10, 1 / log2(11)), (11, 0.0)])
def test_session_search_lists_ten_pages(place: int, gain: float) -> None:
    test = part(("eve", 0, "query", 1, f"page-{place:02d}"))
    found = run_task(SessionSearch(), NOBODY, CLICKED, test)
    assert found["random walk: nDCG@10"].values == pytest.approx([gain])
    assert found["random walk: MAP"].values == pytest.approx([1 / place if place <= 10 else 0.0])


def test_session_search_walks_to_queries_anywhere_later_and_back_from_pages() -> None:
    # Only "later" leads to a page, and only as a query anywhere after: the steps lead elsewhere.
    data = release(
        clicks={("later", "X"): 3, ("third", "X"): 1, ("third", "Y"): 1},
        steps={("first", "dead end"): 5},
        sequences=[(["first", "later"], 5)],
    )
    test = part(("eve", 0, "first", 1, "X"), ("fay", 0, "later", 1, "Y"))
    found = run_task(SessionSearch(), NOBODY, data, test)["random walk: nDCG@10"]
    # eve's walk reaches X; fay's goes over X back to the third query, and from there to Y, in second place.
    assert found.values == pytest.approx([1.0, 1 / log2(3)])


@pytest.mark.parametrize(("place", "precision", "recall"), [(1, 0.2, 1.0), (5, 0.2, 1.0), (6, 0.0, 0.0)])
def test_suggestion_lists_five_queries(place: int, precision: float, recall: float) -> None:
    data = release(sequences=[(["query", f"next-{n}"], 20 - n) for n in range(1, 8)])
    test = part(("eve", 0, "query", None, None), ("eve", 1, f"next-{place}", None, None))
    found = run_task(Suggestion(), NOBODY, data, test)
    assert found["query flow and clicks: P@5"].values == pytest.approx([precision])
    assert found["query flow and clicks: R@5"].values == pytest.approx([recall])
