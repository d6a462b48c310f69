"""Query suggestion: the two parts of a score, and what a session's value is made of."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.thesis.thesis_suggestion import ThesisSuggestion as Suggestion
from benchmarks.thesis.thesis_suggestion import suggest
from tests.evaluate_log import part, release

from tacit.evaluate import run_task

NOBODY = part()
PRECISION, RECALL = "query flow and clicks: P@5", "query flow and clicks: R@5"
# Clicks of java: A 3, B 4. tea is like it by 4/5 (B alone), coffee by 3/5 (A alone); coffee follows it.
DATA = release(
    clicks={("java", "A"): 3, ("java", "B"): 4, ("tea", "B"): 2, ("coffee", "A"): 9},
    sequences=[(["java", "coffee"], 1), (["java", "mocha"], 3)],
)


@pytest.mark.parametrize(
    ("weight", "order"),
    [
        (1.0, ["tea", "coffee"]),  # 0.8, 0.6
        (0.0, ["mocha", "coffee"]),  # 3/4, 1/4
        (0.4, ["mocha", "coffee", "tea"]),  # 0.45, 0.24 + 0.15, 0.32
        (0.7, ["tea", "coffee", "mocha"]),  # 0.56, 0.42 + 0.075, 0.225
    ],
)
def test_likeness_and_flow_are_mixed_as_asked(weight: float, order: list[str]) -> None:
    names = DATA.queries.texts.to_pylist()
    listed = suggest(DATA, np.array([names.index("java")]), weight=weight)
    assert [names[item] for item in listed.item] == order
    # The task asks for the same mixture: with weight 0 nothing leads to tea.
    test = part(("eve", 0, "java", None, None), ("eve", 1, "tea", None, None))
    found = run_task(Suggestion(weight), NOBODY, DATA, test)[RECALL].values
    assert found == pytest.approx([float("tea" in order)])


def test_likeness_is_the_cosine_of_clicks() -> None:
    data = release(
        clicks={("java", "A"): 3, ("java", "B"): 4, ("mocha", "A"): 3, ("mocha", "B"): 4, ("tea", "B"): 2}
    )
    names = data.queries.texts.to_pylist()
    listed = suggest(data, np.array([names.index("java")]))
    assert [names[item] for item in listed.item] == ["mocha", "tea"]  # 1 and 4/5


def test_flow_is_to_queries_anywhere_later() -> None:
    data = release(steps={("java", "milk"): 5}, sequences=[(["java", "coffee"], 5)])
    names = data.queries.texts.to_pylist()
    assert [names[item] for item in suggest(data, np.array([names.index("java")])).item] == ["coffee"]


def test_later_queries_count_each_known_or_not() -> None:
    test = part(
        *(("eve", n, q, None, None) for n, q in enumerate(["java", "coffee", "rain", "hail", "coffee"]))
    )
    found = run_task(Suggestion(0.0), NOBODY, DATA, test)
    # After java came coffee, rain and hail; coffee is suggested. Nothing is for the three other prefixes.
    assert found[RECALL].values == pytest.approx([1 / 3 / 4])
    assert found[PRECISION].values == pytest.approx([1 / 5 / 4])


def test_a_session_is_the_mean_over_all_its_prefixes() -> None:
    test = part(*(("eve", n, q, None, None) for n, q in enumerate(["snow", "java", "coffee"])))
    # java is served; snow, before it, is not and counts as 0
    assert run_task(Suggestion(0.0), NOBODY, DATA, test)[RECALL].values == pytest.approx([1 / 2])


def test_a_popular_query_is_not_suggested_for_itself() -> None:
    popular = {"java": 9, "tea": 8, "coffee": 7, "milk": 6, "mocha": 5, "rain": 4}
    test = part(("eve", 0, "java", None, None), ("eve", 1, "rain", None, None))
    # Of five places none is taken by java, the most popular: rain is the fifth of the others.
    found = run_task(Suggestion(), NOBODY, release(queries=popular), test)
    assert found["people and words: R@5"].values == pytest.approx([1.0])
