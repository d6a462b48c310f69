"""The paper's experiments (section 6) run again: Figures 6, 7 and 8 and Table 1, in both modes.

The paper prints its figures as pictures; what its text says of them stands in :data:`PAPER_SAYS`. Table 1 is
printed in numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.pool.population import Population
from tacit.pool.simulation import LEAVERS, MODES, Simulated, SimulationSetting, simulate
from tacit.pool.verification import verify_log

__all__ = ["PAPER_SAYS", "PAPER_TABLE_1", "Point", "Sweeps", "settings_of", "sweep"]

ARRIVALS = (10, 50, 100, 150, 200, 250, 300)
STAYS = (10, 50, 100)
KS = (5, 10, 20, 30, 40, 50)
WINDOWS = (30, 50, 70, 90, 110)
OVERLAPS = (0.1, 0.3, 0.5)
_ADDED = (
    "guarded",
    "definition_2_violations",
    "definition_3_violations",
    "general",
    "definition_2_violations_general",
)

PAPER_TABLE_1 = {
    "arrivals": (10, 50, 100, 150, 200, 250),
    "unregistered": (0.030, 0.009, 0.005, 0.005, 0.002, 0.001),
    "forced_expired": (0.001, 0.001, 0.001, 0.001, 0.002, 0.001),
}
"""Table 1 as printed."""

PAPER_SAYS = {
    "Figure 6": "about 5 % at 50 arrivals for stays of 50 and 100; below 10 % for stays of 10",
    "Figure 7": "no more than 4 % for k from 5 to 10",
    "Figure 8": "falls with the window up to about 90, and with the overlap",
}
"""What the paper's text says of its figures."""


@dataclass(frozen=True)
class Point:
    """One point of a figure: a setting, and means over its simulations."""

    figure: str
    setting: SimulationSetting
    means: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """A row of the report."""
        setting = self.setting
        return {
            "figure": self.figure,
            "mode": setting.mode,
            "leavers": setting.leavers,
            "k": setting.k,
            "window": setting.window,
            "overlap": setting.overlap,
            "arrivals": setting.arrivals,
            "stay": setting.stay,
        } | self.means


@dataclass(frozen=True)
class Sweeps:
    """All points, and the verdicts on the query logs at the paper's default setting."""

    base: SimulationSetting
    points: tuple[Point, ...]
    verdicts: tuple[dict[str, Any], ...]
    seeds: int = 1

    def of(self, figure: str) -> list[dict[str, Any]]:
        """The rows of a figure."""
        return [point.as_dict() for point in self.points if point.figure == figure]


def settings_of(base: SimulationSetting) -> Iterator[tuple[str, SimulationSetting]]:
    """The settings of each figure, around ``base``."""
    for mode in MODES:
        here = replace(base, mode=mode)
        for stay in sorted({*map(float, STAYS), base.stay}):  # Table 1 is about that of the base
            for arrivals in ARRIVALS:
                yield "Figure 6", replace(here, arrivals=float(arrivals), stay=stay)
        for k in KS:
            yield "Figure 7", replace(here, k=k)
        for leavers in LEAVERS:
            for overlap in OVERLAPS:
                for window in WINDOWS:
                    yield (
                        "Figure 8",
                        replace(here, leavers=leavers, overlap=overlap, window=float(window)),
                    )


def sweep(
    base: SimulationSetting,
    population: Population,
    advance: Callable[[], None] = lambda: None,
    *,
    seeds: int = 1,
) -> Sweeps:
    """Run every setting with so many seeds, from ``base``'s on; ``advance`` is called after each setting."""
    points = []
    for figure, setting in settings_of(base):
        runs = [simulate(each, population) for each in _seeded(setting, seeds)]
        points.append(Point(figure, setting, _means(runs)))
        advance()
    verdicts = []
    for mode in MODES:
        for leavers in LEAVERS:
            setting = replace(base, mode=mode, leavers=leavers)
            runs = [simulate(each, population, keep_log=True) for each in _seeded(setting, seeds)]
            verdicts.append({"mode": mode, "leavers": leavers} | _means(runs) | _audited(runs))
            advance()
    return Sweeps(base, tuple(points), tuple(verdicts), seeds)


def _seeded(setting: SimulationSetting, seeds: int) -> list[SimulationSetting]:
    return [replace(setting, seed=setting.seed + number) for number in range(seeds)]


def _means(runs: Sequence[Simulated]) -> dict[str, float]:
    found = [run.as_dict() for run in runs]
    return {name: sum(one[name] for one in found) / len(found) for name in found[0]}


def _audited(runs: Sequence[Simulated]) -> dict[str, int]:
    """Entries and violations in the query logs of all runs together."""
    totals: Counter[str] = Counter()
    for run in runs:
        assert run.log is not None
        verdict = verify_log(run.log, run.setting.k, run.setting.window).as_dict()
        totals.update({name: verdict[name] for name in _ADDED})
    return {name: totals[name] for name in _ADDED}
