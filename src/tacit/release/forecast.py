"""How many rows a release can be expected to publish, before anything is spent, from public figures alone.

A look at the log's own counts before the charge would itself be a release. So the plan counts the
synthetic log (users of AOL's shape, :mod:`tacit.world.synth`), made once and kept in the cache. In a log of
fewer users, an item that c of its users have keeps each of them with the same chance: its number of users is
binomial. In a log of more, it is taken to grow in proportion, so that a log is judged by one of at least
a third of its size; of more than 300,000 users the figure is called rough. The expected number of rows is the
sum over items of the chance that the number plus the noise reaches the threshold; what depends on another
table is counted as if the query were selected.

Adaptive rounds, and the weeks of a series (:mod:`tacit.release.series.trial`), are carried out on the
synthetic log instead. For fewer users than it has, some are drawn by lot; for more, noise, thresholds and
cuts shrink in proportion.

It speaks of logs like AOL's of three months: a log of another kind, or of one week, has other counts.
"""

import math
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.engines import Engine, open_engine
from tacit.errors import InfeasibleError
from tacit.files import atomic_file, cache_directory
from tacit.privacy.arithmetic import ROUNDING
from tacit.privacy.noise.randomness import OperatingSystemRandomness, RandomSource
from tacit.release.document.words import rounded
from tacit.release.execution import Held, Holdings, count_once, select
from tacit.release.mechanism import Counting, Mechanism, Plan, plan_of
from tacit.release.rounds_analysis import people_needed
from tacit.release.schedule import (
    AdaptiveRounds,
    Keys,
    Part,
    Round,
    Schedule,
    Selection,
    SeriesRounds,
    SingleCount,
)
from tacit.validation import whole

WORLDS = (10_000, 100_000)
"""Users of the synthetic logs that are counted: the smallest that reaches far enough."""
REACH = 3
"""Numbers are scaled up by this factor at most, if there is a world that allows it."""
_SEED = 2006
_LARGE = 1_000


def _world_for(users: int) -> int:
    """The size of the synthetic log by which one of so many users is judged."""
    return next((size for size in WORLDS if users <= REACH * size), WORLDS[-1])


def _world(size: int, report: Callable[[str], object]) -> Path:
    """The synthetic log of so many users, made when it is first needed."""
    from tacit.world.synth import SyntheticLog

    path = cache_directory() / f"expectation-{size}-{_SEED}-1.parquet"
    if not path.exists():
        report(f"making a synthetic log of {size:,} users to estimate from (once)")
        with atomic_file(path) as temporary:
            SyntheticLog(size, seed=_SEED).write(temporary)
    return path


def _passes(part: Part, counted: npt.NDArray[np.int64], share: float) -> npt.NDArray[np.float64]:
    """The chance that a key which so many users of the synthetic log have is published of ``share`` times
    as many.
    """
    from scipy import stats

    found = np.zeros(len(counted))
    for place, count in enumerate(counted.tolist()):
        if share >= 1:
            users, chance = np.array([round(count * share)]), np.ones(1)
        else:
            users = np.arange(count + 1)
            if count > _LARGE:  # far from the mean nothing is likely
                reach = 12 * math.sqrt(count * share) + 30
                users = np.arange(
                    max(0, int(count * share - reach)), min(count, int(count * share + reach)) + 1
                )
            chance = stats.binom.pmf(users, count, share)
        found[place] = float((chance * _published(part, users)).sum())
    return found


