"""The picture of exposure over time: the risk of everything an engine was told, under its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tacit.device import CoursePoint

__all__ = ["Picture", "draw"]

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 180, 56, 12, 26


@dataclass(frozen=True)
class Picture:
    """Places in a drawing of 640 by 180."""

    line: str
    """The steps of the risk of the union, as points of a polyline."""
    area: str
    dots: tuple[tuple[float, float], ...]
    """Queries that took topics along."""
    bound: float
    """Where the bound lies."""
    levels: tuple[tuple[float, str], ...]
    """Grid lines with their names."""
    times: tuple[tuple[float, str], ...]
    highest: float
    top: float


def draw(course: Sequence[CoursePoint], bound: float) -> Picture:
    """The picture of the course of one engine's exposures, oldest first."""
    begin, end = course[0].time, course[-1].time
    span = max((end - begin).total_seconds(), 1.0)
    highest = max(one.union_risk for one in course)
    top = min(1.0, max(1.25 * max(bound, highest), 0.05))

    def x(time: datetime) -> float:
        return round(_LEFT + (time - begin).total_seconds() / span * (_WIDTH - _LEFT - 10), 1)

    def y(risk: float) -> float:
        return round(_HEIGHT - _BOTTOM - risk / top * (_HEIGHT - _TOP - _BOTTOM), 1)

    points: list[tuple[float, float]] = [(_LEFT, y(0.0))]
    for one in course:
        points += [(x(one.time), points[-1][1]), (x(one.time), y(one.union_risk))]
    points.append((_WIDTH - 10, points[-1][1]))
    line = " ".join(f"{across},{down}" for across, down in points)
    return Picture(
        line=line,
        area=f"{line} {points[-1][0]},{y(0.0)}",
        dots=tuple((x(one.time), y(one.union_risk)) for one in course if one.with_topics),
        bound=y(bound),
        levels=tuple((y(top * share), f"{100 * top * share:.3g}\u00a0%") for share in (0.0, 0.5, 1.0)),
        times=((_LEFT, _day(begin)), (_WIDTH - 10, _day(end))),
        highest=highest,
        top=top,
    )


def _day(time: datetime) -> str:
    return time.astimezone().strftime("%-d %b %Y, %H:%M")
