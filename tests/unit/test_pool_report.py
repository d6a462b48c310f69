"""The report of the sweeps: every figure and table on one page, the paper's beside ours, and no script."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tacit.evaluate.guards import pool as pool_sweeps
from tacit.pool.simulation.population import adult
from tacit.pool.simulation.traffic import SimulationSetting


def test_the_page_holds_figures_tables_and_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_sweeps, "STAYS", ())  # leaves that of the base
    monkeypatch.setattr(pool_sweeps, "KS", (5, 10))
    monkeypatch.setattr(pool_sweeps, "WINDOWS", (30, 50))
    monkeypatch.setattr(pool_sweeps, "OVERLAPS", (0.5,))
    monkeypatch.setattr(pool_sweeps, "_OUR_ARRIVALS", 50)
    base = SimulationSetting(stay=4.0, windows=1, k=5)
    done: list[int] = []
    found = pool_sweeps.paper_experiments(base, adult(), progress=lambda now, total: done.append(total - now))
    assert done == list(range(len(list(pool_sweeps.settings_of(base))) + 2, -1, -1))
    assert all(row["definition_2_violations"] == 0 for row in found["verdicts"])
    page = tmp_path / "sweeps.html"
    pool_sweeps.write_pool_report(found, base, page)
    text = page.read_text()
    assert text.count("<svg") == 3 and "<script" not in text
    for heading in ("Figure 6", "Figure 7", "Figure 8", "Table 1", "Where we differ"):
        assert heading in text
    row = re.search(r"<tr><td>50</td><td>0\.9%</td><td>([\d.]+)%</td>", text)
    assert row is not None  # Table 1 at 50 arrivals: the paper's figure, then ours
    ours = next(
        each
        for each in found["points"]
        if each["figure"] == "Figure 6"
        and each["mode"] == "paper"
        and each["arrivals"] == 50
        and each["stay"] == 4
    )
    assert float(row.group(1)) == pytest.approx(100 * ours["unregistered"], abs=0.006)