def _published(part: Part, users: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The chance that a key of exactly so many users is published."""
    least = part.least if part.least is not None else part.minimum
    occurring = users >= max(part.minimum, 1)
    if part.noise is None or part.noise.scale == 0:
        return (occurring & (users >= least)).astype(float)
    a, over = math.exp(-1 / part.noise.scale), (least - users).astype(float)
    upper = a ** np.maximum(over, 0) / (1 + a)  # P[noise >= over], for over > 0
    return np.where(occurring, np.where(over > 0, upper, 1 - a ** np.maximum(1 - over, 0) / (1 + a)), 0.0)


@dataclass(frozen=True)
class Foreseen:
    """What a release of so many users can be expected to publish.

    Args:
        users: of the log.
        rows: by table, in the mean.
        ranges: of rows, by table, where the release was carried out on synthetic logs: on others like them
            19 of 20 lie within.
        deviation: the middle of the standard deviations of counts; None where it is not foreseen.
        needed: about how many people an item needs to be found by half; None where no formula says it.
        by_week: of a series, how many queries are found by the end of each week.
        errors: of a series, how far off the counts of the 50 and of the 200 most frequent queries are, and
            the changes of the first.
    """

    users: int
    rows: dict[str, float]
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    deviation: float | None = None
    needed: float | None = None
    by_week: tuple[int, ...] = ()
    errors: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        form: dict[str, Any] = {"expected_users": self.users, "expected_rows": self.rows}
        if self.ranges:
            form["expected_range"] = {table: list(ends) for table, ends in self.ranges.items()}
            form["expected_deviation"] = self.deviation
            form["people_needed"] = self.needed
        if self.by_week:
            form["expected_by_week"] = list(self.by_week)
            form["expected_errors"] = [each if math.isfinite(each) else None for each in self.errors]
        return form


def expected_rows(
    plan: Mechanism | Plan[Any], users: int, report: Callable[[str], object] = str
) -> dict[str, float]:
    """Return how many rows to expect of a release, by table, before anything is spent.

    It is judged by a synthetic log of AOL's shape, made once and kept, so no private log is looked at.

    Args:
        plan: the mechanism, such as ``Zealous(epsilon=1)``, or its plan.
        users: about how many users the log has; public knowledge.
        report: called with what takes long.
    """
    return foresee(plan, users, report).rows


def foresee(asked: Mechanism | Plan[Any], users: int, report: Callable[[str], object] = str) -> Foreseen:
    """Forecast as ``expected_rows`` does; for adaptive releases also ranges and the error of counts."""
    users = whole("users", users, 1)
    plan, size = plan_of(asked), _world_for(users)
    share = users / size
    if plan.schedule.series is not None:
        return _series(plan.schedule.series, users, report)
    with open_engine() as engine:
        counting = plan.count(engine, engine.log(_world(size, report)))
        if plan.schedule.selection is not None:
            return _carried_out(plan.schedule, plan.schedule.selection, counting["held"], users, share)
        return Foreseen(
            users, {part.table: _rows_of(engine, part, counting, share) for part in plan.schedule}
        )


def _rows_of(engine: Engine, part: Part, counting: Counting, share: float) -> float:
    """Rows of one table: the sum of chances, or all public keys where each is published."""
    kept = counting[part.table]
    if part.keys is Keys.PUBLIC and part.least is None:  # all keys, whatever their counts
        return float(engine.table(kept.aggregate(keys=kept.count()))["keys"][0].as_py())
    spectrum = engine.table(kept.group_by("count").aggregate(keys=kept.count()))
    counted = np.asarray(spectrum.column("count")).astype(np.int64)
    return float((_passes(part, counted, share) * np.asarray(spectrum.column("keys"))).sum())


_SERIES_WORLD = 10_000


def _series(rounds: SeriesRounds, users: int, report: Callable[[str], object]) -> Foreseen:
    """Carry all weeks out on a synthetic log of as many, of 10,000 users at most."""
    from tacit.release.series.trial import carry_out, in_units_of, read_stream
    from tacit.world.synth import SyntheticLog

    size = min(users, _SERIES_WORLD)
    report(f"making a synthetic log of {rounds.weeks} weeks of {size:,} users to estimate from")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        SyntheticLog(size, seed=_SEED, weeks=rounds.weeks).write(path)
        stream = read_stream(path, rounds.weeks)
    report("carrying the series out on it")
    found = carry_out(stream, in_units_of(rounds, users / size))
    last = found.by_week[-1]
    return Foreseen(
        users,
        {"queries": float(last)},
        {"queries": _range_of([last, last])},
        by_week=tuple(found.by_week),
        errors=found.errors,
    )


_DRAWS = 8
"""Over so many releases the rows of a selection are averaged."""

_OTHER_LOGS = 1.25
"""By this factor the mean of another synthetic log may differ, in either direction,"""
_OTHER_DRAWS = 2.0
"""and a release from the mean by so many standard deviations."""


def _carried_out(schedule: Schedule, selection: Selection, held: Held, users: int, share: float) -> Foreseen:
    """Carry a selection out on ``share`` times the synthetic users."""
    source = OperatingSystemRandomness()
    larger = max(1.0, share)
    drawn: dict[str, list[int]] = {part.table: [] for part in schedule}
    deviations: list[float] = []
    for _ in range(_DRAWS):
        holdings = held.holdings if share >= 1 else some_users(held.holdings, share, source)
        if isinstance(selection, SingleCount):
            items = count_once(selection, holdings, source, times=larger)[0]
        else:
            found = select(_shrunk(selection, larger), holdings, source)
            items = found.items
            if found.counts.size:
                deviations += (larger * found.deviations[~found.withheld]).tolist()
        for table, numbers in drawn.items():
            numbers.append(int(held.of_kind(table, items).sum()))
    rounds = isinstance(selection, AdaptiveRounds)
    return Foreseen(
        users,
        {table: statistics.fmean(numbers) for table, numbers in drawn.items()},
        {table: _range_of(numbers) for table, numbers in drawn.items()} if rounds else {},
        statistics.median(deviations) if deviations else None,
        people_needed(selection) if isinstance(selection, AdaptiveRounds) else None,
    )


def _range_of(numbers: Sequence[int]) -> tuple[int, int]:
    """Within which the rows of another release of another such log lie, 19 times in 20."""
    mean = statistics.fmean(numbers)
    spread = _OTHER_DRAWS * max(statistics.stdev(numbers), 0.7 * math.sqrt(mean + 1))
    return max(0, math.floor(mean / _OTHER_LOGS - spread)), math.ceil(mean * _OTHER_LOGS + spread)


def some_users(holdings: Holdings, share: float, source: RandomSource) -> Holdings:
    sizes = np.diff(holdings.starts)
    kept = np.argsort(source.words(sizes.size))[: max(1, round(share * sizes.size))]
    chosen = np.zeros(sizes.size, dtype=np.bool_)
    chosen[kept] = True
    starts = np.concatenate([[0], np.cumsum(sizes[chosen])]).astype(np.int64)
    return replace(holdings, starts=starts, items=holdings.items[np.repeat(chosen, sizes)])


def _shrunk(selection: AdaptiveRounds, share: float) -> AdaptiveRounds:
    """The rounds in units of ``share`` users."""
    if share == 1:
        return selection

    def shrunk(step: Round) -> Round:
        return replace(
            step,
            sigma=max(ROUNDING + 1, round(step.sigma / share)),
            threshold=round(step.threshold / share),
            steering=step.steering and step.steering.in_units_of(share),
        )

    tally = selection.tally
    if tally is not None:
        names = ("users_sigma", "sigma", "squares_sigma")
        widths = {name: max(ROUNDING + 1, round(getattr(tally, name) / share)) for name in names}
        tally = replace(tally, weighing=tally.weighing.in_units_of(share), **widths)
    return replace(selection, rounds=tuple(shrunk(step) for step in selection.rounds), tally=tally)


FEWEST_ROWS = 3  # of fewer rows than this another kind of release is offered


def in_words(expected: Foreseen) -> str:
    """Describe the forecast in a few sentences."""
    listed = []
    for name, rows in expected.rows.items():
        low, high = expected.ranges.get(name, (0, 0))
        said = "next to none" if rows < 0.5 else f"about {rows:,.0f}"
        listed.append(f"{name} {said}" + (f" ({low:,} to {high:,})" if high else ""))
    like = "like AOL's (24 different queries each, in three months)"
    lines = [f"To expect of a log of {expected.users:,} users {like}, in rows: {', '.join(listed)}."]
    if expected.needed is not None:
        lines.append(f"An item needs about {expected.needed:.0f} people to be found by half.")
    if expected.deviation is not None:
        lines.append(f"A count is off by about {expected.deviation:.0f} (standard deviation, in the middle).")
    if expected.by_week:
        lines.append(_by_week(expected))
    world = _SERIES_WORLD if expected.by_week else WORLDS[-1]
    if expected.users > REACH * world:
        lines.append(f"This is rough: it is judged by a log of {world:,} users.")
    if sum(expected.rows.values()) < FEWEST_ROWS:
        lines.append(
            "So few users are better served by `tacit plan topics`, whose rows are always there, or by "
            "keywords (`adaptive --item keywords`), which more people have in common than whole queries."
        )
    return " ".join(lines)


def _by_week(expected: Foreseen) -> str:
    """Describe how many queries of a series are published by when, and how far off counts and changes are."""
    weeks = len(expected.by_week)
    at = sorted({1, math.ceil(weeks / 4), math.ceil(weeks / 2), weeks})
    said = ", ".join(f"{expected.by_week[week - 1]:,} by week {week}" for week in at)
    off = [f"{each:.0%}" if math.isfinite(each) else "unknown" for each in expected.errors]
    counts = (
        f" Counts of the 50 most frequent are off by {off[0]} in the middle, of the 200 by {off[1]}, changes "
        f"of the first by {off[2]}; what is not published counts as 100%."
    )
    return f"Queries: {said}.{counts if math.isfinite(expected.errors[0]) else ''}"


def refuse_if_empty(expected: dict[str, float], users: int) -> None:
    """Refuse a release of which next to nothing can be expected: less than one row in all."""
    rows = sum(expected.values())
    if rows >= 1:
        return
    raise InfeasibleError(
        f"next to nothing can be expected: {rounded(rows)} rows of a log of {users:,} users. "
        "Nothing was charged.",
        "More users, a larger epsilon or delta, or fewer tables would give more, as a plan with `users` "
        "says; `even_if_empty=True` goes on all the same.",
    )
