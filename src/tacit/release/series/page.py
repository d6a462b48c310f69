"""The page of a series: what is promised over all weeks, keys over time, counts with bands, what is rising.

All of it is published in the weeks' releases anyway; nothing of the state is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.pages import render
from tacit.release import prose
from tacit.release.document.tables import read_table
from tacit.release.document.words import A_USER, verdict_on
from tacit.release.mechanisms.series import SeriesPlan

PAGE = "series.html"
_SHOWN = 12
_WIDE, _HIGH = 600, 180


def render_series(found: Mapping[str, Any], plan: SeriesPlan, weeks: Sequence[Path]) -> str:
    """The page as HTML, from what :meth:`OpenSeries.to_dict` says and the folders of the weeks."""
    queries = read_table(weeks[-1] / "queries.parquet").to_pylist() if weeks else []
    newest = [row["query"] for row in queries if row["found"] == len(weeks)]
    rising = read_table(weeks[-1] / "rising.parquet").to_pylist() if weeks and plan.rounds.tally else []
    return render(
        "tacit.release.series",
        "series.html.j2",
        found=found,
        plan=plan,
        verdict=verdict_on(plan.guarantee),
        a_user=A_USER,
        words=prose.words(plan),
        line=_keys_over_time(found["keys_by_week"], found["weeks"]),
        newest=newest[: 5 * _SHOWN],
        new=len(newest),
        rising=rising,
        courses=_courses(weeks, plan.mechanism.count_every) if plan.rounds.tally else [],
        every=plan.mechanism.count_every,
    )


def _keys_over_time(by_week: Sequence[int], weeks: int) -> list[tuple[float, float, int, int]]:
    """Places of the line of keys over time: x, y, the week and how many."""
    most = max(by_week, default=1) or 1
    return [
        (_WIDE * week / max(1, weeks), _HIGH * (1 - keys / most), week, keys)
        for week, keys in enumerate(by_week, start=1)
    ]


def _courses(weeks: Sequence[Path], every: int) -> list[dict[str, Any]]:
    """The counts of the most frequent queries over time, with bands of two standard deviations."""
    counted = [read_table(week / "counts.parquet").to_pylist() for week in weeks[every - 1 :: every]]
    if not counted:
        return []
    top = [row["query"] for row in counted[-1] if row["count"] is not None][:_SHOWN]
    made = []
    for query in top:
        rows = [next((row for row in count if row["query"] == query), None) for count in counted]
        known = [
            (place, row["count"], row["deviation"], row["week"])
            for place, row in enumerate(rows)
            if row is not None and row["count"] is not None
        ]
        highest = max(count + 2 * off for _, count, off, _ in known) or 1
        across = 160 / max(1, len(counted) - 1)

        def at(place: int, count: float, highest: float = highest, across: float = across) -> str:
            return f"{4 + place * across:.1f},{40 - 36 * max(0.0, count) / highest:.1f}"

        band = [at(p, count + 2 * off) for p, count, off, _ in known]
        band += [at(p, count - 2 * off) for p, count, off, _ in reversed(known)]
        made.append(
            {
                "query": query,
                "line": " ".join(at(p, count) for p, count, _, _ in known),
                "band": " ".join(band),
                "count": known[-1][1],
                "deviation": known[-1][2],
                "said": ", ".join(f"week {week}: {count:,} ± {2 * off}" for _, count, off, week in known),
            }
        )
    return made
