"""What a sweep makes of its runs: means, intervals, paired tests, sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tacit.errors import ParameterError
from tacit.evaluate.release import Sensitivity, results_of
from tacit.evaluate.report.summary import summarise
from tacit.evaluate.results import cell
from tacit.evaluate.sweep import ORIGINAL, ReleaseSetting, grid
from tacit.evaluate.sweep.measurements import Measurements, gather, holm, mean_interval, paired
from tacit.evaluate.sweep.runs import RunStore, SweepRun
from tacit.release.registry import MECHANISMS


def test_the_paired_test_is_scipys_over_units_that_both_answer() -> None:
    random = np.random.default_rng(3)
    first, second = random.random(50), random.random(50)
    found = paired(np.append(first, [np.nan, 0.3]), np.append(second, [0.1, np.nan]))
    expected = stats.ttest_rel(first, second)
    assert found.units == 50
    assert found.p == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval()
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    same = paired(first, first)
    assert (same.mean, same.p) == (0, 1)
    assert paired(first[:3] + 0.5, first[:3]).p == pytest.approx(
        0.25
    )  # three units, all better: a coin thrice
    assert paired(first[:0], first[:0]).units == 0
    assert np.isnan(paired(first[:1], second[:1]).p)


def test_holms_correction_by_hand() -> None:
    # sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, never falling
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.7, 0.9]) == pytest.approx([1.0, 1.0])
    # what could not be tested is not counted among the tests: 2 · 0.01
    assert holm([0.01, float("nan"), 0.04]) == pytest.approx([0.02, np.nan, 0.04], nan_ok=True)
    assert holm([0.5, float("nan"), 0.9]) == pytest.approx([1.0, np.nan, 1.0], nan_ok=True)


def test_a_true_null_is_rejected_as_often_as_stated() -> None:
    random = np.random.default_rng(7)
    rejected = sum(paired(random.random(40), random.random(40)).p < 0.05 for _ in range(2_000))
    assert 60 < rejected < 145  # 100 expected; outside with probability below 1e-4


def test_intervals_are_over_repetitions() -> None:
    mean, low, high = mean_interval([0.4, 0.6, float("nan")])
    half = stats.t.ppf(0.975, 1) * np.std([0.4, 0.6], ddof=1) / np.sqrt(2)
    assert (mean, low, high) == (pytest.approx(0.5), pytest.approx(0.5 - half), pytest.approx(0.5 + half))
    assert np.isnan(mean_interval([0.4])[1]) and np.isnan(mean_interval([])[0])


HEADLINE = "adhoc/random walk: nDCG@10"
PRIVATE = ReleaseSetting("zealous", {"epsilon": 4.0, "delta": 1e-6})
OTHER = ReleaseSetting("session", {"epsilon": 4.0, "delta": 1e-6})


def results(tmp_path: Path) -> Measurements:
    """Two folds of two units each; the private release answers one unit of each, draw by draw."""
    store = RunStore(tmp_path / "sweep", {"log": "x"})
    nan = np.nan
    values: dict[str, dict[tuple[int, int], list[float]]] = {
        ORIGINAL.key: {(0, 0): [1.0, 0.5], (1, 0): [0.0, 0.5]},
        PRIVATE.key: {(0, 0): [1.0, nan], (0, 1): [0.5, nan], (1, 0): [nan, 0.5], (1, 1): [nan, nan]},
        OTHER.key: {(0, 0): [0.5, nan], (0, 1): [0.5, nan], (1, 0): [nan, nan], (1, 1): [nan, nan]},
    }
    for setting in (ORIGINAL, PRIVATE, OTHER):
        for (fold, draw), listed in values[setting.key].items():
            run = SweepRun(
                fold, draw, {HEADLINE: np.array(listed, np.float32)}, {"queries": 10}, {"adhoc": 1.0}
            )
            store.save(setting, run)
    runs = {key: list(found) for key, found in values.items()}
    return gather(store, (ORIGINAL, PRIVATE, OTHER), ("adhoc",), runs)


def test_runs_are_put_together_by_hand(tmp_path: Path) -> None:
    found = results(tmp_path)
    by_setting = found.of("adhoc", "random walk: nDCG@10")
    original, private = by_setting[ORIGINAL.key], by_setting[PRIVATE.key]
    assert (original.mean, original.answered, original.units) == (0.5, 1.0, 4)
    # repetitions that answered: 1, 0.5, 0.5; over all units 0.5, 0.25, 0.25 and 0
    assert private.mean == pytest.approx(2 / 3)
    assert private.mean_of_all == pytest.approx(0.25)
    assert private.answered == pytest.approx(3 / 8)
    assert private.units == 4  # two folds of two, however often noise was drawn
    assert private.to_original is not None
    # unit by unit, the mean over draws that answered: 0.75 against 1, 0.5 against 0.5
    assert (private.to_original.units, private.to_original.mean) == (2, pytest.approx(-0.125))
    [contrast] = found.contrasts
    assert {contrast.first, contrast.second} == {PRIVATE.key, OTHER.key}
    assert (contrast.difference.units, contrast.difference.mean) == (1, pytest.approx(0.25))
    about = {"log": "x", "records": 8, "users": 4, "folds": 2, "draws": 2}
    shown = results_of(found, about, Sensitivity.AS_THE_LOG)
    assert "nan" not in str(shown.as_dict())
    assert repr(shown) == "Results(evaluation='release', 3 measurements)"
    assert str(shown).splitlines()[2:5] == [
        "adhoc random walk: nDCG@10",
        "  release      ε  rows  mean where answered  answered  mean over all  p",
        "  original     –  10    0.5                  100.0%    0.5            –",
    ]
    page = shown._repr_html_()
    assert page.count("<tr>") == 4 and '<td style="text-align:left">0.25</td>' in page
    frame = shown.to_pandas()
    assert len(frame) == 3 and frame["mean"].round(3).tolist() == [0.5, 0.667, 0.5]


def test_differences_are_tested_by_measure_and_contrasts_at_equal_epsilon(tmp_path: Path) -> None:
    budget = [
        ReleaseSetting(name, {"epsilon": epsilon, "delta": 1e-6})
        for name in ("zealous", "session")
        for epsilon in (4.0, 8.0)
    ]
    anonymous = ReleaseSetting("k-query", {"k": 5}, "k")
    settings, measures = [ORIGINAL, *budget, anonymous], (HEADLINE, "adhoc/random walk: MAP")
    store, random = RunStore(tmp_path / "sweep", {"log": "x"}), np.random.default_rng(5)
    runs = {s.key: [(0, 0)] if s is anonymous else [(0, 0), (1, 0)] for s in settings}  # its one fold alone
    values = {(s.key, f): {m: random.random(7) for m in measures} for s in settings for f in (0, 1)}
    for setting in settings:
        for fold, draw in runs[setting.key]:
            store.save(setting, SweepRun(fold, draw, values[setting.key, fold], {}, {}))
    found = gather(store, settings, ("adhoc",), runs)

    def whole(setting: ReleaseSetting, folds: int = 2) -> np.ndarray:
        return np.concatenate([values[setting.key, fold][HEADLINE] for fold in range(folds)])

    tested = found.of("adhoc", "random walk: nDCG@10")
    p = [stats.ttest_rel(whole(s), whole(ORIGINAL)).pvalue for s in budget]
    p.append(stats.ttest_rel(whole(anonymous, 1), whole(ORIGINAL, 1)).pvalue)
    assert [tested[s.key].p_corrected for s in (*budget, anonymous)] == pytest.approx(holm(p))
    pairs = {c.epsilon: (c.first, c.second, c.p_corrected) for c in found.contrasts}
    raw = [stats.ttest_rel(whole(budget[n]), whole(budget[n + 2])).pvalue for n in (0, 1)]
    four, eight = holm(raw)
    assert pairs == {
        4.0: (budget[0].key, budget[2].key, pytest.approx(four)),
        8.0: (budget[1].key, budget[3].key, pytest.approx(eight)),
    }
    assert len(found.contrasts) == 2  # not of different ε, nor with what has none


def test_the_summary_is_computed(tmp_path: Path) -> None:
    sentences = summarise(results(tmp_path))
    assert sentences[0].startswith(
        "Ad-hoc search: at ε = 4, zealous keeps most, 50% of what the original log gives over all test units"
    )
    assert sentences[0].endswith(
        "It can serve 38% of them, with nDCG@10 of 0.667 there (the original: 0.500 where it can)."
    )


def test_the_summary_names_who_serves_most_and_who_is_like_the_original(tmp_path: Path) -> None:
    store, nan = RunStore(tmp_path / "sweep", {"log": "x"}), np.nan
    original = [0.9, 0.7, 0.8, 0.6, 0.9, 0.5, 0.8, 0.7]
    values = {
        ORIGINAL.key: original,
        PRIVATE.key: [0.9, 0.7, 0.8, 0.6, nan, nan, nan, nan],  # as good, for half of the queries
        OTHER.key: [value - gap for value, gap in zip(original, [0.2, 0.3] * 4, strict=True)],
    }
    settings = (ORIGINAL, PRIVATE, OTHER)
    for setting in settings:
        listed = np.array(values[setting.key], np.float32)
        store.save(setting, SweepRun(0, 0, {HEADLINE: listed}, {"queries": 3}, {}))
    said = summarise(gather(store, settings, ("adhoc",), {s.key: [(0, 0)] for s in settings}))
    assert said[0].startswith(
        "Ad-hoc search: at ε = 4, session keeps most, 66% of what the original log gives"
    )
    assert said[1].startswith("On the units that both can serve, 1 of 2 private releases do not differ from")
    assert "for zealous at ε = 4 in adhoc the difference may be up to 0.000" in said[1]


def test_no_release_is_compared_with_an_original_that_is_the_truth_itself(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "sweep", {"log": "x"})
    for setting, value in ((ORIGINAL, 1.0), (PRIVATE, 0.5)):
        listed = np.array([value, value - 0.1, value, value - 0.2, value], np.float32)
        store.save(setting, SweepRun(0, 0, {"substitution/top 5: recall": listed}, {"queries": 3}, {}))
    runs = {setting.key: [(0, 0)] for setting in (ORIGINAL, PRIVATE)}
    said = summarise(gather(store, (ORIGINAL, PRIVATE), ("substitution",), runs))
    assert said[0].startswith("Query substitution: at ε = 4, zealous keeps most")
    assert not [sentence for sentence in said if "that both can serve" in sentence]


def test_the_summary_says_where_there_is_nothing_to_judge(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "sweep", {"log": "without clicks"})
    for setting in (ORIGINAL, PRIVATE):
        store.save(setting, SweepRun(0, 0, {HEADLINE: np.empty(0, np.float32)}, {"queries": 1}, {}))
    runs = {setting.key: [(0, 0)] for setting in (ORIGINAL, PRIVATE)}
    [sentence] = summarise(gather(store, (ORIGINAL, PRIVATE), ("adhoc",), runs))
    assert sentence == "Ad-hoc search: nothing to judge, for the log has no test query with a click."


def test_the_grid_has_every_registered_mechanism_and_names_by_options() -> None:
    settings = grid(epsilons=(2.0,), ks=(9,))
    tried = [name for name in MECHANISMS if name != "topics"]  # it publishes no queries
    assert [setting.mechanism for setting in settings] == ["original", *tried]
    with pytest.raises(ParameterError, match="the mechanism must be one of"):
        grid(("topics",), (2.0,))
    assert len({setting.key for setting in settings}) == len(settings)
    labels = [setting.label() for setting in settings]
    assert labels[0] == "original" and "zealous ε=2" in labels and "k-query k=9" in labels
    assert ReleaseSetting("zealous", {"epsilon": 2.0}).key != ReleaseSetting("zealous", {"epsilon": 4.0}).key


def test_cells_are_short() -> None:
    assert [cell(v) for v in (None, float("nan"), 12345, 0.1234, 1e-6, "x", 64.0)] == [
        "–", "–", "12,345", "0.1234", "1.00e-06", "x", "64"
    ]  # fmt: skip
