"""What a sweep makes of its runs: means over all units, intervals with the noise, gains, advice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tacit import ParameterError
from tacit.engines import Engine, open_engine
from tacit.evaluate.release import Sensitivity, results_of
from tacit.evaluate.report.figures import advice, all_figures, protection, summarise, verdict
from tacit.evaluate.results import cell
from tacit.evaluate.sweep import NOTHING, ORIGINAL, ReleaseSetting, grid
from tacit.evaluate.sweep.measurements import Measurements, estimate, gather
from tacit.evaluate.sweep.runs import RunStore, SweepRun
from tacit.evaluate.sweep.sweeping import counted_alike
from tacit.evaluate.tasks import task_class
from tacit.release.preparation import Preparation
from tacit.release.registry import MECHANISMS
from tacit.world.synth import SyntheticLog


def test_without_noise_an_estimate_is_scipys_over_all_units() -> None:
    random = np.random.default_rng(3)
    first, second = random.random(50), random.random(50)
    found = estimate({0: first[None, :30], 1: first[None, 30:]}, {})
    low, high = stats.t.interval(0.95, 49, first.mean(), stats.sem(first))
    assert (found.value, found.low, found.high) == pytest.approx((first.mean(), low, high))
    tested = stats.ttest_rel(first, second)
    pair = estimate({0: first[None]}, {}, {0: second[None]})
    assert pair.p == pytest.approx(tested.pvalue)
    assert (pair.low, pair.high) == pytest.approx(tuple(tested.confidence_interval()))
    # what is not answered is 0, on either side
    gone = estimate(
        {0: np.array([[1.0, np.nan, 0.5, np.nan]])}, {}, {0: np.array([[0.5, 0.5, np.nan, np.nan]])}
    )
    assert gone.value == pytest.approx((0.5 - 0.5 + 0.5) / 4)
    same = estimate({0: first[None]}, {}, {0: first[None]})
    assert (same.value, same.low, same.high, same.p) == (0, 0, 0, 1)
    assert np.isnan(estimate({0: np.empty((1, 0))}, {}).value)
    assert np.isnan(estimate({0: np.array([[0.3]])}, {}).low)


def test_units_of_one_user_count_as_one() -> None:
    values = np.array([0.1, 0.4, 0.7, 0.2])
    once = estimate({0: values[None]}, {})
    thrice = estimate({0: np.repeat(values, 3)[None]}, {0: np.repeat(np.arange(4), 3)})
    assert (thrice.value, thrice.low, thrice.high) == pytest.approx((once.value, once.low, once.high))
    # the same numbers in another fold are other users
    apart = estimate({0: values[None, :2], 1: values[None, 2:]}, {0: np.arange(2), 1: np.arange(2)})
    assert (apart.low, apart.high) == pytest.approx((once.low, once.high))


def test_noise_is_a_random_effect_by_hand() -> None:
    # Two folds of two units, two draws; all units of a draw move together.
    drawn = {0: np.array([[0.2, 0.4], [0.4, 0.6]]), 1: np.array([[0.1, 0.9], [0.1, 0.9]])}
    found = estimate(drawn, {})
    values = np.array([0.3, 0.5, 0.1, 0.9])
    units = values.var(ddof=1) / 4
    noise = np.var([0.3, 0.5], ddof=1) / 2 * (2 / 4) ** 2  # of fold 0; fold 1 has the same mean twice
    freedom = (units + noise) ** 2 / (units**2 / 3 + noise**2 / 2)
    half = stats.t.ppf(0.975, freedom) * np.sqrt(units + noise)
    assert (found.value, found.low) == pytest.approx((0.45, 0.45 - half))
    # subtracted, the other's noise is added
    flat = {fold: values.mean(axis=0, keepdims=True) for fold, values in drawn.items()}
    against = estimate(flat, {}, drawn)
    assert against.value == pytest.approx(0)
    assert against.high == pytest.approx(stats.t.ppf(0.975, 2) * np.sqrt(noise))


def test_a_unit_that_is_a_fold_has_the_variance_of_the_jackknife() -> None:
    values = np.array([0.2, 0.3, 0.25, 0.4, 0.35])  # each of all users but a fifth
    found = estimate({fold: np.array([[value]]) for fold, value in enumerate(values)}, {})
    error = np.sqrt(4 / 5 * ((values - values.mean()) ** 2).sum())
    half = stats.t.ppf(0.975, 4) * error
    assert (found.low, found.high) == pytest.approx((0.3 - half, 0.3 + half))


def test_two_draws_of_one_mechanism_differ_in_at_most_one_of_twenty() -> None:
    """300 units of 100 users, three folds, three draws whose noise moves a third of the units at once."""
    random = np.random.default_rng(7)
    rejected, ignorant = 0, 0
    for _ in range(200):
        units = {fold: random.random(100) for fold in range(3)}
        moved = {fold: random.random(100) < 0.3 for fold in range(3)}

        def draw(
            units: Mapping[int, np.ndarray] = units, moved: Mapping[int, np.ndarray] = moved
        ) -> dict[int, np.ndarray]:
            return {
                fold: np.stack([units[fold] + random.normal(0, 0.2) * moved[fold] for _ in range(3)])
                for fold in units
            }

        one, two = draw(), draw()
        owners = {fold: np.arange(100) // 3 for fold in range(3)}
        rejected += estimate(one, owners, two).p < 0.05
        alike = [np.concatenate([side[fold][0] for fold in range(3)]) for side in (one, two)]
        ignorant += stats.ttest_rel(*alike).pvalue < 0.05
    assert rejected <= 10
    assert ignorant > 100  # what a test of units alone says of one draw each


def test_a_difference_that_is_there_is_found() -> None:
    random = np.random.default_rng(8)
    base = random.random(300)
    one = {0: np.stack([base + 0.05 + random.normal(0, 0.005, 300) for _ in range(3)])}
    assert estimate(one, {}, {0: base[None]}).p < 1e-6


HEADLINE = "adhoc/engine and clicks: nDCG@10"
PRIVATE = ReleaseSetting("zealous", {"epsilon": 4.0, "delta": 1e-6})
OTHER = ReleaseSetting("session", {"epsilon": 4.0, "delta": 1e-6})
Values = dict[str, tuple[ReleaseSetting, dict[tuple[int, int], list[float]]]]


def gathered(folder: Path, values: Values) -> Measurements:
    """Runs with these values, by setting, fold and draw."""
    store = RunStore(folder / "sweep", {"log": "x"})
    for setting, runs in values.values():
        for (fold, draw), listed in runs.items():
            kept = {HEADLINE: np.array(listed, np.float32)}
            store.save(setting, SweepRun(fold, draw, kept, {"queries": 10}, {"adhoc": 1.0}))
    settings = [setting for setting, _ in values.values()]
    return gather(store, settings, ("adhoc",), {s.key: list(runs) for s, runs in values.values()})


def results(tmp_path: Path) -> Measurements:
    """Two folds of two units each; the private release answers one unit of each, draw by draw."""
    nan = np.nan
    return gathered(
        tmp_path,
        {
            "nothing": (NOTHING, {(0, 0): [0.25, 0.0], (1, 0): [0.0, 0.25]}),
            "original": (ORIGINAL, {(0, 0): [1.0, 0.5], (1, 0): [0.0, 0.5]}),
            "private": (
                PRIVATE,
                {(0, 0): [1.0, nan], (0, 1): [0.5, nan], (1, 0): [nan, 0.5], (1, 1): [nan, nan]},
            ),
            "other": (
                OTHER,
                {(0, 0): [0.5, nan], (0, 1): [0.5, nan], (1, 0): [nan, nan], (1, 1): [nan, nan]},
            ),
        },
    )


def test_runs_are_put_together_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.evaluate.sweep.measurements.SURE", 1.0)  # four units are never sure
    found = results(tmp_path)
    by_setting = found.headline("adhoc")
    original, private = by_setting[ORIGINAL.key], by_setting[PRIVATE.key]
    assert (original.value, original.answered, original.units) == (0.5, 1.0, 4)
    # all units and draws: 1, 0, 0.5, 0, 0, 0.5, 0, 0
    assert private.value == pytest.approx(0.25)
    assert private.where_answered == pytest.approx(2 / 3)
    assert private.answered == pytest.approx(3 / 8)
    assert private.units == 4  # two folds of two, however often noise was drawn
    # nothing gives 0.125: 0.125 of the 0.375 that the whole log gains
    assert (private.gain.value, private.share) == (pytest.approx(0.125), pytest.approx(1 / 3))
    assert private.share_low == pytest.approx(private.gain.low / 0.375)
    assert (by_setting[NOTHING.key].share, original.share) == (0, 1)
    about = {"log": "x", "records": 8, "users": 4, "folds": 2, "draws": 2}
    shown = results_of(found, about, Sensitivity.AS_THE_LOG)
    assert "nan" not in str(shown.as_dict())
    told = shown.as_dict()["tasks"]["adhoc"]
    assert (told["nothing"], told["original"], told["units"]) == (0.125, 0.5, 4)
    assert [release["value"] for release in told["releases"]] == pytest.approx([0.25, 0.125])
    assert all(release["low"] <= release["value"] <= release["high"] for release in told["releases"])
    assert str(shown).splitlines()[4:7] == [
        "adhoc engine and clicks: nDCG@10",
        "  release      ε  rows  value  from     to      of the whole log's gain",
        "  nothing      –  10    0.125  -0.1047  0.3547  0%",
    ]
    assert shown.to_pandas()["value"].tolist() == [0.125, 0.5, 0.25, 0.125]


def served(
    tmp_path: Path, shares: Mapping[float, float], spread: float = 0.0, whole: float = 0.6
) -> Measurements:
    """Forty units between 0.2 and ``whole``: by ε, the share that a release gains on average."""
    bumps = np.tile([-1.0, 1.0], 20)
    base = 0.2 + 0.01 * bumps
    values: Values = {
        "nothing": (NOTHING, {(0, 0): base.tolist()}),
        "original": (ORIGINAL, {(0, 0): (base + whole - 0.2).tolist()}),
    }
    for epsilon, share in shares.items():
        setting = ReleaseSetting("zealous", {"epsilon": epsilon, "delta": 1e-6})
        listed = base + share * (whole - 0.2) + spread * bumps
        values[setting.key] = (setting, {(0, draw): listed.tolist() for draw in (0, 1)})
    return gathered(tmp_path, values)


@pytest.mark.parametrize(
    ("shares", "spread", "said", "people"),
    [
        ({1: 0.2, 4: 0.3, 16: 0.5}, 0.0, "ad-hoc search from ε = 1", (800, False)),
        ({1: 0.05, 4: 0.3, 16: 0.5}, 0.0, "ad-hoc search not before ε = 4", (3_200, False)),
        ({1: 0.2, 4: 0.05, 16: 0.5}, 0.0, "ad-hoc search not before ε = 16", (12_800, False)),  # not at 4
        ({1: 0.01, 4: 0.02, 16: 0.09}, 0.0, "ad-hoc search not at all up to ε = 16", (12_800, True)),
        ({1: 0.2, 4: 0.2, 16: 0.2}, 0.9, "ad-hoc search not at all up to ε = 16", (12_800, True)),  # chance
    ],
)
def test_the_advice_follows_from_the_runs(
    tmp_path: Path, shares: dict[float, float], spread: float, said: str, people: tuple[float, bool]
) -> None:
    found = served(tmp_path, shares, spread)
    assert advice(found, 1000, 800) == f"With 1,000 people: {said}."
    judged = verdict(found, "adhoc", 800)
    assert judged is not None and (judged.people, judged.at_least) == people
    about = "more than" if people[1] else "at most" if judged.epsilon == 1 else "about"
    rounded = {800: "800", 3_200: "3,200", 12_800: "13,000"}[int(people[0])]
    assert f"ad-hoc search {about} {rounded}." in summarise(found, 800)[0]


def test_what_each_budget_protects_is_said_as_a_release_would_say_it(tmp_path: Path) -> None:
    found = served(tmp_path, {0.5: 0.1, 1.25: 0.2, 2: 0.3, 4: 0.3, 16: 0.5})
    said = protection(found)
    assert said == (
        "What one release leaves a user of protection: strong at ε = 0.5; moderate at ε = 1.25; weak at "
        "ε = 2; no protection to speak of at ε = 4 and 16."
    )
    about = {"log": "x", "records": 8, "users": 40, "folds": 2, "draws": 2}
    assert results_of(found, about, Sensitivity.AS_THE_LOG).notes[0] == said
    (tmp_path / "b").mkdir()
    anchors = {each.key: (each, {(0, 0): [0.2, 0.3]}) for each in (NOTHING, ORIGINAL)}
    assert protection(gathered(tmp_path / "b", anchors)) == ""


def test_small_gains_are_written_without_powers_of_ten(tmp_path: Path) -> None:
    found = served(tmp_path, {1: 0.00015, 16: 0.5}, 0.00002)
    [said] = [sentence for sentence in summarise(found, 800) if sentence.startswith("Ad-hoc")]
    assert "zealous: +0.00006, " in said and "e-0" not in said


def test_the_advice_counts_how_many_mechanisms_were_tried(tmp_path: Path) -> None:
    """A gain at p = 0.03 is one of two tried: not to be believed."""
    random = np.random.default_rng(1)
    base, noise = np.full(40, 0.2), random.normal(0, 1, 40)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    gain = 0.08 * (1 + noise * np.sqrt(40) / stats.t.isf(0.015, 39))
    values: Values = {
        "nothing": (NOTHING, {(0, 0): base.tolist()}),
        "original": (ORIGINAL, {(0, 0): (base + 0.4 + 0.01 * noise).tolist()}),
        "one": (PRIVATE, {(0, 0): (base + gain).tolist(), (0, 1): (base + gain).tolist()}),
    }
    alone = gathered(tmp_path, values)
    assert alone.headline("adhoc")[PRIVATE.key].gain.p == pytest.approx(0.03, abs=1e-4)
    assert "from ε = 4" in advice(alone, 10, 8)
    (tmp_path / "b").mkdir()
    values["two"] = (OTHER, {(0, 0): base.tolist(), (0, 1): base.tolist()})
    assert "not at all" in advice(gathered(tmp_path / "b", values), 10, 8)


def test_the_advice_begins_with_what_is_served(tmp_path: Path) -> None:
    names = ("suggestion", "adhoc", "index-caching", "session-search")
    store = RunStore(tmp_path / "sweep", {"log": "x"})
    bumps = np.tile([-0.01, 0.01], 20)
    zealous = [ReleaseSetting("zealous", {"epsilon": e, "delta": 1e-6}) for e in (1.0, 4.0)]
    shares = {
        "suggestion": (0.0, 0.5),
        "adhoc": (0.0, 0.0),
        "index-caching": (0.5, 0.5),
        "session-search": (0.0, 0.0),
    }
    for setting, place in ((NOTHING, None), (ORIGINAL, None), (zealous[0], 0), (zealous[1], 1)):
        values = {}
        for name in names:
            share = float(setting == ORIGINAL) if place is None else shares[name][place]
            values[f"{name}/{task_class(name).headline}"] = (0.2 + bumps + 0.4 * share).astype(np.float32)
        for draw in (0, 1):
            store.save(setting, SweepRun(0, draw, values, {"queries": 1}, {}))
    settings = (NOTHING, ORIGINAL, *zealous)
    runs = {s.key: [(0, 0)] if s in (NOTHING, ORIGINAL) else [(0, 0), (0, 1)] for s in settings}
    found = gather(store, settings, names, runs)
    assert advice(found, 20_000, 16_000) == (
        "With 20,000 people: index caching from ε = 1; query suggestion not before ε = 4; ad-hoc search and "
        "session search not at all up to ε = 4."
    )


def test_the_summary_says_what_the_advised_budget_gains(tmp_path: Path) -> None:
    found = served(tmp_path, {1: 0.02, 2: 0.03, 4: 0.3, 8: 0.4, 16: 0.5}, 0.02)
    assert summarise(found, 800)[1] == (
        "Ad-hoc search (nDCG@10): 0.2 with nothing released (the engine's own order); at ε = 1 at best "
        "0.208 (zealous: +0.008, +0.0015 to +0.014); at ε = 4 at best 0.32 (zealous: +0.12, +0.11 to +0.13); "
        "at ε = 16 at best 0.4 (zealous: +0.2, +0.19 to +0.21); 0.6 with the whole log."
    )
    (tmp_path / "b").mkdir()
    found = served(tmp_path / "b", {1: 0.0, 16: 0.01})
    assert "at ε = 1 no more; at ε = 16" in summarise(found, 800)[1]
    assert [row["mechanism"] for row in all_figures(found, 800)[0].rows] == ["none", "zealous"]


def test_where_the_whole_log_gains_nothing_no_release_is_advised(tmp_path: Path) -> None:
    found = served(tmp_path, {1.0: 0.5, 4.0: 0.5}, whole=0.2)
    assert advice(found, 50, 40) == "With 50 people: ad-hoc search not even with the whole log."
    assert np.isnan(found.headline("adhoc")[ORIGINAL.key].share)
    assert not any("People needed" in sentence for sentence in summarise(found, 40))


def test_a_gain_of_the_whole_log_that_may_be_chance_is_called_unclear(tmp_path: Path) -> None:
    values: Values = {
        "nothing": (NOTHING, {(0, 0): [0.2, 0.3, 0.4, 0.1]}),
        "original": (ORIGINAL, {(0, 0): [0.9, 0.2, 0.4, 0.1]}),
        "one": (PRIVATE, {(0, 0): [0.9, 0.2, 0.4, 0.1], (0, 1): [0.9, 0.2, 0.4, 0.1]}),
    }
    found = gathered(tmp_path, values)
    assert found.anchor("adhoc", ORIGINAL).gain.value == pytest.approx(0.15)
    assert np.isnan(found.headline("adhoc")[PRIVATE.key].share), "a share of chance is none"
    assert advice(found, 4, 3) == "With 4 people: ad-hoc search unclear even with the whole log."
    assert not any("People needed" in sentence for sentence in summarise(found, 3))


def test_the_summary_says_where_the_engines_order_is_not_known(tmp_path: Path) -> None:
    values: Values = {
        "nothing": (NOTHING, {(0, 0): [0.0, 0.0]}),
        "original": (ORIGINAL, {(0, 0): [0.5, 0.6]}),
        "one": (PRIVATE, {(0, 0): [0.00004, 0.0], (0, 1): [0.0, 0.0]}),
    }
    [*_, said] = summarise(gathered(tmp_path, values), 8)
    assert "0 with nothing released (the engine's own order, unknown without ranks of clicks)" in said
    assert "at ε = 4 no more; 0.55 with the whole log" in said  # what tables show as 0 is no gain


def test_the_summary_says_where_there_is_nothing_to_judge(tmp_path: Path) -> None:
    empty: dict[tuple[int, int], list[float]] = {(0, 0): []}
    found = gathered(tmp_path, {s.key: (s, empty) for s in (NOTHING, ORIGINAL, PRIVATE)})
    [sentence] = summarise(found, 8)
    assert sentence == "Ad-hoc search: nothing to judge, for the log has no test query with a click."
    assert advice(found, 10, 8) == "With 10 people: no release with an ε was tried."


def test_the_grid_has_every_registered_mechanism_and_names_by_options() -> None:
    settings = grid(epsilons=(2.0,), ks=(9,))
    tried = [name for name in MECHANISMS if name != "topics"]  # it publishes no queries
    assert [setting.mechanism for setting in settings] == ["nothing", "original", *tried]
    with pytest.raises(ParameterError, match="the mechanism must be one of"):
        grid(("topics",), (2.0,))
    assert len({setting.key for setting in settings}) == len(settings)
    labels = [setting.label() for setting in settings]
    assert labels[:2] == ["nothing", "original"] and "zealous ε=2" in labels and "k-query k=9" in labels
    assert ReleaseSetting("zealous", {"epsilon": 2.0}).key != ReleaseSetting("zealous", {"epsilon": 4.0}).key


def test_cells_are_short() -> None:
    assert [cell(v) for v in (None, float("nan"), 12345, 0.1234, 1e-6, "x", 64.0)] == [
        "–", "–", "12,345", "0.1234", "1.00e-06", "x", "64"
    ]  # fmt: skip
    assert [cell(p, "p") for p in (0.0, 1e-9, 0.0009, 0.001, 0.25)] == ["< 0.001"] * 3 + ["0.001", "0.250"]


def _as_counted(engine: Engine, kept: Any) -> list[Any]:
    """Rows of a table in some order; of holdings, which are numbered in any order, how many there are."""
    if hasattr(kept, "get_name"):
        return sorted(map(str, engine.table(kept).to_pylist()))
    sizes = np.diff(kept.holdings.starts), np.bincount(kept.holdings.items)
    return [sorted(size.tolist()) for size in sizes]


def test_what_is_counted_once_for_several_budgets_is_the_same_for_each(tmp_path: Path) -> None:
    SyntheticLog(30, seed=2).write(tmp_path / "log.parquet")
    first: dict[str, tuple[object, object]] = {}
    shared = set()
    with open_engine() as engine:
        log = Preparation().apply(engine.log(tmp_path / "log.parquet"))
        for setting in grid(epsilons=[1.0, 16.0], ks=[2, 5]):
            if setting.is_anchor:
                continue
            plan = setting.make()
            counts = {name: _as_counted(engine, kept) for name, kept in plan.count(engine, log).items()}
            key = counted_alike(setting, plan)
            before = first.setdefault(setting.mechanism, (key, counts))
            if setting.mechanism != "k-query":
                assert before == (key, counts), setting.mechanism
                shared.add(setting.mechanism)
            elif before[1] != counts:
                assert before[0] != key
    assert shared == {"adaptive", "click", "session", "zealous"}
