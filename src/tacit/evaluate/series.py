"""Evaluate a series on a log of the past: queries by week, beside weekly releases and one at the end."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.errors import ParameterError
from tacit.evaluate import charts
from tacit.evaluate.report import check_folder, write_folder
from tacit.evaluate.results import Figure, Progress, Results, Steps, columns, no_progress
from tacit.release.mechanisms.series import Series
from tacit.release.series.trial import at_end, carry_out, read_stream, weekly
from tacit.searchlog import check_log
from tacit.validation import place, whole


def evaluate_series(
    log: str | Path,
    to: str | Path | None = None,
    *,
    weeks: int = 13,
    length: float = 168,
    epsilons: Sequence[float] = (1.0, 2.0, 4.0),
    delta: float = 1e-6,
    count_every: int = 4,
    new: int = 32,
    seed: int = 0,
    force: bool = False,
    progress: Progress = no_progress,
) -> Results:
    """Measure what a series would find in a log, week by week, and how far off its counts would be.

    It is the owner's own look at the log: no ledger is charged, nothing is published, and the figures are as
    sensitive as the log::

        tacit.evaluate_series("log.parquet", weeks=13).to_pandas()

    Args:
        log: a log of the past, that is cut into weeks.
        to: the folder to make, with ``results.json`` and ``charts.html``. None writes nothing.
        weeks: how many, from the first record on.
        length: of a week in hours: 168; fewer for a log that is short.
        epsilons: each ε of all weeks together.
        delta: and δ.
        count_every: so many weeks are counted together.
        new: so many queries are put in from the middle on, to see how soon a new one is found.
        seed: of who asks them.
        force: replace the folder of an earlier evaluation.
        progress: called with how many runs are done, and how many there are.
    """
    path, weeks = check_log(place("log", log)), whole("weeks", weeks, 2)
    if not length > 0:
        raise ParameterError.outside("length", length, "above 0")
    plans = [Series(weeks=weeks, epsilon=e, delta=delta, count_every=count_every).plan() for e in epsilons]
    check_folder(to, [], force=force, inputs=[path])
    stream = read_stream(path, weeks, hours=length, risers=whole("new", new, 0), seed=seed)
    steps, rows, curves = Steps(3 * len(plans), progress), list[dict[str, Any]](), list[dict[str, Any]]()
    for epsilon, plan in zip(epsilons, plans, strict=True):
        found = carry_out(stream, plan.rounds)
        steps.advance()
        each = weekly(stream, epsilon, delta)
        steps.advance()
        end = at_end(stream, epsilon, delta)
        steps.advance()
        counts = dict(zip(("top_50", "top_200", "change"), found.errors, strict=True))
        delays = {f"delay_{share:.2%}": late for share, late in found.delays(stream).items()}
        row = {"epsilon": epsilon, "weekly": each[-1], "series": found.by_week[-1], "end": end}
        rows.append({**row, **counts, **delays, "by_week": found.by_week, "weekly_by_week": each})
        for way, numbers in (("series", found.by_week), ("a release a week", each)):
            panel = f"ε = {epsilon:g}"
            curves += [{"series": way, "x": n, "y": y, "panel": panel} for n, y in enumerate(numbers, 1)]
    made = Results(
        "series",
        "A series on a log of the past",
        f"{stream.users:,} users, {weeks} weeks of {length:g} hours, δ = {delta:g} for all of them together",
        {"users": stream.users, "weeks": weeks, "delta": delta, "ways": rows},
        rows,
        _figures(rows, curves),
        notes=_NOTES,
    )
    return write_folder(made, to, force=force)


_NOTES = (
    "A release a week has its share of the noise's budget and of δ, so that all add up to the same.",
    "Errors are medians over the most frequent queries after the first quarter, unpublished ones as 1; of a "
    "change, in parts of the count. A delay is in weeks, of queries that a share of the active users ask.",
)


def _figures(rows: list[dict[str, Any]], curves: list[dict[str, Any]]) -> list[Figure]:
    heads = "epsilon = ε | weekly = a release a week | series | end = one at the end"
    errors = "top_50 = error, top 50 {.0%} | top_200 = top 200 {.0%} | change = of a change {.0%}"
    late = " | ".join(f"{key} = weeks late, {key[6:]}" for key in rows[0] if key.startswith("delay_"))

    def draw() -> dict[str, Any]:
        return charts.curve(curves, "week", "queries", series="way", panel="panel")

    shown = [
        Figure("series", "Queries published by the end", columns(f"{heads} | {errors}"), rows, draw=draw)
    ]
    if late:
        shown += [Figure("delays", "How soon a new query is found", columns(f"epsilon = ε | {late}"), rows)]
    return shown
