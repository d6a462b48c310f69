"""Each task against values worked out by hand on tiny logs, and where there is nothing to judge."""

from __future__ import annotations

from math import log, log2

import numpy as np
import pytest
from benchmarks.thesis.thesis_adhoc import ThesisAdhoc as Adhoc
from benchmarks.thesis.thesis_adhoc import rank_urls, transition_matrix, walk
from benchmarks.thesis.thesis_session_search import ThesisSessionSearch as SessionSearch
from benchmarks.thesis.thesis_statistics import ThesisStatistics as Statistics
from benchmarks.thesis.thesis_suggestion import ThesisSuggestion as Suggestion
from benchmarks.thesis.thesis_suggestion import suggest
from tests.evaluate_log import part, release

from tacit.evaluate import LogPart, run_task, task_class
from tacit.evaluate.sweep.sweeping import unjudged_tasks
from tacit.evaluate.task import Measured

NOBODY = part()
RELEASE = release(
    queries={"java": 4, "java coffee": 2, "tea": 1},
    clicks={("java", "A"): 2, ("java", "B"): 1, ("java coffee", "B"): 1},
    steps={("java", "java coffee"): 1},
)


def test_the_walk_by_hand() -> None:
    matrix = transition_matrix(RELEASE).toarray()
    # from java: stay 0.1, else A 2/4, B 1/4, java coffee 1/4 of 0.9; urls keep the walker
    assert RELEASE.queries.texts.to_pylist() == ["java", "java coffee", "tea"]
    assert matrix[0] == pytest.approx([0.1, 0.225, 0, 0.45, 0.225])
    assert matrix[1] == pytest.approx([0, 0.1, 0, 0, 0.9])
    assert matrix[2:] == pytest.approx(np.eye(5)[2:])
    ended = walk(transition_matrix(RELEASE), np.array([0]), steps=2, negligible=0).toarray()[0]
    assert ended == pytest.approx([0.01, 0.045, 0, 0.495, 0.45])


def test_page_impact_by_hand() -> None:
    matrix = transition_matrix(RELEASE, impact=True).toarray()
    factor = 1 + log(1 + 2)  # A and B both have two clicks
    total = 0.1 + 0.225 + 0.675 * factor
    assert matrix[0] == pytest.approx(
        [0.1 / total, 0.225 / total, 0, 0.45 * factor / total, 0.225 * factor / total]
    )
    assert matrix.sum(axis=1) == pytest.approx(np.ones(5))


def test_urls_lead_back_in_sessions() -> None:
    matrix = transition_matrix(RELEASE, queries="follows", back=True).toarray()
    assert matrix[3] == pytest.approx([0.9, 0, 0, 0.1, 0])
    assert matrix[4] == pytest.approx([0.45, 0.45, 0, 0, 0.1])


TEST = part(
    ("eve", 0, "java", 3, "B"),
    ("eve", 50, "unheard of", 1, "Z"),
    ("fay", 0, "tea", 1, "T"),
    ("gus", 0, "java coffee", None, None),
)


def test_adhoc_by_hand() -> None:
    found = run_task(Adhoc(steps=2, negligible=0), NOBODY, RELEASE, TEST)
    # Units: java, tea, unheard of. For java the walk lists A (0.495), B (0.45), and B was clicked. The walk
    # from tea ends nowhere and the third query is unknown: both are unanswered.
    ndcg = found["random walk: nDCG@10"]
    assert ndcg.values == pytest.approx([1 / log2(3), np.nan, np.nan], nan_ok=True)
    assert (ndcg.units, ndcg.answered) == (3, 1)
    assert ndcg.mean_of_all == pytest.approx(1 / log2(3) / 3)
    assert found["random walk: MAP"].mean == pytest.approx(1 / 2)
    assert found["random walk: P@5"].mean == pytest.approx(1 / 5)
    assert found["random walk: P@10"].mean == pytest.approx(1 / 10)


def test_feedback_by_hand_and_the_leak_of_eq_3_8() -> None:
    # Users are halved by the order of their names: eve and gus (0, 2) give feedback, fay and hal the truth.
    test = part(
        ("eve", 0, "java", 3, "B"),
        ("fay", 0, "java", 5, "B"),
        ("gus", 0, "java", 9, "C"),
        ("hal", 0, "tea", 1, "T"),
    )
    found = run_task(Adhoc(), NOBODY, RELEASE, test)
    # O: A 1, B 2. Feedback: B at rank 3, C (not released) at 9.
    # A: 1/2; B: 0.6/4 + 0.4/3 = 0.283; C: 0.6/10 = 0.06. Truth of java: B, in second place.
    assert found["implicit feedback: nDCG@10"].values == pytest.approx([1 / log2(3), np.nan], nan_ok=True)
    # As printed, the truth is B and C, and C is known from the very click that makes it true.
    assert found["implicit feedback, as printed: P@10"].values == pytest.approx([0.2, np.nan], nan_ok=True)
    assert found["random walk: P@10"].values == pytest.approx([0.1, np.nan], nan_ok=True)


