"""Histograms of a release against those of the log: shares of what, and what a missing table is made of."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.thesis.thesis_statistics import ThesisStatistics as Statistics
from tests.evaluate_log import part, release

from tacit.evaluate import ReleasedData, run_task

NOBODY = part()
ORIGINAL = part(
    *((f"u{n}", 0, "sun", None, None) for n in range(4)),
    *((f"u{n}", 1, "moon", None, None) for n in range(3)),
    *((f"u{n}", 2, "star", None, None) for n in range(2)),
    ("u0", 3, "sky", None, None),
)
"""Four asked for sun, three then for moon, two then for star, one then for sky."""


def figures(released: ReleasedData) -> dict[str, float]:
    return {name: found.mean for name, found in run_task(Statistics(), ORIGINAL, released, NOBODY).items()}


def test_invented_items_are_a_share_of_what_was_released() -> None:
    found = figures(release(queries={"sun": 4, "rain": 2, "hail": 1}))
    assert found["queries: invented"] == pytest.approx(2 / 3)
    assert found["queries: kept"] == pytest.approx(1 / 4)
    assert found["queries: missing mass"] == pytest.approx(6 / 10)


def test_items_are_ranked_where_both_have_them() -> None:
    # The order of the three is the reverse; with sky, which was not released, as 0 it would not be.
    found = figures(release(queries={"sun": 1, "moon": 2, "star": 3, "rain": 50}))
    assert found["queries: rank correlation"] == pytest.approx(-1)
    alike = figures(release(queries={"sun": 2, "moon": 2, "star": 2}))
    assert np.isnan(alike["queries: rank correlation"])


def test_pairs_are_those_of_sequences_where_no_table_of_pairs_was_released() -> None:
    found = figures(release(sequences=[(["sun", "moon"], 3), (["moon", "star"], 1)]))
    # Of the log's pairs sun-moon (3), moon-star (2) and star-sky (1) the first two are there.
    assert found["pairs: kept"] == pytest.approx(2 / 3)
    assert found["pairs: invented"] == 0
    assert found["pairs: total variation"] == pytest.approx(
        (abs(3 / 6 - 3 / 4) + abs(2 / 6 - 1 / 4) + 1 / 6) / 2
    )
    assert np.isnan(found["queries: total variation"])  # it has no table of queries


def test_words_are_counted_by_the_queries_that_have_them() -> None:
    found = figures(release(queries={"sun moon": 3, "sun": 1}))
    # sun 4 and moon 3, of the log's 4, 3, 2 and 1
    assert found["keywords: total variation"] == pytest.approx(
        (abs(4 / 10 - 4 / 7) + abs(3 / 10 - 3 / 7) + 2 / 10 + 1 / 10) / 2
    )


def test_a_release_of_queries_without_a_word_has_no_words() -> None:
    found = figures(release(queries={"-": 40}))
    assert found["keywords: kept"] == 0
    assert found["keywords: missing mass"] == 1
    assert np.isnan(found["queries: invented"])  # it is no query: nothing is there
