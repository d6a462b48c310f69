"""Nothing released and the whole log: what serves a task without a log, and what no filter of it beats."""

from __future__ import annotations

from math import log2
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.evaluate_log import part, release

from tacit.evaluate import LogPart, ReleasedData, released_whole, run_task, task_class
from tacit.evaluate.data import CountedLog, folds
from tacit.evaluate.public import TRUST, fewer_words, with_synonyms, word_shares
from tacit.evaluate.sweep import ORIGINAL, SweepPlan, run_sweep
from tacit.evaluate.sweep.settings import LEAST
from tacit.evaluate.sweep.sweeping import unjudged_tasks, uses_of
from tacit.evaluate.tasks.adhoc import Adhoc
from tacit.evaluate.tasks.index_caching import IndexCaching
from tacit.evaluate.tasks.session_search import SessionSearch
from tacit.evaluate.tasks.statistics import Statistics
from tacit.evaluate.tasks.substitution import Substitution
from tacit.evaluate.tasks.suggestion import Suggestion
from tacit.world.synth import SyntheticLog

NOBODY = part()
NDCG, ALONE = "engine and clicks: nDCG@10", release()


def adhoc(data: ReleasedData, test: LogPart) -> list[float]:
    return run_task(Adhoc(), NOBODY, data, test)[NDCG].values.tolist()


def test_with_nothing_released_the_engine_ranks_alone() -> None:
    test = part(("eve", 0, "java", 3, "B"), ("fay", 0, "tea", 1, "T"), ("gus", 0, "mocha", None, "M"))
    # units by name: java at 3, mocha at no known place, tea at 1
    assert adhoc(ALONE, test) == pytest.approx([1 / log2(4), 0, 1])
    # the best of the ranks at which a page was clicked; beyond the tenth it is not seen
    again = part(("eve", 0, "java", 9, "B"), ("fay", 0, "java", 2, "B"), ("fay", 9, "tea", 11, "T"))
    assert adhoc(ALONE, again) == pytest.approx([1 / log2(3), 0])


def test_released_clicks_move_pages_up_and_others_stay() -> None:
    test = part(("eve", 0, "java", 3, "B"), ("fay", 0, "tea", 4, "T"))
    # B scores n + 20/4, the first place 20/2: from six people on it is first, from two second (20/3)
    for people, place in ((1, 3), (2, 2), (6, 1)):
        found = adhoc(release(clicks={("java", "B"): people}), test)
        assert found == pytest.approx([1 / log2(place + 1), 1 / log2(5)]), people
    assert TRUST == 20


def test_a_released_page_that_nobody_clicked_takes_the_first_free_place() -> None:
    test = part(("eve", 0, "java", 1, "A"))
    # X is the second of the engine's list: 1 + 20/3 is below 20/2 of A; with four people it is above.
    assert adhoc(release(clicks={("java", "X"): 1}), test) == pytest.approx([1])
    assert adhoc(release(clicks={("java", "X"): 4}), test) == pytest.approx([1 / log2(3)])
    # Two such pages take the second and third place in the order of their clicks; neither is in the way.
    assert adhoc(release(clicks={("java", "X"): 1, ("java", "Y"): 2}), test) == pytest.approx([1])
    many = {("java", f"page-{n:02d}"): 50 for n in range(12)}
    assert adhoc(release(clicks=many), test) == pytest.approx([0])  # twelve above it


def test_a_session_is_served_by_the_engines_lists_of_its_queries() -> None:
    test = part(("eve", 0, "a", 2, "X"), ("eve", 1, "b", None, None), ("fay", 0, "a", 1, "X"))
    found = run_task(SessionSearch(0.5), NOBODY, ALONE, test)[NDCG].values
    # eve: of b's list the pages score 1, 1/2, 1/3, …, of a's half as much: X 1/4. Better are b's first two
    # (1, 1/2), a's first (1/2), b's third (1/3); as good b's fourth, which is no page of the log and later.
    assert found == pytest.approx([1 / log2(6), 1])
    moved = run_task(SessionSearch(0.5), NOBODY, release(clicks={("a", "X"): 9}), test)[NDCG].values
    assert moved == pytest.approx([1 / log2(3), 1])  # X first of a's list: 1/2, as good as b's second
    trial = SessionSearch().against(NOBODY, test)
    assert trial.owners.tolist() == [0, 1]


