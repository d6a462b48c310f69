"""The page of a series: what is promised over all weeks, keys over time, counts with bands, what is rising.

All of it is published in the weeks' releases anyway; nothing of the state is looked at.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from tacit.pages import render
from tacit.privacy.ledger import LedgerState
from tacit.release import prose
from tacit.release.document.tables import read_table
from tacit.release.document.words import A_USER, verdict_on
from tacit.release.mechanisms.series import SeriesPlan

PAGE = "series.html"
_SHOWN = 12
_WIDE, _HIGH = 600, 180


def render_series(
    found: Mapping[str, Any], plan: SeriesPlan, weeks: Sequence[Path], last: Path | None, state: LedgerState
) -> str:
    """Render the page as HTML from what :meth:`OpenSeries.to_dict`, the ledger and the weeks' folders say."""
    queries = read_table(last / "queries.parquet").to_pylist() if last else []
    by_week = groupby(sorted(queries, key=itemgetter("found")), itemgetter("found"))
    newest = [row["query"] for row in queries if row["found"] == len(weeks)]
    keys = [found["opening"], *found["keys_by_week"]]
    rising = read_table(weeks[-1] / "rising.parquet").to_pylist() if weeks and plan.rounds.tally else []
    return render(
        "tacit.release.series",
        "series.html.j2",
        found=found,
        plan=plan,
        verdict=verdict_on(plan.guarantee, state.account.spent(), exact=len(state.unprotected)),
        ledger=Path(found["ledger"]).name,
        found_when=[(week, [row["query"] for row in rows]) for week, rows in by_week],
        a_user=A_USER,
        words=prose.words(plan),
        line=[
            (_WIDE * week / max(1, found["weeks"]), _HIGH * (1 - each / (max(keys) or 1)), week, each)
            for week, each in enumerate(keys)
        ],
        newest=newest[: 5 * _SHOWN],
        new=len(newest),
        rising=rising,
        courses=_courses(weeks, plan.mechanism.count_every) if plan.rounds.tally else [],
        every=plan.mechanism.count_every,
    )


def _courses(weeks: Sequence[Path], every: int) -> list[dict[str, Any]]:
    """The counts of the most frequent queries over time, with bands of two standard deviations."""
    counted = [read_table(week / "counts.parquet").to_pylist() for week in weeks[every - 1 :: every]]
    if not counted:
        return []
    top = [row["query"] for row in counted[-1] if row["count"] is not None][:_SHOWN]
    made, across = [], 160 / max(1, len(counted) - 1)
    for query in top:
        known = [
            (place, row["count"], row["deviation"], row["week"])
            for place, count in enumerate(counted)
            for row in count
            if row["query"] == query and row["count"] is not None
        ]
        unit = 36 / max(1, *(count + 2 * off for _, count, off, _ in known))

        def line(signs: int, known: Any = known, unit: float = unit) -> list[str]:
            """Places of the counts, so many deviations off."""
            return [
                f"{4 + p * across:.1f},{40 - unit * max(0, count + signs * off):.1f}"
                for p, count, off, _ in known
            ]

        said = ", ".join(f"week {week}: {count:,} ± {2 * off}" for _, count, off, week in known)
        band = " ".join([*line(2), *reversed(line(-2))])
        row = {"query": query, "line": " ".join(line(0)), "band": band, "said": said}
        made.append({**row, "count": known[-1][1], "deviation": known[-1][2]})
    return made
