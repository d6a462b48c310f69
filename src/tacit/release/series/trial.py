"""A series tried on a log in memory, beside a release a week and one at the end under the same budget.

For owners before they decide, and for plans on synthetic logs: nothing is charged and nothing published.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InfeasibleError
from tacit.privacy.accounting.loss import gaussian_mu
from tacit.privacy.arithmetic import ROUNDING
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.execution import Holdings, select
from tacit.release.mechanisms import adaptive_planner
from tacit.release.mechanisms.adaptive import PER_USER
from tacit.release.mechanisms.adaptive_holdings import words_of
from tacit.release.mechanisms.series_planner import release_of
from tacit.release.preparation import Preparation
from tacit.release.schedule import SeriesRounds, WeighingByStandings
from tacit.release.series.course import FULL, Course, packed
from tacit.row_groups import encoded

SHARES = (0.0025, 0.005, 0.01, 0.02)
"""Of the active users of a week: who asks a new query, from the middle of the period on."""
TOPS = (50, 200)
"""Of so many most frequent queries the error of counts is told."""
_SOURCE = OperatingSystemRandomness()


@dataclass(frozen=True)
class AskedByWeek:
    """Pairs of user and item by week, with the number of words of each item. Secret."""

    users: int  # how many
    words: NDArray[np.uint8]  # of each item
    weeks: list[NDArray[np.int64]]  # of each, packed pairs of user and item, each once
    # items that were put in from the middle on, by the share of active users who ask them
    risers: dict[int, float] = field(default_factory=dict)


def read_stream(
    log: str | Path, weeks: int, *, hours: float = 168, risers: int = 0, seed: int = 0
) -> AskedByWeek:
    """A log cut into weeks of so many hours from its first record on, with some new queries put in."""
    asked = Preparation().read(Path(log), ("user", "query", "time"))
    if not asked.num_rows:
        raise InfeasibleError("the log has no record to cut into weeks.", "Give another log.")
    times = np.asarray(asked.column("time").cast("int64"))
    week = ((times - times.min()) // round(hours * 3.6e9)).astype(np.int64)
    (users, who), (items, what) = (encoded(asked.column(name)) for name in ("user", "query"))
    kinds, words = len(items), np.append(words_of(items), np.full(risers, 2, np.uint8))
    lots, parts, made = np.random.default_rng(seed), np.array_split(np.arange(risers), len(SHARES)), []
    new = {kinds + int(n): share for share, part in zip(SHARES, parts, strict=True) for n in part}
    for number in range(weeks):
        mine = week == number
        listed = [np.unique(packed(who[mine], what[mine]))]
        if number >= weeks // 2:
            active = np.unique(listed[0] >> 32)
            for item, share in new.items():
                askers = active[lots.random(active.size) < share]
                listed.append(packed(askers, np.array(item)))
        made.append(np.concatenate(listed))
    return AskedByWeek(len(users), words, made, new)


@dataclass(frozen=True)
class Outcome:
    """What a series found and counted.

    Args:
        by_week: how many queries were found by the end of each week.
        found: the week of each item; -1 for those that are not found.
        errors: the median relative error of the counts of the :data:`TOPS`, unpublished ones as 1, and of
            changes from count to count of the first, after the first quarter; NaN without counts.
        bias: by how much the counts of the 100 most frequent are too large, together.
    """

    by_week: list[int]
    found: NDArray[np.int8]
    errors: tuple[float, ...]
    bias: float

    def delays(self, stream: AskedByWeek) -> dict[float, int | None]:
        """Compute how many weeks new queries took (median), by the share who ask them; None for never."""
        middle: dict[float, int | None] = {}
        for share in sorted(set(stream.risers.values())):
            weeks = [int(self.found[item]) for item, of in stream.risers.items() if of == share]
            late = sorted(week - len(stream.weeks) // 2 - 1 if week >= 0 else 999 for week in weeks)
            middle[share] = late[len(late) // 2] if late[len(late) // 2] < 999 else None
        return middle


def carry_out(stream: AskedByWeek, rounds: SeriesRounds, known: Sequence[int] = ()) -> Outcome:
    """Carry a whole series out, of which these items are known from the start."""
    course, by_week, since = Course(rounds), list[int](), 0
    course.make_room(0, stream.words)
    course.found[list(known)], course.held[list(known)] = 0, True
    measured, off = list[list[float]](), list[float]()
    before: tuple[Any, Any] | None = None
    for week, pairs in enumerate(stream.weeks, start=1):
        course.make_room(stream.users, stream.words)
        course.begin_week(pairs, _SOURCE)
        for _ in range(rounds.per_week):
            course.draw_round(_SOURCE)
        if course.ends_with_count(week):
            course.draw_count(_SOURCE)
            together = np.unique(np.concatenate(stream.weeks[since:week]))
            truth = np.bincount(together.astype(np.int32), minlength=stream.words.size)
            counts = np.full(truth.size, np.nan)
            counts[course.tallied] = course.last / FULL
            since, top = week, np.argsort(-truth)[: max(TOPS)]
            off_by = np.nan_to_num(np.abs(counts[top] / np.maximum(1, truth[top]) - 1), nan=1.0)
            line = [float(np.median(off_by[:most])) for most in TOPS]
            if before is not None:
                moved = (counts - before[0]) - (truth - before[1])
                far = np.abs(moved[top[:50]]) / np.maximum(1, truth[top[:50]])
                line.append(float(np.median(np.nan_to_num(far, nan=1.0))))
            before = counts, truth
            if week > rounds.weeks / 4:
                measured.append(line)
                shown = top[:100][~np.isnan(counts[top[:100]])]
                off.append(float(counts[shown].sum() / max(1, truth[shown].sum())) - 1)
        course.end_week()
        by_week.append(int((course.found >= 0).sum()))
    places = range(len(TOPS) + 1)
    errors = tuple(_mean([line[place] for line in measured if len(line) > place]) for place in places)
    return Outcome(by_week, course.found, errors, _mean(off))


def _mean(numbers: list[float]) -> float:
    return float(np.mean(numbers)) if numbers else math.nan


def holdings(stream: AskedByWeek, first: int, last: int) -> Holdings:
    """Gather who holds what in some weeks together."""
    pairs = np.unique(np.concatenate(stream.weeks[first:last]))
    starts = np.searchsorted(pairs, np.arange(stream.users + 1) << 32)
    return Holdings(starts, pairs.astype(np.int32), stream.words.size, stream.words)


def at_end(stream: AskedByWeek, epsilon: float, delta: float, *, keys_only: bool = False) -> int:
    """Count the queries that one adaptive release of all weeks finds."""
    rounds = adaptive_planner.plan_rounds(epsilon, delta, PER_USER, keys_only=keys_only)
    return int(select(rounds, holdings(stream, 0, len(stream.weeks)), _SOURCE).items.size)


def weekly(stream: AskedByWeek, epsilon: float, delta: float) -> list[int]:
    """Count the different queries that adaptive releases of each week find so far.

    μ² and what may be disclosed are shared out and add up: tighter than any rule of a ledger.
    """
    weeks = len(stream.weeks)
    noise = adaptive_planner.DEFAULT.noise_part * delta
    mu, disclosed = gaussian_mu(epsilon, noise), delta - noise
    rounds = release_of(mu / weeks**0.5, disclosed / weeks, epsilon)
    seen, by_week = set[int](), list[int]()
    for week in range(weeks):
        seen |= set(select(rounds, holdings(stream, week, week + 1), _SOURCE).items.tolist())
        by_week.append(len(seen))
    return by_week


def in_units_of(rounds: SeriesRounds, share: float) -> SeriesRounds:
    """Express the rounds in units of ``share`` users: how a log of so many times the users would go."""

    def least(sigma: int) -> int:
        return max(ROUNDING + 1, round(sigma / share))

    def weighing(each: WeighingByStandings) -> WeighingByStandings:
        long, short = each.long.in_units_of(share), each.short.in_units_of(share)
        return replace(each, long=long, short=short, young=tuple(round(cut / share) for cut in each.young))

    tally = rounds.tally
    if tally is not None:
        tally = replace(tally, sigma=least(tally.sigma), weighing=tally.weighing.in_units_of(share))
    return replace(
        rounds,
        sigma=least(rounds.sigma),
        thresholds=tuple(tuple(round(each / share) for each in line) for line in rounds.thresholds),
        weighing=tuple(weighing(each) for each in rounds.weighing),
        tally=tally,
    )