def test_the_query_with_a_word_less_is_suggested_without_a_log() -> None:
    assert fewer_words("cheap red shoes") == ["cheap red", "red shoes", "cheap shoes"]
    assert fewer_words("a a") == ["a"] and fewer_words("shoes") == []
    test = part(
        ("eve", 0, "red shoes", None, None), ("eve", 1, "red", None, None), ("eve", 2, "boots", None, None)
    )
    found = run_task(Suggestion(), NOBODY, ALONE, test)["people and words: R@5"]
    # red shoes: red and shoes are suggested, red and boots came; red: nothing to suggest, boots came.
    assert found.values == pytest.approx([(1 / 2 + 0) / 2])
    followed = release(steps={("red", "boots"): 1})
    assert run_task(Suggestion(), NOBODY, followed, test)["people and words: R@5"].values == pytest.approx(
        [(1 / 2 + 1) / 2]
    )
    # boots is popular, so it is suggested where there is room
    known = release(queries={"boots": 7, "red": 1})
    assert run_task(Suggestion(), NOBODY, known, test)["people and words: R@5"].values == pytest.approx([1])


def test_one_person_counts_more_than_a_word_less_and_that_more_than_popularity() -> None:
    steps = {("red shoes", f"other {n}"): 1 for n in range(5)}
    test = part(("eve", 0, "red shoes", None, None), ("eve", 1, "red", None, None))
    crowded = release(steps=steps, queries={"red shoes": 1} | {f"other {n}": 1 for n in range(5)})
    measure = "people and words: R@5"
    assert run_task(Suggestion(), NOBODY, crowded, test)[measure].values == pytest.approx([0])
    popular = release(queries={f"other {n}": 100 for n in range(5)})
    assert run_task(Suggestion(), NOBODY, popular, test)[measure].values == pytest.approx([1])


def test_the_public_list_is_behind_counts() -> None:
    shares = word_shares()
    assert sum(shares.values()) == pytest.approx(1) and "the" not in shares
    assert shares["government"] > shares["zebra"] > 0
    test = part(("eve", 0, "government zebra", None, None), ("eve", 1, "qzxv", None, None))
    found = run_task(IndexCaching(), NOBODY, ALONE, test)
    assert found["greedy cache: hit probability"].values[1] == 0
    assert found["greedy cache: hit probability"].values[0] > 0
    assert found["release alone: hit probability"].values == pytest.approx([0, 0])
    assert IndexCaching().against(NOBODY, test).owners.tolist() == [0, 0]


def test_synonyms_are_behind_substitutions() -> None:
    assert with_synonyms("big car", 3)[0] == "big auto" and len(with_synonyms("big car", 3)) == 3
    original = part(*((f"u{n}", m, q, None, None) for n in range(3) for m, q in enumerate(["car", "auto"])))
    test = part(("eve", 0, "car", None, None))
    found = run_task(Substitution(), original, ALONE, test)
    assert found[Substitution.headline].values == pytest.approx([1])
    assert np.isnan(found["top 5: recall"].values).all()


def test_shared_mass_by_hand() -> None:
    original = part(*((f"u{n}", 0, "qzxv", None, None) for n in range(3)), ("u9", 0, "zebra", None, None))
    shares = word_shares()["zebra"]
    alone = run_task(Statistics(), original, ALONE, NOBODY)[Statistics.headline].mean
    assert alone == pytest.approx(shares)  # of the public list's mass, a quarter is wanted: there is less
    told = run_task(Statistics(), original, release(queries={"qzxv": 100}), NOBODY)[Statistics.headline].mean
    assert told == pytest.approx(
        3 / 4 + shares / 4
    )  # three of four searches are told, the list tells the rest
    none = run_task(Statistics(), original, release(queries={"elsewhere": 9}), NOBODY)[
        Statistics.headline
    ].mean
    assert none == alone  # what is of no use is left aside
    assert run_task(Statistics(), original, released_whole(original), NOBODY)[Statistics.headline].mean == 1


