"""The paper's experiments (section 6) run again: Figures 6, 7 and 8 and Table 1, in both modes.

The paper prints its figures as pictures; what its text says of them stands in :data:`PAPER_SAYS`. Table 1 is
printed in numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    """One simulation of a figure."""

    figure: str
    found: Simulated

    def as_dict(self) -> dict[str, Any]:
        """A row of the report."""
        setting = self.found.setting
        return {
            "figure": self.figure,
            "mode": setting.mode,
            "leavers": setting.leavers,
            "k": setting.k,
            "window": setting.window,
            "overlap": setting.overlap,
            "arrivals": setting.arrivals,
            "stay": setting.stay,
        } | self.found.as_dict()


@dataclass(frozen=True)
class Sweeps:
    """All points, and the verdicts on the query logs at the paper's default setting."""

    base: SimulationSetting
    points: tuple[Point, ...]
    verdicts: tuple[dict[str, Any], ...]

    def of(self, figure: str) -> list[dict[str, Any]]:
        """The rows of a figure."""
        return [point.as_dict() for point in self.points if point.figure == figure]


def settings_of(base: SimulationSetting) -> Iterator[tuple[str, SimulationSetting]]:
    """The settings of each figure, around ``base``."""
    for mode in MODES:
        here = replace(base, mode=mode)
        for stay in STAYS:
            for arrivals in ARRIVALS:
                yield "Figure 6", replace(here, arrivals=float(arrivals), stay=float(stay))
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
    base: SimulationSetting, population: Population, advance: Callable[[], None] = lambda: None
) -> Sweeps:
    """Run every setting once; ``advance`` is called after each."""
    points = []
    for figure, setting in settings_of(base):
        points.append(Point(figure, simulate(setting, population)))
        advance()
    verdicts = []
    for mode in MODES:
        for leavers in LEAVERS:
            setting = replace(base, mode=mode, leavers=leavers)
            found = simulate(setting, population, keep_log=True)
            assert found.log is not None
            verdict = verify_log(found.log, setting.k, setting.window)
            verdicts.append({"mode": mode, "leavers": leavers} | found.as_dict() | verdict.as_dict())
            advance()
    return Sweeps(base, tuple(points), tuple(verdicts))
