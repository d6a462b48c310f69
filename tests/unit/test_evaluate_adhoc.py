"""Ad-hoc search: how far walks go, what counts as relevant, whose feedback counts and how much."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from benchmarks.thesis.thesis_adhoc import ThesisAdhoc as Adhoc
from tests.evaluate_log import part, release

from tacit.evaluate import run_task

NOBODY = part()
FEEDBACK = "implicit feedback: nDCG@10"
TWELVE = release(clicks={("java", f"page-{place:02d}"): 40 - 2 * place for place in range(1, 13)})


def test_walks_go_as_far_as_asked() -> None:
    data = release(clicks={("java coffee", "X"): 1}, steps={("java", "java coffee"): 1})
    test = part(("eve", 0, "java", 1, "X"))
    values = [run_task(Adhoc(n), NOBODY, data, test)["random walk: nDCG@10"].values[0] for n in (1, 2)]
    assert values == pytest.approx([np.nan, 1], nan_ok=True)


def test_what_is_negligible_is_not_listed() -> None:
    data = release(clicks={("java", "X"): 9, ("java", "Y"): 1})
    test = part(("eve", 0, "java", 2, "Y"))
    values = [
        run_task(Adhoc(1, limit), NOBODY, data, test)["random walk: nDCG@10"].values[0]
        for limit in (0.08, 0.1)
    ]
    assert values == pytest.approx([1 / log2(3), 0])  # the walk is at Y with 0.09


def test_popular_pages_attract_where_impact_counts() -> None:
    # Both were clicked once for java; B by many for other queries. By itself A comes first in the alphabet.
    data = release(clicks={("java", "A"): 1, ("java", "B"): 1, ("tea", "B"): 50})
    test = part(("eve", 0, "java", 2, "B"))
    found = run_task(Adhoc(), NOBODY, data, test)
    assert found["random walk: nDCG@10"].values == pytest.approx([1 / log2(3)])
    assert found["random walk with page impact: nDCG@10"].values == pytest.approx([1])


def test_every_page_clicked_is_relevant_once_known_or_not() -> None:
    data = release(clicks={("java", "A"): 1})
    test = part(
        ("eve", 0, "java", 1, "A"),
        ("fay", 0, "java", 1, "A"),
        ("eve", 0, "java", 2, "unknown"),
        ("fay", 0, "java", 3, "unheard of"),
    )
    assert run_task(Adhoc(), NOBODY, data, test)["random walk: MAP"].values == pytest.approx([1 / 3])


def test_the_best_rank_of_a_page_counts() -> None:
    data = release(clicks={("java", "A"): 5, ("java", "C"): 3, ("java", "B"): 2})
    # B, third: 0.6/2 + 0.4/4 = 0.4 by the click at rank 1, above C; by that at 9 it would stay below.
    test = part(("eve", 0, "java", 9, "B"), ("eve", 5, "java", 1, "B"), ("fay", 0, "java", 7, "B"))
    assert run_task(Adhoc(), NOBODY, data, test)[FEEDBACK].values == pytest.approx([1 / log2(3)])


def test_places_beyond_the_tenth_count_beside_feedback() -> None:
    # 0.6/5 + 0.4/12 = 0.153: sixth, between 1/6 of the fifth and 1/7 of the sixth.
    test = part(("eve", 0, "java", 4, "page-11"), ("fay", 0, "java", 7, "page-11"))
    assert run_task(Adhoc(), NOBODY, TWELVE, test)[FEEDBACK].values == pytest.approx([1 / log2(7)])


def test_feedback_answers_no_query_that_the_release_does_not() -> None:
    data = release(queries={"tea": 3}, clicks={("java", "A"): 1})
    test = part(("eve", 0, "tea", 1, "T"), ("fay", 0, "tea", 1, "T"))
    found = run_task(Adhoc(), NOBODY, data, test)
    assert np.isnan(found[FEEDBACK].values).all()
    assert np.isnan(found["implicit feedback, as printed: nDCG@10"].values).all()