def test_no_search_is_without_a_letter_or_digit() -> None:
    test = part(
        ("eve", 0, "red shoes", None, None), ("eve", 1, "-", None, None), ("eve", 2, "red", None, None)
    )
    assert test.queries.texts.to_pylist() == ["red", "red shoes"]
    dashed = release(queries={"-": 90, "7": 1}, steps={("red shoes", "-"): 9})
    assert dashed.queries.texts.to_pylist() == ["7"] and len(dashed.steps) == 0


class Filtered:
    """Some rows of a log's tables."""

    def __init__(self, original: CountedLog, kept: dict[str, np.ndarray]) -> None:
        self.tables = {kind: table.filter(pa.array(kept[kind])) for kind, table in original.tables.items()}


def test_no_filter_of_the_log_beats_the_log(tmp_path: Path) -> None:
    """Thresholds, halves of the users' rows, and kinds of tables left out."""
    table = tmp_path / "log.parquet"
    SyntheticLog(120, seed=1).write(table)
    plan = SweepPlan((ORIGINAL,), folds=2)
    whole = run_sweep(table, tmp_path / "sweep", plan)
    random = np.random.default_rng(1)
    values: dict[tuple[str, str], list[float]] = {}
    for original, test in folds(pq.read_table(table), 2):
        filters: dict[str, ReleasedData] = {
            f"at least {k}": released_whole(original, k) for k in (1, 2, 4, 7, 20)
        }
        for n in range(2):
            kept = {kind: random.random(t.num_rows) < 0.5 for kind, t in original.tables.items()}
            filters[f"half {n}"] = released_whole(Filtered(original, kept))
        for kind in original.tables:
            left = [t for other, t in original.tables.items() if other != kind]
            filters[f"without {kind}"] = ReleasedData.from_tables(left)
        top = [t.sort_by([("count", "descending")]).slice(0, 200) for t in original.tables.values()]
        filters["top"] = ReleasedData.from_tables(top)
        for name in unjudged_tasks():
            trial = task_class(name)().against(original, test)
            for label, data in filters.items():
                found = trial.measure(data)[task_class(name).headline]
                values.setdefault((name, label), []).append(found.mean_of_all * found.units)
    assert len(values) > 70
    for (name, label), found in values.items():
        best = whole.headline(name)[ORIGINAL.key]
        # a half drawn at random may serve two sessions of a thousand more by chance
        chance = 2e-3 if label.startswith("half") else 1e-4
        assert sum(found) / best.units <= best.value + chance, (name, label)


def test_the_whole_log_is_used_by_its_best_threshold(tmp_path: Path) -> None:
    """Whichever threshold serves a task best counts."""
    SyntheticLog(100, seed=3).write(tmp_path / "log.parquet")
    found = run_sweep(tmp_path / "log.parquet", tmp_path / "sweep", SweepPlan((ORIGINAL,), folds=2))
    total = dict.fromkeys(found.tasks, 0.0)
    for original, test in folds(pq.read_table(tmp_path / "log.parquet"), 2):
        for name, task in found.tasks.items():
            trial = task().against(original, test)
            uses = [released_whole(original), *uses_of(original, [4], original.tables)]
            assert 4 + len(original.tables) <= len(uses) <= len(LEAST) + 3 + len(original.tables)
            assert uses[-1].rows == 0  # where a log misleads, the best use of it is none
            tried = [trial.measure(use)[task.headline] for use in uses]
            total[name] += max(each.mean_of_all for each in tried) * tried[0].units
    for name, value in total.items():
        best = found.headline(name)[ORIGINAL.key]
        assert best.value == pytest.approx(value / best.units, abs=1e-6), name