def test_suggestion_by_hand() -> None:
    data = release(
        clicks={("java", "A"): 2, ("java", "B"): 1, ("java coffee", "B"): 1, ("mocha", "A"): 7},
        sequences=[(["java", "java coffee"], 3), (["java", "tea"], 1), (["tea", "java"], 2)],
    )
    names = data.queries.texts.to_pylist()
    listed = suggest(data, np.array([names.index("java")]))
    # cosines with java (2, 1): java coffee (0, 1): 1/√5 = 0.447; mocha (7, 0): 2/√5 = 0.894. Flow 3/4 and 0.
    # Half of each: java coffee 0.599, mocha 0.447, tea 0.125. Itself (cosine 1) is not suggested.
    assert [names[item] for item in listed.item] == ["java coffee", "mocha", "tea"]
    test = part(
        ("eve", 0, "java", None, None),
        ("eve", 1, "tea", None, None),
        ("eve", 2, "java coffee", None, None),
        ("eve", 500, "java", None, None),  # a session of one query is no unit
        ("fay", 0, "unheard of", None, None),
        ("fay", 1, "java", None, None),
    )
    found = run_task(Suggestion(), NOBODY, data, test)
    # Prefix java: truth {tea, java coffee}, both in the list: P 2/5, R 1. Prefix tea: truth {java coffee};
    # suggested is java: 0. The session is their mean. fay's only prefix is unknown.
    assert found["query flow and clicks: P@5"].values == pytest.approx([0.2, np.nan], nan_ok=True)
    assert found["query flow and clicks: R@5"].values == pytest.approx([0.5, np.nan], nan_ok=True)


def test_session_search_by_hand() -> None:
    discount = 0.5
    data = release(clicks={("a", "X"): 3, ("a", "Y"): 1, ("b", "Y"): 1})
    matrix = transition_matrix(data, queries="follows", back=True)
    one = {
        name: [data.urls.texts[int(u)].as_py() for u in rank_urls(data, matrix, np.array([q])).item]
        for q, name in enumerate("ab")
    }
    assert one == {"a": ["X", "Y"], "b": ["Y", "X"]}
    test = part(
        ("eve", 0, "a", None, None),
        ("eve", 1, "b", 1, "X"),
        ("fay", 0, "b", None, None),
        ("fay", 1, "a", 1, "X"),
        ("gus", 0, "never heard", 1, "X"),
        ("hal", 0, "a", None, None),  # no click: no unit
    )
    found = run_task(SessionSearch(discount), NOBODY, data, test)
    # eve: X 0.5·1 + 1/2 = 1, Y 0.5/2 + 1 = 1.25: X is second. fay: X 0.5/2 + 1, Y 0.5 + 1/2: X is first.
    assert found["random walk: nDCG@10"].values == pytest.approx([1 / log2(3), 1, np.nan], nan_ok=True)
    assert found["random walk: MAP"].values == pytest.approx([0.5, 1, np.nan], nan_ok=True)


def test_statistics_by_hand() -> None:
    original = part(
        *((f"u{n}", 0, "java", None, None) for n in range(6)),
        *((f"u{n}", 40, "tea", None, None) for n in range(3)),
        ("u0", 80, "mocha", None, None),
    )
    found = run_task(Statistics(), original, release(queries={"java": 9, "tea": 2, "invented": 1}), NOBODY)
    value = {name: measured.mean for name, measured in found.items()}
    assert value["queries: kept"] == pytest.approx(2 / 3)
    assert value["queries: missing mass"] == pytest.approx(1 / 10)
    assert value["queries: invented"] == pytest.approx(1 / 3)
    expected = (abs(6 / 10 - 9 / 12) + abs(3 / 10 - 2 / 12) + 1 / 10 + 1 / 12) / 2
    assert value["queries: total variation"] == pytest.approx(expected)
    assert np.isnan(value["queries: rank correlation"])  # two items have no order worth a figure
    assert value["keywords: kept"] == pytest.approx(2 / 3)  # words of the released queries
    assert np.isnan(value["clicks: kept"])  # nobody clicked
    three = release(queries={"java": 9, "tea": 2, "mocha": 1})
    ranked = run_task(Statistics(), original, three, NOBODY)
    assert ranked["queries: rank correlation"].mean == pytest.approx(1)


@pytest.mark.parametrize("name", unjudged_tasks())
@pytest.mark.parametrize(
    "test", [TEST, NOBODY, part(("eve", 0, "java", 1, "A"))], ids=["some", "none", "one"]
)
def test_an_empty_release_answers_nothing_and_breaks_nothing(name: str, test: LogPart) -> None:
    original = part(("ann", 0, "java", 1, "A"), ("ann", 1, "tea", None, None))
    for data in (release(), release(queries={"somewhere else": 3})):
        for measure, found in run_task(task_class(name)(), original, data, test).items():
            if name == "statistics":
                assert measure.endswith(("kept", "missing mass")) <= (found.mean in (0.0, 1.0))
            elif not measure.startswith(("engine and clicks", "greedy cache", "people and words")):
                assert np.nan_to_num(found.mean_of_all) == 0  # those are served by public knowledge
    again = {
        name: found.units for name, found in run_task(task_class(name)(), original, RELEASE, test).items()
    }
    assert again == {
        name: found.units for name, found in run_task(task_class(name)(), original, release(), test).items()
    }


def test_measured_tells_answered_units_from_all() -> None:
    found = Measured(np.array([1.0, np.nan, 0.5, np.nan]))
    assert (found.mean, found.mean_of_all, found.answered) == (0.75, 0.375, 2)
    assert repr(found) == "Measured(0.75 where answered (2 of 4 units), 0.375 over all)"
    assert np.isnan(Measured(np.array([])).mean) and np.isnan(Measured(np.array([np.nan])).mean)
