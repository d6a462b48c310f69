"""What the charts of a report are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.evaluate.report.figures import WEAK, all_figures
from tacit.evaluate.sweep import ORIGINAL, ReleaseSetting
from tacit.evaluate.sweep.measurements import Measurements, gather
from tacit.evaluate.sweep.runs import RunStore, SweepRun

HEADLINE = "adhoc/random walk: nDCG@10"


def impact(noise: float, threshold: int) -> ReleaseSetting:
    options = {"noise": noise, "threshold": threshold, "queries_per_user": 5, "mode": "approximate"}
    return ReleaseSetting("click", options, "impact of K and b")


CAREFUL, CARELESS = impact(1.0, 30), impact(30.0, 10)


@pytest.fixture
def results(tmp_path: Path) -> Measurements:
    """Two test queries: the careful release answers one of them well, the careless one both badly."""
    store = RunStore(tmp_path / "sweep", {"log": "x"})
    settings = (ORIGINAL, CAREFUL, CARELESS)
    values = ([1.0, 1.0], [0.5, np.nan], [0.4, 0.4])
    for setting, listed in zip(settings, values, strict=True):
        store.save(setting, SweepRun(0, 0, {HEADLINE: np.array(listed, np.float32)}, {"queries": 1}, {}))
    return gather(store, settings, ("adhoc",), {setting.key: [(0, 0)] for setting in settings})


def drawn(chart: Any) -> dict[float, tuple[float, bool]]:
    """By noise, the value and whether the point is hollow."""
    rows = chart["layer"][0]["data"]["values"] if "data" in chart["layer"][0] else chart["data"]["values"]
    return {row["x"]: (pytest.approx(row["y"], abs=1e-6), row["weak"]) for row in rows}


def test_the_impact_of_a_parameter_is_drawn_where_answered_and_over_all(results: Measurements) -> None:
    charts = {figure.name: figure for figure in all_figures(results) if figure.section == "parameters"}
    assert list(charts) == ["impact-of-K-and-b-adhoc", "impact-of-K-and-b-adhoc-of-all"]
    answered, everything = charts.values()
    assert drawn(answered.chart) == {1.0: (0.5, False), 30.0: (0.4, True)}
    assert drawn(everything.chart) == {1.0: (0.25, False), 30.0: (0.4, True)}


def test_what_protects_nobody_is_hollow_and_the_caption_says_so(results: Measurements) -> None:
    delta = {about["options"].get("noise"): about["delta"] for about in results.settings.values()}
    assert delta[1.0] < WEAK < delta[30.0]
    for figure in all_figures(results):
        if figure.section == "parameters":
            assert "Hollow: δ above 0.001" in figure.caption
            assert [layer["mark"].get("filled") for layer in figure.chart["layer"]] == [None, True, False]
