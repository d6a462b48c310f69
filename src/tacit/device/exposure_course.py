"""What each upstream was told over time, summed up inside the file, so that years of it can be looked at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tacit.device.store import ProfileStore
from tacit.device.times import utc_text

__all__ = ["CoursePoint", "ExposureCourse", "exposure_courses"]


@dataclass(frozen=True)
class CoursePoint:
    """The most that an upstream knew within a part of its time."""

    time: datetime
    union_risk: float
    with_topics: bool
    """Whether topics went out with that very query."""


@dataclass(frozen=True)
class ExposureCourse:
    """What one upstream was told."""

    upstream: str
    queries: int
    with_topics: int
    """How many of the queries took topics along."""
    first: datetime
    last: datetime
    used: float
    """The risk of everything it was told in the period."""
    labels: tuple[str, ...]
    """The topics that it was told in the period."""
    points: tuple[CoursePoint, ...]
    """At most as many as were asked for, oldest first; the last is the last entry."""


def exposure_courses(store: ProfileStore, since: datetime | None, points: int) -> list[ExposureCourse]:
    """The course of every upstream, by name.

    Args:
        store: the profile file.
        since: the beginning of the period that counts now; None for all of the time.
        points: at how many places the risk is told at most.
    """
    totals = store.connection.execute(
        "SELECT upstream, count(*), min(time), max(time), "
        "sum(EXISTS (SELECT 1 FROM exposed WHERE exposed.exposure = exposure.number)) "
        "FROM exposure GROUP BY upstream ORDER BY upstream"
    ).fetchall()
    begin = utc_text(since) if since is not None else ""
    return [
        ExposureCourse(
            upstream=name,
            queries=queries,
            with_topics=with_topics,
            first=datetime.fromisoformat(first),
            last=datetime.fromisoformat(last),
            used=_used(store, name, begin),
            labels=_labels(store, name, begin),
            points=_points(store, name, points),
        )
        for name, queries, first, last, with_topics in totals
    ]


def _used(store: ProfileStore, upstream: str, begin: str) -> float:
    row = store.connection.execute(
        "SELECT union_risk FROM exposure WHERE upstream = ? AND time >= ? "
        "ORDER BY time DESC, number DESC LIMIT 1",
        (upstream, begin),
    ).fetchone()
    return 0.0 if row is None else float(row[0])


def _labels(store: ProfileStore, upstream: str, begin: str) -> tuple[str, ...]:
    rows = store.connection.execute(
        "SELECT label FROM told WHERE upstream = ? AND last >= ? ORDER BY label", (upstream, begin)
    )
    return tuple(str(label) for (label,) in rows)


def _points(store: ProfileStore, upstream: str, points: int) -> tuple[CoursePoint, ...]:
    """The highest entry of each of so many parts, and the last entry of all."""
    rows = store.connection.execute(
        "WITH piece AS (SELECT number, time, union_risk, ntile(?) OVER (ORDER BY time, number) AS part "
        "FROM exposure WHERE upstream = ?), "
        "highest AS (SELECT number, time, max(union_risk) AS risk FROM piece GROUP BY part) "
        "SELECT time, risk, EXISTS (SELECT 1 FROM exposed WHERE exposure = number) FROM highest "
        "ORDER BY time, number",
        (max(1, points - 1), upstream),
    ).fetchall()
    rows += store.connection.execute(
        "SELECT time, union_risk, EXISTS (SELECT 1 FROM exposed WHERE exposure = number) FROM exposure "
        "WHERE upstream = ? ORDER BY time DESC, number DESC LIMIT 1",
        (upstream,),
    ).fetchall()
    if len(rows) > 1 and rows[-1] == rows[-2]:
        rows.pop()
    return tuple(CoursePoint(datetime.fromisoformat(time), risk, bool(told)) for time, risk, told in rows)
